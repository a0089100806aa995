//! `sluice-origin order …`, `dead-letter …` and `ledger …`: what SQL has recorded.

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};

use super::sale::Wanted;
use super::show;
use super::when::shown;
use crate::ops;
use crate::sql::dead::Letter;
use sluice::model::Millis;

/// Arguments of `order`.
#[derive(Debug, Subcommand)]
pub(super) enum Order {
    /// Shows an order with its ledger rows and payments.
    Show {
        /// Its id.
        id: String,
        #[command(flatten)]
        wanted: Wanted,
    },
}

/// Arguments of `dead-letter`.
#[derive(Debug, Subcommand)]
pub(super) enum DeadLetter {
    /// Lists those that nobody has dealt with.
    List {
        /// The others, too.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Places a new order for the same buyer, linked to the old one.
    Retry(Which),
    /// Leaves it at that; its unit went back when it died.
    Drop(Which),
}

/// One dead letter.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// Its request id, as `list` tells it.
    #[arg(allow_hyphen_values = true)]
    request_id: String,
    #[command(flatten)]
    wanted: Wanted,
}

/// Arguments of `ledger`.
#[derive(Debug, Subcommand)]
pub(super) enum Ledger {
    /// Checks that each row follows from the one before it, and the stock from the last. Exit code 1 where one does not.
    Verify {
        /// One sale; left out, all.
        sku: Option<String>,
        #[command(flatten)]
        wanted: Wanted,
    },
}

impl Order {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let Self::Show { id, wanted } = self;
        let app = wanted.open().await?;
        let story = app.sql.story(&id).await?.with_context(|| format!("SQL has no order {id}"))?;
        if wanted.json {
            return show::json(&story);
        }
        let order = &story.order;
        let time = |ms: i64| shown(Millis(u64::try_from(ms).unwrap_or(0)));
        let mut lines = vec![
            ("order", order.order_id.clone()),
            ("sku", order.sku.clone()),
            ("quantity", order.quantity.to_string()),
            ("amount", order.amount.to_string()),
            ("status", order.status.clone()),
            ("reason", story.reason.clone().unwrap_or_default()),
            ("request", story.request_id.clone()),
            ("seq", story.seq.to_string()),
            ("accepted", time(order.created_at)),
            ("settled", time(story.settled_at)),
            ("closed", story.closed_at.map(time).unwrap_or_default()),
        ];
        lines.extend(story.ledger.iter().map(|(number, change)| ("ledger", format!("{number} {change:+}"))));
        lines.extend(story.payments.iter().map(|(number, status)| ("payment", format!("{number} {status}"))));
        show::fields(&lines)
    }
}

impl DeadLetter {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List { all, wanted } => {
                let letters = wanted.open().await?.sql.dead_letters(all).await?;
                if wanted.json {
                    show::json(&letters)
                } else {
                    show::rows(&HEADER, letters.iter().map(row), "There are no dead letters.")
                }
            }
            Self::Retry(which) => which.tell(&ops::dead::retry(&*which.wanted.open().await?, &which.request_id).await?),
            Self::Drop(which) => which.tell(&ops::dead::drop(&*which.wanted.open().await?, &which.request_id).await?),
        }
    }
}

const HEADER: [&str; 6] = ["request", "order", "attempts", "died", "dealt with", "error"];

fn row(letter: &Letter) -> Vec<String> {
    let dealt = match (&letter.retried_as, letter.closed_at) {
        (Some(order), _) => format!("retried as {order}"),
        (None, Some(_)) => "dropped".to_owned(),
        (None, None) => String::new(),
    };
    vec![
        letter.request_id.clone(),
        letter.order_id.clone().unwrap_or_default(),
        letter.attempts.to_string(),
        shown(Millis(u64::try_from(letter.created_at).unwrap_or(0))),
        dealt,
        letter.error.clone(),
    ]
}

impl Which {
    fn tell(&self, letter: &Letter) -> anyhow::Result<()> {
        if self.wanted.json { show::json(letter) } else { show::rows(&HEADER, std::iter::once(row(letter)), "") }
    }
}

impl Ledger {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let Self::Verify { sku, wanted } = self;
        let (rows, breaks) = wanted.open().await?.sql.verify_ledger(sku.as_deref()).await?;
        if wanted.json {
            show::json(&serde_json::json!({ "rows": rows, "whole": breaks.is_empty(), "breaks": breaks }))?;
        } else if breaks.is_empty() {
            show::line(&format!("The ledger is whole: {rows} rows."))?;
        } else {
            let cells = breaks.iter().map(|found| {
                let numbers = [found.expected.to_string(), found.found.to_string()];
                [vec![found.sku.clone(), found.log_no.clone(), found.what.to_owned()], numbers.to_vec()].concat()
            });
            show::rows(&["sku", "row", "what is wrong", "expected", "found"], cells, "")?;
        }
        ensure!(breaks.is_empty(), "the ledger is broken in {} places", breaks.len());
        Ok(())
    }
}
