//! What is learnt of a request on its way, for the log and the counters: filled while it is served, read when it is
//! answered.

use std::cell::{Cell, OnceCell, RefCell};

use crate::model::{Millis, Sku};

/// The trace of one request.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// The sale that it is about.
    pub(super) sku: OnceCell<Sku>,
    /// It was answered from the isolate's memory.
    pub(super) shed: Cell<bool>,
    /// Redis was away, so that the route's policy for that case decided.
    pub(super) degraded: Cell<bool>,
    /// How long it waited for Redis' verdict, when it asked.
    pub(super) redis: Cell<Option<Millis>>,
    /// How long it waited for the origin's answer, when it was forwarded.
    pub(super) origin: Cell<Option<Millis>>,
    /// Names of the limits in shadow that would have refused it.
    pub(super) would_refuse: RefCell<Vec<String>>,
}
