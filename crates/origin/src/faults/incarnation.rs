//! One life of an origin: a thread, a runtime and a plan of its own.

use std::sync::Arc;
use std::thread;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::Plan;
use crate::{Config, Listeners, build, run};

/// How a life ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Where the plan says so.
    Stopped,
    /// Because it was told to.
    Told,
    /// By itself: what it needs for its start was not to be had.
    Failed,
}

/// An origin that lives.
pub(super) struct Incarnation {
    pub(super) plan: Arc<Plan>,
    ended: oneshot::Receiver<End>,
    end: oneshot::Sender<()>,
}

impl Incarnation {
    /// Begins it on a port.
    pub(super) fn begin(config: Config, port: u16, plan: Arc<Plan>) -> Self {
        let (end, told) = oneshot::channel();
        let (over, ended) = oneshot::channel();
        let governed = Arc::clone(&plan);
        thread::spawn(move || {
            governed.govern();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let how = runtime.block_on(async {
                tokio::select! {
                    () = governed.stopped() => End::Stopped,
                    _ = told => End::Told,
                    _ = live(config, port) => End::Failed,
                }
            });
            // Whatever waits in it is dropped where it stands.
            drop(runtime);
            let _ = over.send(how);
        });
        Self { plan, ended, end }
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self) -> End {
        (&mut self.ended).await.unwrap_or(End::Failed)
    }

    /// Ends it.
    pub(super) async fn finish(self) {
        let _ = self.end.send(());
        let _ = self.ended.await;
    }
}

async fn live(config: Config, port: u16) -> anyhow::Result<()> {
    let public = TcpListener::bind(("127.0.0.1", port)).await?;
    let origin = build(config).await?;
    run(origin, Listeners { public, admin: None }, std::future::pending()).await
}
