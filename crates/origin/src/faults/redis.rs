//! A connection to Redis whose calls meet the plan of their thread.

use std::time::Duration;

use ::redis::aio::{ConnectionLike, MultiplexedConnection};
use ::redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, Value};

use super::{Fault, next, stop};

/// Clones share the connection, as those of the client do.
#[derive(Clone)]
pub(crate) struct Connection(pub(crate) MultiplexedConnection);

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let Some(fault) = next(|| name(command)).await else { return self.0.req_packed_command(command).await };
            let (mut connection, command) = (self.0.clone(), command.clone());
            let work = async move { connection.req_packed_command(&command).await.map(drop) };
            Err(meet(fault, work).await)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let names = || pipeline.cmd_iter().next().map(name).unwrap_or_default();
            let Some(fault) = next(names).await else {
                return self.0.req_packed_commands(pipeline, offset, count).await;
            };
            let (mut connection, pipeline) = (self.0.clone(), pipeline.clone());
            let work = async move { connection.req_packed_commands(&pipeline, offset, count).await.map(drop) };
            Err(meet(fault, work).await)
        })
    }

    fn get_db(&self) -> i64 {
        self.0.get_db()
    }
}

/// What its caller sees of a call that meets a fault.
async fn meet(fault: Fault, work: impl Future<Output = Result<(), RedisError>> + Send + 'static) -> RedisError {
    match fault {
        Fault::LoseAnswer => drop(work.await),
        Fault::StopAfter => {
            let _ = work.await;
            stop::<()>().await;
        }
        Fault::Late(ms) => {
            // What was written to a socket arrives, whatever becomes of its sender.
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    let _ = work.await;
                });
            });
        }
        Fault::Refuse | Fault::StopBefore | Fault::Stall(_) => {}
    }
    std::io::Error::new(std::io::ErrorKind::ConnectionReset, "a fault of the schedule").into()
}

/// The command's name, and the script's SHA1 where it runs one.
fn name(command: &Cmd) -> String {
    let word = |arg: Arg<&[u8]>| match arg {
        Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    let mut words = command.args_iter().map(word);
    let first = words.next().unwrap_or_default();
    match first.as_str() {
        "EVALSHA" => format!("{first} {}", words.next().unwrap_or_default().get(..8).unwrap_or_default()),
        "XGROUP" | "XINFO" | "SCRIPT" => format!("{first} {}", words.next().unwrap_or_default()),
        _ => first,
    }
}
