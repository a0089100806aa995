//! The command line.

mod books;
mod jwt;
mod product;
mod records;
mod sale;
mod serve;
mod show;
mod when;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use sluice::script::keys::Keyspace;
use tracing_subscriber::EnvFilter;

use crate::config::Config;

/// The origin of Sluice: takes stock in Redis, settles orders into SQL.
#[derive(Debug, Parser)]
#[command(name = "sluice-origin", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Logs as JSON, one object a line.
    #[arg(long, global = true, env = "ORIGIN_LOG_JSON")]
    log_json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the service: HTTP, settling, outbox.
    Serve(serve::Serve),
    /// Brings the database's schema up to date. `serve` and `sale` do so too.
    Migrate {
        /// SQL: `sqlite://path?mode=rwc`, `postgres://…` or `mysql://…`.
        #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
        database: String,
    },
    /// Creates sales, and looks after them.
    Sale(sale::SaleArgs),
    /// Makes and changes products.
    #[command(subcommand)]
    Product(product::ProductCommand),
    /// Looks orders up.
    #[command(subcommand)]
    Order(records::Order),
    /// Entries that could not be settled.
    #[command(subcommand)]
    DeadLetter(records::DeadLetter),
    /// Compares Redis' stock with SQL's, and follows the ledger. Exit code 1 where they do not agree.
    Reconcile(books::Reconcile),
    /// Makes Redis' stock, buyers and requests anew from SQL, after Redis was lost or rolled back.
    Recover(books::Recover),
    /// Users' JWTs.
    #[command(subcommand)]
    Jwt(jwt::Jwt),
    /// The ledger of stock.
    #[command(subcommand)]
    Ledger(records::Ledger),
}

/// Where the data is.
#[derive(Args)]
struct Stores {
    /// Redis: `redis://[user:password@]host:port[/db]`, or `redis+cluster://[user:password@]host:port,host:port`.
    #[arg(long, env = "REDIS_URL", hide_env_values = true)]
    redis: String,
    /// SQL: `sqlite://path?mode=rwc`, `postgres://…` or `mysql://…`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database: String,
    /// Over how many partitions sales are spread; as the edge has it.
    #[arg(long, env = "ORIGIN_PARTITIONS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    partitions: u16,
    /// Prefix of all keys; as the edge has it.
    #[arg(long, env = "ORIGIN_PREFIX", default_value = "sl1")]
    prefix: String,
}

/// URLs hold passwords.
impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stores").field("partitions", &self.partitions).field("prefix", &self.prefix).finish()
    }
}

impl Stores {
    fn config(&self, assertion_secrets: &str) -> Config {
        let mut config = Config::new(&self.redis, &self.database, assertion_secrets);
        config.keyspace = Keyspace::new(&self.prefix, self.partitions);
        config
    }
}

/// Runs what the arguments say. 0: done; 1: it failed; 2: the arguments are no good.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let serves = matches!(cli.command, Command::Serve(_));
    log(cli.log_json, if serves { "info" } else { "warn" });
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(serve) => serve.run().await,
            Command::Migrate { database } => crate::sql::Sql::open(&database, false).await.map(drop),
            Command::Sale(sale) => sale.run().await,
            Command::Product(product) => product.run().await,
            Command::Order(order) => order.run().await,
            Command::DeadLetter(letter) => letter.run().await,
            Command::Reconcile(reconcile) => reconcile.run().await,
            Command::Recover(recover) => recover.run().await,
            Command::Ledger(ledger) => ledger.run().await,
            Command::Jwt(jwt) => jwt.run().await,
        }
    });
    done.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    // Nothing is left to tell it to, should this fail.
    let _ = writeln!(std::io::stderr(), "sluice-origin: {error:#}");
    ExitCode::FAILURE
}

/// Logs go to stderr, so that what a tool prints can be piped. `RUST_LOG` chooses other ones than `level`.
fn log(json: bool, level: &str) {
    let filter = EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(format!("{level},sqlx=warn,sea_orm_migration=warn")));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if json {
        logs.json().init();
    } else {
        logs.with_ansi(std::io::stderr().is_terminal()).init();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn no_url_is_shown_in_debug_output() {
        let line =
            ["sluice-origin", "sale", "list", "--redis", "redis://:hush@h", "--database", "postgres://u:hush@h/d"];
        let cli = Cli::try_parse_from(line).unwrap();
        assert!(!format!("{cli:?}").contains("hush"));
    }
}
