//! A lock that its owner may take again.

use crate::error::{Fault, NotAcquired};
use crate::guard::Guard;
use crate::hold::{Attempt, Hold};
use crate::locks::{Attempts, Lock, Watch, acquire, fence_of};
use crate::script;
use crate::terms::millis;
use crate::token::{Owner, Token};
use crate::wait::Wait;
use std::sync::Arc;
use tokio::time::Instant;

/// A lock that its owner may take again while it has it; each guard is one level, and the last one released frees it.
/// All levels share one lease, the longest. Made by [`Locks::reentrant`](crate::Locks::reentrant).
#[derive(Debug, Clone)]
pub struct Reentrant {
    pub(crate) lock: Lock,
    pub(crate) owner: Owner,
}

impl Reentrant {
    /// Takes the lock, or one level more of it, waiting as told while another owner has it. Inner levels have the
    /// number of the outermost.
    ///
    /// # Errors
    /// When others had it all the time, or when Redis fails, which is not waited for.
    pub async fn acquire(&self, wait: Wait) -> Result<Guard, NotAcquired> {
        acquire(self, wait).await
    }
}

impl Attempts for Reentrant {
    async fn attempt(&self, waiting: Instant) -> Result<Option<Guard>, Fault> {
        let Lock { store, keys, terms, watch } = &self.lock;
        let level = Token::random()?;
        let hold = Hold::Level { store: store.clone(), keys: Arc::clone(keys), level: level.clone() };
        let mut attempt = Attempt::new(hold);
        attempt.begin();
        let asked = Instant::now();
        let fenced: &[&str] = if terms.is_fenced() { &[&keys.lock, &keys.fence] } else { &[&keys.lock] };
        let arguments = [self.owner.as_str(), level.as_str(), &millis(terms.ttl()).to_string()];
        let Some((_, fence)) = store.eval::<Option<(u64, String)>>(&script::ENTER, fenced, &arguments).await? else {
            attempt.refused();
            return Ok(None);
        };
        let fence = fence_of(&fence)?;
        watch.granted(attempt.granted(), &keys.name, *terms, asked, waiting, fence).map(Some)
    }

    fn watch(&self) -> &Watch {
        &self.lock.watch
    }
}
