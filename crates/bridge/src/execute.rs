//! From a request to an answer, without HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tracing::debug;

use crate::backend::{Backend, Stream, Transaction, Unavailable};
use crate::catalog::Catalog;
use crate::policy::Access;
use crate::refuse::refuse;
use crate::reply::{self, Format, List};
use crate::request::{BadRequest, Command, Request};
use crate::resp;
use crate::script::guard::Guard;
use crate::script::{Amend, Scripts, Variant};

/// A status and a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// What the client asked for: JSON, unless it asked for something else.
    pub body: Vec<u8>,
    /// What that is.
    pub format: Format,
}

impl Answer {
    /// An error with a status.
    pub fn error(status: u16, text: impl AsRef<[u8]>, format: Format) -> Self {
        let mut body = Vec::new();
        reply::write_error(&mut body, text.as_ref(), format);
        Self { status, body, format }
    }
}

/// Why a request has no result.
enum Failure {
    Refused(Vec<u8>),
    Unavailable(Unavailable),
}

impl From<Unavailable> for Failure {
    fn from(unavailable: Unavailable) -> Self {
        debug!("{unavailable}");
        Self::Unavailable(unavailable)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Refused(text.into_bytes())
    }
}

impl From<BadRequest> for Failure {
    fn from(bad: BadRequest) -> Self {
        bad.to_string().into()
    }
}

impl Failure {
    fn answer(self, format: Format) -> Answer {
        match self {
            Self::Refused(text) => Answer::error(400, text, format),
            Self::Unavailable(unavailable) => Answer::error(503, unavailable.to_string(), format),
        }
    }
}

/// Who asks: what may be done, and by which number scripts that were changed for it are kept apart.
#[derive(Debug, Clone)]
pub struct Session {
    /// The rights.
    pub access: Arc<Access>,
    /// A number of its own, above 0.
    pub number: Variant,
}

/// What commands are held against.
struct Rules<'s> {
    session: &'s Session,
    catalog: Option<Arc<Catalog>>,
    guard: Option<Arc<Guard>>,
}

impl Rules<'_> {
    fn variant(&self) -> Variant {
        if self.guard.is_some() { self.session.number } else { 0 }
    }
}

/// A prelude, and what it was made from.
type MadeFrom = (Arc<Catalog>, Arc<Guard>);

/// Runs requests against one database.
pub struct Executor {
    backend: Backend,
    scripts: Scripts,
    check_keys: bool,
    guards: Mutex<HashMap<Variant, MadeFrom>>,
}

impl Executor {
    /// An executor that knows no script yet; `check_keys` holds scripts to their KEYS.
    pub fn new(backend: Backend, check_keys: bool) -> Self {
        Self { backend, scripts: Scripts::default(), check_keys, guards: Mutex::default() }
    }

    /// Whether Redis answered when it was last tried.
    pub fn redis_is_up(&self) -> bool {
        self.backend.is_up()
    }

    /// Runs a request to its answer.
    pub async fn execute(&self, request: Request, format: Format, session: &Session) -> Answer {
        let answer = async {
            let rules = self.rules(session).await?;
            match request {
                Request::Single(command) => self.single(command, format, &rules).await,
                Request::Pipeline(commands) => self.pipeline(commands, format, &rules).await,
                Request::Transaction(commands) => self.transaction(commands, format, &rules).await,
            }
        };
        answer.await.unwrap_or_else(|failure| failure.answer(format))
    }

    /// A command whose replies never end, on a connection of its own.
    pub async fn stream(&self, mut command: Command, session: &Session) -> Result<Stream, Answer> {
        let stream = async {
            let rules = self.rules(session).await?;
            permit(&mut command, &rules)?;
            Ok(self.backend.stream(&command).await?)
        };
        stream.await.map_err(|failure: Failure| failure.answer(Format::Plain))
    }

    async fn rules<'s>(&self, session: &'s Session) -> Result<Rules<'s>, Failure> {
        let guarded = self.check_keys || session.access.is_guarded();
        if !guarded && !session.access.is_restricted() {
            return Ok(Rules { session, catalog: None, guard: None });
        }
        let catalog = self.backend.catalog().await?;
        let guard = guarded.then(|| self.guard(&catalog, session));
        Ok(Rules { session, catalog: Some(catalog), guard })
    }

    fn guard(&self, catalog: &Arc<Catalog>, session: &Session) -> Arc<Guard> {
        let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        match guards.get(&session.number) {
            Some((made_from, guard)) if Arc::ptr_eq(made_from, catalog) => Arc::clone(guard),
            _ => {
                let guard = Arc::new(Guard::new(catalog, &session.access, self.check_keys));
                guards.insert(session.number, (Arc::clone(catalog), Arc::clone(&guard)));
                guard
            }
        }
    }

    /// Refuses a command, or makes it what Redis is sent.
    fn prepare(&self, command: &mut Command, rules: &Rules<'_>) -> Result<Amend, String> {
        if let Some(refusal) = refuse(command) {
            return Err(refusal);
        }
        permit(command, rules)?;
        self.scripts.translate(command, rules.variant(), rules.guard.as_deref())
    }

    async fn single(&self, mut command: Command, format: Format, rules: &Rules<'_>) -> Result<Answer, Failure> {
        let amend = self.prepare(&mut command, rules)?;
        let mut reply = self.backend.run(std::slice::from_ref(&command)).await?;
        if reply.starts_with(b"-NOSCRIPT")
            && let Some(text) = self.scripts.text(&amend, rules.variant())
        {
            reply = self.backend.run(&[with_text(command, text)]).await?;
        }
        let status = if resp::error(&reply).is_some() { 400 } else { 200 };
        let mut body = Vec::with_capacity(reply.len() + 16);
        reply::write_item(&mut body, &amend.apply(&reply), format);
        Ok(Answer { status, body, format })
    }

    /// A refused command is answered in its place; the others run.
    async fn pipeline(&self, commands: Vec<Command>, format: Format, rules: &Rules<'_>) -> Result<Answer, Failure> {
        let mut sent = Vec::with_capacity(commands.len());
        let mut plan = Vec::with_capacity(commands.len());
        for mut command in commands {
            let prepared = self.prepare(&mut command, rules);
            if prepared.is_ok() {
                sent.push(command);
            }
            plan.push(prepared);
        }
        self.load(plan.iter().flatten(), rules).await?;
        let replies = if sent.is_empty() { Bytes::new() } else { self.backend.run(&sent).await? };
        let mut rest: &[u8] = &replies;
        let mut body = Vec::with_capacity(replies.len() + plan.len() * 16);
        let mut list = List::open(&mut body, plan.len(), format);
        for item in plan {
            list.next(&mut body);
            match item {
                Ok(amend) => self.write_next(&mut body, &mut rest, &amend, format, rules)?,
                Err(refusal) => reply::write_error(&mut body, refusal.as_bytes(), format),
            }
        }
        list.close(&mut body);
        Ok(Answer { status: 200, body, format })
    }

    /// A refused command discards the whole, as an error while queueing does.
    async fn transaction(
        &self,
        mut commands: Vec<Command>,
        format: Format,
        rules: &Rules<'_>,
    ) -> Result<Answer, Failure> {
        let prepared: Result<Vec<Amend>, String> =
            commands.iter_mut().map(|command| self.prepare(command, rules)).collect();
        let amends = prepared.map_err(|refusal| discarded(refusal.as_bytes()))?;
        self.load(amends.iter(), rules).await?;
        let results = match self.backend.transaction(&commands).await? {
            Transaction::Ran(results) => results,
            Transaction::Discarded { error, queueing: true } => return Err(discarded(&error)),
            Transaction::Discarded { error, queueing: false } => return Err(Failure::Refused(error)),
        };
        let mut rest: &[u8] = &results;
        let mut body = Vec::with_capacity(results.len() + amends.len() * 16);
        let mut list = List::open(&mut body, amends.len(), format);
        for amend in amends {
            list.next(&mut body);
            self.write_next(&mut body, &mut rest, &amend, format, rules)?;
        }
        list.close(&mut body);
        Ok(Answer { status: 200, body, format })
    }

    /// Loads the changed scripts of a batch that this connection has not seen.
    async fn load(&self, amends: impl Iterator<Item = &Amend>, rules: &Rules<'_>) -> Result<(), Unavailable> {
        let scripts: Vec<&Amend> = amends.filter(|amend| matches!(amend, Amend::Error { .. })).collect();
        if scripts.is_empty() {
            return Ok(());
        }
        let texts = self.scripts.not_loaded(&scripts, rules.variant(), self.backend.generation().await?);
        let loads: Vec<Command> = texts
            .into_iter()
            .filter_map(|text| Command::new(vec![Bytes::from_static(b"SCRIPT"), Bytes::from_static(b"LOAD"), text]))
            .collect();
        if loads.is_empty() {
            return Ok(());
        }
        // A text that does not compile fails again, in its place.
        let loaded = self.backend.run(&loads).await;
        if loaded.is_err() {
            scripts.iter().for_each(|amend| drop(self.scripts.text(amend, rules.variant())));
        }
        loaded.map(drop)
    }

    fn write_next(
        &self,
        out: &mut Vec<u8>,
        rest: &mut &[u8],
        amend: &Amend,
        format: Format,
        rules: &Rules<'_>,
    ) -> Result<(), Unavailable> {
        let reply = resp::next_reply(rest).ok_or(Unavailable::Lost)?;
        if reply.starts_with(b"-NOSCRIPT") {
            // Somebody else flushed: the next batch loads it again.
            drop(self.scripts.text(amend, rules.variant()));
        }
        reply::write_item(out, &amend.apply(reply), format);
        Ok(())
    }
}

fn permit(command: &mut Command, rules: &Rules<'_>) -> Result<(), String> {
    match &rules.catalog {
        Some(catalog) => rules.session.access.check(catalog, command),
        None => Ok(()),
    }
}

/// EVALSHA as EVAL.
fn with_text(mut command: Command, text: Bytes) -> Command {
    command.rename(if command.name() == b"EVALSHA_RO" { "EVAL_RO" } else { "EVAL" });
    if let Some(sha) = command.arguments_mut().first_mut() {
        *sha = text;
    }
    command
}

/// Redis' own form for a transaction whose cause of failure is known.
fn discarded(cause: &[u8]) -> Failure {
    Failure::Refused([b"EXECABORT Transaction discarded because of: ", cause].concat())
}
