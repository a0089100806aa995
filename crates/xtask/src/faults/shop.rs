//! One schedule's processes: a Redis, one or two origins, and a database that can be cut off.

use super::options::Database;
use super::schedule::Schedule;
use super::wire::Wire;
use crate::clock;
use crate::stack::{Part, Process, Sale, SqlKind, SqlServer, Stack};
use anyhow::{Context, Result, bail};
use sea_orm::{ConnectOptions, ConnectionTrait, DatabaseConnection};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What is sold.
pub(super) const SKU: &str = "demo";
/// Shared with the simulated gateway.
pub(super) const PAYMENT_SECRET: &str = "a-gateway-of-tests-and-its-secret";

/// How long anything may take to come back on a busy machine.
pub(super) const BACK: Duration = Duration::from_secs(60);

/// The servers that all schedules share.
#[derive(Debug, Default)]
pub(super) struct Servers {
    postgres: Option<SqlServer>,
    mariadb: Option<SqlServer>,
}

impl Servers {
    /// Starts those that these databases need.
    pub(super) fn start(databases: &[Database]) -> Result<Self> {
        let one = |database, kind| databases.contains(&database).then(|| SqlServer::start(kind)).transpose();
        Ok(Self {
            postgres: one(Database::Postgres, SqlKind::Postgres)?,
            mariadb: one(Database::Mariadb, SqlKind::MariaDb)?,
        })
    }

    /// A new database on one of them; `None` for SQLite.
    async fn database(&self, which: Database) -> Result<Option<String>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let server = match which {
            Database::Sqlite => return Ok(None),
            Database::Postgres => self.postgres.as_ref(),
            Database::Mariadb => self.mariadb.as_ref(),
        };
        let url = server.context("its server was not started")?.url();
        let name = format!("f{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let admin = connect(url).await?;
        admin.execute_unprepared(&format!("CREATE DATABASE {name}")).await?;
        admin.close().await?;
        let (head, _) = url.rsplit_once('/').context("the server's URL has no path")?;
        Ok(Some(format!("{head}/{name}")))
    }
}

/// One connection, which logs nothing.
pub(super) async fn connect(url: &str) -> Result<DatabaseConnection> {
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    Ok(sea_orm::Database::connect(options).await?)
}

/// The processes, and which of them are to run.
pub(super) struct Shop {
    pub(super) stack: Stack,
    second: Option<Process>,
    /// Where the origins listen.
    pub(super) origins: Vec<String>,
    /// The database, past the wire.
    pub(super) database: String,
    pub(super) wire: Option<Wire>,
    /// Origins that a fault keeps down.
    down: [AtomicBool; 2],
}

impl Shop {
    /// Starts everything and opens the sale.
    pub(super) async fn open(schedule: &Schedule, database: Database, servers: &Servers) -> Result<Self> {
        let direct = servers.database(database).await?;
        let wire = match &direct {
            Some(url) => Some(Wire::before(url).await?),
            None => None,
        };
        let mut builder = Stack::builder().only(&[Part::Redis, Part::Origin]).already_built();
        let secret = format!("--payment-secret={PAYMENT_SECRET}");
        for argument in [secret.as_str(), "--take-over-after=1s", "--sweep-every=1s", "--job-ttl=1s"] {
            builder = builder.origin_argument(argument);
        }
        if let Some(wire) = &wire {
            builder = builder.database_at(&wire.url);
        }
        let stack = builder.start().await?;
        let mut origins = vec![stack.origin_url()];
        let mut second = None;
        if schedule.origins > 1 {
            let (process, url) = stack.another_origin().await?;
            second = Some(process);
            origins.push(url);
        }
        let crowd = &schedule.crowd;
        let sale = Sale::new(SKU, crowd.stock).per_user(crowd.per_user.into());
        stack.create_sale(&sale.pay_within(&format!("{}ms", crowd.pay_within))).await?;
        let database = direct.unwrap_or_else(|| stack.database_url());
        Ok(Self { stack, second, origins, database, wire, down: Default::default() })
    }

    /// An origin by its number, counted from 0.
    pub(super) fn origin(&self, number: usize) -> Result<&Process> {
        match (number, &self.second) {
            (0, _) => self.stack.process(Part::Origin),
            (_, second) => second.as_ref().context("there is one origin only"),
        }
    }

    /// Whether an origin is to be down for a while.
    pub(super) fn keep_down(&self, number: usize, down: bool) {
        if let Some(flag) = self.down.get(number) {
            flag.store(down, Ordering::Relaxed);
        }
    }

    /// Starts origins again that have ended though no fault keeps them down: one that finds its database away at its start
    /// ends, and whoever looks after it starts it again.
    pub(super) async fn supervise(&self) -> Result<()> {
        loop {
            for number in 0..self.origins.len() {
                let down = self.down.get(number).is_some_and(|down| down.load(Ordering::Relaxed));
                let process = self.origin(number)?;
                if !down && !process.is_running() {
                    process.spawn()?;
                }
            }
            tokio::time::sleep(clock::POLL * 5).await;
        }
    }

    /// Waits until every part answers.
    pub(super) async fn until_ready(&self) -> Result<()> {
        self.stack.until_ready(Part::Redis).await?;
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build()?;
        let deadline = clock::now() + BACK;
        for origin in &self.origins {
            loop {
                let answer = client.get(format!("{origin}/readyz")).send().await;
                if answer.is_ok_and(|answer| answer.status().is_success()) {
                    break;
                }
                if clock::now() >= deadline {
                    bail!("{origin} does not come back");
                }
                tokio::time::sleep(clock::POLL).await;
            }
        }
        Ok(())
    }

    /// The ends of all logs.
    pub(super) fn logs(&self) -> String {
        let second = self.second.iter().map(|process| format!("--- {}\n{}\n", process.name(), process.log_tail()));
        self.stack.logs() + &second.collect::<String>()
    }

    /// How often an origin took entries over that another one had in hand.
    pub(super) fn take_overs(&self) -> usize {
        let origins = self.stack.process(Part::Origin).ok().into_iter().chain(&self.second);
        let logs = origins.filter_map(|process| std::fs::read_to_string(process.log()).ok());
        logs.map(|log| log.matches("took over idle entries").count()).sum()
    }

    /// Ends everything at once: nobody needs it any more.
    pub(super) fn end(self) {
        for (_, process) in self.stack.processes() {
            process.kill();
        }
        self.second.iter().for_each(Process::kill);
    }
}
