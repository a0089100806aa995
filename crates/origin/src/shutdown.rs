//! Tells every task that the process is to end.

use std::time::Duration;

use tokio::sync::watch;

/// Held by the one who ends the process.
#[derive(Debug)]
pub(crate) struct Trigger(watch::Sender<bool>);

/// Held by those who are to stop.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

/// A new pair.
pub(crate) fn pair() -> (Trigger, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (Trigger(sender), Shutdown(receiver))
}

impl Trigger {
    /// Now. Dropping the trigger does the same.
    pub(crate) fn fire(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Whether it has begun.
    pub(crate) fn begun(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Resolves when it begins.
    pub(crate) async fn wait(&mut self) {
        // An error means that the trigger is gone, which is the same.
        let _ = self.0.wait_for(|fired| *fired).await;
    }

    /// Sleeps, unless it begins; returns whether it has begun.
    pub(crate) async fn sleep(&mut self, time: Duration) -> bool {
        tokio::select! {
            () = self.wait() => true,
            () = tokio::time::sleep(time) => self.begun(),
        }
    }
}

/// Waits between attempts: longer each time, up to a limit.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(2);

    /// Starts short.
    pub(crate) fn new() -> Self {
        Self(Self::FIRST)
    }

    /// The next wait.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(Self::LONGEST);
        wait
    }

    /// Something has worked.
    pub(crate) fn reset(&mut self) {
        self.0 = Self::FIRST;
    }
}
