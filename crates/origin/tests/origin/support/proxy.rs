//! Stands between the origin and its database, and can fall silent: connections stay open, and nothing passes.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Stops when it is dropped.
pub struct Proxy {
    /// The database's URL through it.
    pub url: String,
    /// Counts up: connections that were made under an older number are dead for good.
    generation: watch::Sender<u64>,
    silent: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub async fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (head, rest) = url.split_once("127.0.0.1:").unwrap();
        let (target, path) = rest.split_once('/').unwrap();
        let target: u16 = target.parse().unwrap();
        let (generation, generations) = watch::channel(0);
        let (silent, silence) = watch::channel(false);
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                let valve =
                    Valve { born: *generations.borrow(), generations: generations.clone(), silence: silence.clone() };
                tokio::spawn(carry(near_in, far_out, valve.clone()));
                tokio::spawn(carry(far_in, near_out, valve));
            }
        });
        Self { url: format!("{head}127.0.0.1:{port}/{path}"), generation, silent, task }
    }

    /// Nothing passes any more.
    pub fn fall_silent(&self) {
        self.silent.send_replace(true);
    }

    /// New connections are good again; those that were open never will be.
    pub fn speak_on_new_connections(&self) {
        self.generation.send_modify(|generation| *generation += 1);
        self.silent.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Valve {
    born: u64,
    generations: watch::Receiver<u64>,
    silence: watch::Receiver<bool>,
}

impl Valve {
    async fn pass(&mut self) {
        let _ = self.silence.wait_for(|silent| !silent).await;
        let born = self.born;
        if *self.generations.borrow() != born {
            std::future::pending::<()>().await;
        }
    }
}

async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut valve: Valve) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        valve.pass().await;
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
