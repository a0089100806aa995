//! Parsed types that everything else speaks in: ids, quotas, times. Standard library only.

pub mod algorithm;
pub mod id;
pub mod quota;
pub mod time;

pub use algorithm::Algorithm;
pub use id::{OrderId, Partition, Sku, User};
pub use quota::{Cost, Quota};
pub use time::{Micros, Millis};
