//! Decisions, pure: state and time in, verdict out. What stands here is the executable specification of `lua/admit.lua`.

pub mod bucket;
pub mod claim;
pub mod decide;
pub mod sale;
pub mod verdict;

pub use bucket::{Charge, Level};
pub use sale::{Shut, Snapshot, State};
pub use verdict::Verdict;
