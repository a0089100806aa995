//! What an isolate knows by itself, so that it can refuse without any network: bounded state machines, pure in time.
//!
//! Nothing here is needed for correctness. Redis decides; this repeats, for at most `snapshot_ms`, what it said.

pub mod breaker;
pub mod counts;
pub mod denied;
pub mod local;
pub mod offset;
pub mod operations;
pub mod pace;
pub mod sale;
pub mod slots;
pub mod table;

pub use breaker::Breaker;
pub use counts::Counts;
pub use denied::Denied;
pub use local::Local;
pub use offset::Offset;
pub use operations::Operations;
pub use pace::Pace;
pub use sale::Sales;
pub use slots::Slots;
