//! The flags of `cargo xtask faults`.

use clap::{Args, ValueEnum};

/// What `cargo xtask faults` may be told.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How many schedules are run.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub schedules: u64,
    /// The seed of the first one; the others follow it.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The database of all of them. Left out, each seed has one of the three.
    #[arg(long, value_enum)]
    pub database: Option<Database>,
    /// How many run at once, each on processes of its own.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Break single calls inside the origin's process instead: thousands of schedules in minutes, on SQLite.
    #[arg(long, conflicts_with_all = ["database", "jobs", "built", "json"])]
    pub in_process: bool,
    /// The services are built already, beside this program.
    #[arg(long)]
    pub built: bool,
    /// Print one JSON object on stdout instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// A database that the origin can settle into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Database {
    /// A file.
    Sqlite,
    /// A server that all schedules share, each with a database of its own.
    Postgres,
    /// The same.
    Mariadb,
}

impl Database {
    /// The one that a seed has.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        match seed % 3 {
            0 => Self::Mariadb,
            1 => Self::Sqlite,
            _ => Self::Postgres,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
        }
    }
}
