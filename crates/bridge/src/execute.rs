//! From a request to an answer, without HTTP.

use redis::Value;
use tracing::debug;

use crate::backend::{Backend, Transaction, Unavailable};
use crate::refuse::refuse;
use crate::reply::{self, Encoding};
use crate::request::{BadRequest, Command, Request};
use crate::script::{Amend, Scripts};

/// A status and a JSON body.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// JSON.
    pub body: Vec<u8>,
}

impl Answer {
    /// `{"error":…}` with a status.
    pub fn error(status: u16, text: &str) -> Self {
        let mut body = Vec::new();
        reply::write_error(&mut body, text);
        Self { status, body }
    }
}

impl From<BadRequest> for Answer {
    fn from(bad: BadRequest) -> Self {
        Self::error(400, &bad.to_string())
    }
}

impl From<Unavailable> for Answer {
    fn from(unavailable: Unavailable) -> Self {
        debug!("{unavailable}");
        Self::error(503, &unavailable.to_string())
    }
}

/// Runs requests.
pub struct Executor {
    backend: Backend,
    scripts: Scripts,
}

impl Executor {
    /// An executor that knows no script yet.
    pub fn new(backend: Backend) -> Self {
        Self { backend, scripts: Scripts::default() }
    }

    /// Whether Redis answered when it was last tried.
    pub fn redis_is_up(&self) -> bool {
        self.backend.is_up()
    }

    /// Runs a request to its answer.
    pub async fn execute(&self, request: Request, encoding: Encoding) -> Answer {
        let answer = match request {
            Request::Single(command) => self.single(command, encoding).await,
            Request::Pipeline(commands) => self.pipeline(commands, encoding).await,
            Request::Transaction(commands) => self.transaction(commands, encoding).await,
        };
        answer.unwrap_or_else(|answer| answer)
    }

    async fn single(&self, mut command: Command, encoding: Encoding) -> Result<Answer, Answer> {
        if let Some(refusal) = refuse(&command) {
            return Err(Answer::error(400, &refusal));
        }
        let amend = self.scripts.translate(&mut command);
        let replies = self.backend.run(&[command]).await?;
        let mut value = replies.into_iter().next().ok_or(Unavailable::Lost)?;
        amend.apply(&mut value);
        let status = if matches!(value, Value::ServerError(_)) { 400 } else { 200 };
        let mut body = Vec::new();
        reply::write_item(&mut body, &value, encoding);
        Ok(Answer { status, body })
    }

    /// A refused command is answered in its place; the others run.
    async fn pipeline(&self, commands: Vec<Command>, encoding: Encoding) -> Result<Answer, Answer> {
        let mut sent = Vec::with_capacity(commands.len());
        let mut plan = Vec::with_capacity(commands.len());
        for mut command in commands {
            plan.push(match refuse(&command) {
                Some(refusal) => Err(refusal),
                None => {
                    let amend = self.scripts.translate(&mut command);
                    sent.push(command);
                    Ok(amend)
                }
            });
        }
        let replies = if sent.is_empty() { Vec::new() } else { self.backend.run(&sent).await? };
        let mut replies = replies.into_iter();
        let mut body = Vec::new();
        reply::write_list(&mut body, plan, |out, item| match item {
            Ok(amend) => write_amended(out, replies.next().unwrap_or_default(), amend, encoding),
            Err(refusal) => reply::write_error(out, &refusal),
        });
        Ok(Answer { status: 200, body })
    }

    /// A refused command discards the whole, as an error while queueing does.
    async fn transaction(&self, mut commands: Vec<Command>, encoding: Encoding) -> Result<Answer, Answer> {
        if let Some(refusal) = commands.iter().find_map(refuse) {
            return Err(discarded(&refusal));
        }
        let amends: Vec<Amend> = commands.iter_mut().map(|command| self.scripts.translate(command)).collect();
        let results = match self.backend.transaction(&commands).await? {
            Transaction::Ran(results) => results,
            Transaction::Discarded { error: Value::ServerError(error), queueing } => {
                let text = reply::error_text(&error);
                return Err(if queueing { discarded(&text) } else { Answer::error(400, &text) });
            }
            Transaction::Discarded { .. } => return Err(Unavailable::Lost.into()),
        };
        let mut body = Vec::new();
        reply::write_list(&mut body, results.into_iter().zip(amends), |out, (value, amend)| {
            write_amended(out, value, amend, encoding);
        });
        Ok(Answer { status: 200, body })
    }
}

/// Redis' own form for a transaction whose cause of failure is known.
fn discarded(cause: &str) -> Answer {
    Answer::error(400, &format!("EXECABORT Transaction discarded because of: {cause}"))
}

fn write_amended(out: &mut Vec<u8>, mut value: Value, amend: Amend, encoding: Encoding) {
    amend.apply(&mut value);
    reply::write_item(out, &value, encoding);
}
