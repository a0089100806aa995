//! Keeps one connection to Redis: makes it, watches it, replaces it.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, ConnectionAddr, Pipeline, Value, cmd};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::{Live, State};
use crate::config::Config;
use crate::reply::error_text;
use crate::wire::Folding;

/// The pause between two attempts. Short: Redis should be used again well within a second of its return.
const PAUSE: Duration = Duration::from_millis(50);

/// Requests that may wait for the task that writes to Redis.
const QUEUE: usize = 1024;

/// The task that writes requests and reads replies. Dropping it fails whatever is under way.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs until nobody reads the state any more.
pub(crate) async fn keep_connected(config: Config, state: watch::Sender<State>) {
    tokio::select! {
        () = state.closed() => {}
        () = reconnect_for_ever(&config, &state) => {}
    }
}

async fn reconnect_for_ever(config: &Config, state: &watch::Sender<State>) {
    let address = config.redis_address();
    let mut told = String::new();
    loop {
        let attempt = timeout(config.connect_timeout, connect(config)).await;
        match attempt.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
            Ok((live, driver)) => {
                info!(redis = %address, "redis is up");
                told.clear();
                state.send_replace(State::Up(live.clone()));
                let why = until_lost(&live, driver, config.command_timeout).await;
                state.send_replace(State::Connecting);
                warn!(redis = %address, "{why}");
            }
            Err(reason) => {
                state.send_replace(State::Down);
                if reason != told {
                    warn!(redis = %address, %reason, "redis is not reachable; requests get 503 until it is");
                    told = reason;
                }
            }
        }
        sleep(PAUSE).await;
    }
}

async fn until_lost(live: &Live, mut driver: Driver, command_timeout: Duration) -> &'static str {
    tokio::select! {
        _ = &mut driver.0 => "redis closed the connection",
        () = until_mute(live, command_timeout) => "redis does not answer; the connection is given up",
    }
}

/// Ends when a reply did not come in time and a PING after it does not either: the peer may be gone without a word.
async fn until_mute(live: &Live, command_timeout: Duration) {
    loop {
        live.suspect.notified().await;
        let mut connection = live.connection.clone();
        let ping = cmd("PING");
        if !matches!(timeout(command_timeout, connection.req_packed_command(&ping)).await, Ok(Ok(_))) {
            return;
        }
    }
}

async fn connect(config: &Config) -> Result<(Live, Driver), String> {
    let socket = Folding::new(open(config.redis.addr()).await?);
    // The bridge has its own deadlines, so that it knows which of them passed.
    let settings = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_connection_timeout(None)
        .set_pipeline_buffer_size(QUEUE);
    let (mut connection, driver) =
        MultiplexedConnection::new_with_config(config.redis.redis_settings(), socket, settings)
            .await
            .map_err(|error| error.to_string())?;
    let driver = Driver(tokio::spawn(driver));
    let no_transactions = probe(&mut connection).await?.map(Arc::new);
    Ok((Live { connection, no_transactions, suspect: Arc::new(Notify::new()) }, driver))
}

/// Asks Redis whether it is ready, and whether it takes transactions: its refusal is returned.
async fn probe(connection: &mut MultiplexedConnection) -> Result<Option<Value>, String> {
    let mut pipeline = Pipeline::new();
    pipeline.cmd("PING").cmd("MULTI").cmd("EXEC");
    let replies = connection.req_packed_commands(&pipeline, 0, 3).await.map_err(|error| error.to_string())?;
    let mut replies = replies.into_iter();
    match replies.next() {
        Some(Value::ServerError(error)) if !matches!(error.code(), "NOPERM" | "MISCONF") => {
            return Err(error_text(&error));
        }
        Some(_) => {}
        None => return Err("no reply to PING".to_owned()),
    }
    Ok(replies.find(|reply| matches!(reply, Value::ServerError(_))))
}

/// A socket of any kind.
trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

async fn open(address: &ConnectionAddr) -> Result<Box<dyn Socket>, String> {
    match address {
        ConnectionAddr::Tcp(host, port) => {
            let socket = TcpStream::connect((host.as_str(), *port)).await.map_err(|error| error.to_string())?;
            socket.set_nodelay(true).map_err(|error| error.to_string())?;
            Ok(Box::new(socket))
        }
        ConnectionAddr::Unix(path) => Ok(Box::new(UnixStream::connect(path).await.map_err(|error| error.to_string())?)),
        _ => Err("this kind of address is not supported".to_owned()),
    }
}
