//! One holder at a time; who comes next is chance.

use crate::error::{Fault, NotAcquired};
use crate::guard::Guard;
use crate::hold::{Attempt, Hold};
use crate::locks::{Attempts, Lock, Watch, acquire, fence_of};
use crate::script;
use crate::terms::{Terms, millis};
use crate::token::Token;
use crate::wait::Wait;
use std::sync::Arc;
use tokio::time::Instant;

/// A lock that one holder has at a time: `SET key token NX PX ttl`. Made by [`Locks::simple`](crate::Locks::simple).
#[derive(Debug, Clone)]
pub struct Simple(pub(crate) Lock);

impl Simple {
    /// Takes the lock, waiting for it as told.
    ///
    /// # Errors
    /// When others had it all the time, or when Redis fails, which is not waited for.
    pub async fn acquire(&self, wait: Wait) -> Result<Guard, NotAcquired> {
        acquire(self, wait).await
    }

    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.keys.name
    }

    /// The terms of its leases.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.0.terms
    }
}

impl Attempts for Simple {
    async fn attempt(&self, waiting: Instant) -> Result<Option<Guard>, Fault> {
        let Lock { store, keys, terms, watch } = &self.0;
        let token = Token::random()?;
        let ttl = millis(terms.ttl());
        let hold = Hold::Single { store: store.clone(), keys: Arc::clone(keys), token: token.clone() };
        let mut attempt = Attempt::new(hold);
        attempt.begin();
        let asked = Instant::now();
        let (taken, fence) = if terms.is_fenced() {
            let arguments = [token.as_str(), &ttl.to_string()];
            let number: Option<String> = store.eval(&script::FENCED, &[&keys.lock, &keys.fence], &arguments).await?;
            (number.is_some(), fence_of(number.as_deref().unwrap_or_default())?)
        } else {
            let mut set = redis::cmd("SET");
            set.arg(&keys.lock).arg(token.as_str()).arg("NX").arg("PX").arg(ttl);
            (store.command::<Option<String>>(&set).await?.is_some(), None)
        };
        if !taken {
            attempt.refused();
            return Ok(None);
        }
        watch.granted(attempt.granted(), &keys.name, *terms, asked, waiting, fence).map(Some)
    }

    fn watch(&self) -> &Watch {
        &self.0.watch
    }
}
