//! Stands between the origins and a database, and can fall silent or hang up.

use crate::stack::Port;
use anyhow::{Context, Result};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Everything.
    Open,
    /// Nothing; connections stay as they are.
    Silent,
    /// Nothing, and every connection is closed.
    Cut,
}

/// A proxy of TCP connections. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Wire {
    /// The database's URL through it.
    pub(super) url: String,
    mode: Arc<watch::Sender<Mode>>,
    task: JoinHandle<()>,
    _port: Port,
}

impl Wire {
    /// Before the database at `url`, a server on the loopback.
    pub(super) async fn before(url: &str) -> Result<Self> {
        let (head, rest) = url.split_once("127.0.0.1:").context("the database is elsewhere")?;
        let (target, path) = rest.split_once('/').context("the URL names no database")?;
        let target: u16 = target.parse()?;
        let port = Port::reserve()?;
        let listener = TcpListener::bind(("127.0.0.1", port.number())).await?;
        let through = format!("{head}127.0.0.1:{}/{path}", port.number());
        let mode = Arc::new(watch::channel(Mode::Open).0);
        let modes = Arc::clone(&mode);
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let mut mode = modes.subscribe();
                if *mode.borrow_and_update() != Mode::Cut {
                    tokio::spawn(connect(near, target, mode));
                }
            }
        });
        Ok(Self { url: through, mode, task, _port: port })
    }

    pub(super) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
        self.mode.send_replace(Mode::Cut);
    }
}

async fn connect(near: TcpStream, target: u16, mut mode: watch::Receiver<Mode>) {
    let Ok(far) = TcpStream::connect(("127.0.0.1", target)).await else { return };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let (to, from) = (mode.clone(), mode.clone());
    tokio::select! {
        () = carry(near_in, far_out, to) => {}
        () = carry(far_in, near_out, from) => {}
        _ = mode.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut mode: watch::Receiver<Mode>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if mode.wait_for(|mode| *mode == Mode::Open).await.is_err() {
            return;
        }
        let sent = buffer.get(..read).unwrap_or_default();
        if to.write_all(sent).await.is_err() {
            return;
        }
    }
}
