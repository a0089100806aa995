//! The only place that reads a clock. Everything else is given a [`Clock`], or an instant.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use sluice::model::Millis;

/// Tells the time. For what several processes share, Redis' own clock decides instead.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Millis + Send + Sync>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    #[allow(clippy::disallowed_methods)]
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
        })
    }

    /// A clock that tells what `read` says.
    #[must_use]
    pub fn new(read: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Millis {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
