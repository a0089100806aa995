//! Installs what is missing, and nothing that is not: the wasm target, the Node tools, system packages.

mod apt;
mod node;
mod target;

pub use apt::{ensure_apt, ensure_apt_of, ensure_library, ensure_postgres};
pub use node::ensure_node_modules;
pub use target::ensure_wasm_target;
