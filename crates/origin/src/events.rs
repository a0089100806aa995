//! Delivers events about orders to the shop's webhook: signed, repeated until it says 2xx, in no promised order.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use crate::app::App;
use crate::config::Secrets;
use crate::jobs::{Had, Name};
use crate::outbox::finish;
use crate::shutdown::Shutdown;
use crate::sql::outbox::{Event, Kind, Task};

const BATCH: u64 = 100;
/// How long the receiver may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Works until the shutdown, in one process at a time; has nothing to do where no webhook is configured.
pub(crate) async fn run(app: Arc<App>, mut shutdown: Shutdown) {
    let Some((url, secrets)) = app.config.webhook.clone() else { return shutdown.wait().await };
    let client = match reqwest::Client::builder().timeout(LIMIT).redirect(reqwest::redirect::Policy::none()).build() {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "no event can be delivered");
            return shutdown.wait().await;
        }
    };
    let webhook = Webhook { client, url, secrets };
    while !shutdown.begun() {
        let turn = async {
            deliver(&app, &webhook).await.unwrap_or_else(|error| {
                tracing::warn!(error = format!("{error:#}"), "events wait");
                false
            })
        };
        if app.jobs.turn(Name::Events, turn).await == Had::Turn(true) {
            continue;
        }
        tokio::select! {
            () = app.events.notified() => {}
            () = tokio::time::sleep(app.config.poll_every) => {}
            () = shutdown.wait() => {}
        }
    }
}

struct Webhook {
    client: reqwest::Client,
    url: String,
    secrets: Secrets,
}

/// Delivers what is due; whether there may be more.
async fn deliver(app: &App, webhook: &Webhook) -> anyhow::Result<bool> {
    let open = app.sql.open_tasks(&[Kind::Event], app.now(), BATCH).await?;
    let full = open.len() as u64 == BATCH;
    for open in open {
        let done = match &open.task {
            Some(Task::Event(event)) => webhook.send(app, event).await,
            _ => Err(anyhow::anyhow!("the row is not readable")),
        };
        if done.is_ok() {
            app.metrics.event();
        }
        finish(app, &open, done).await?;
    }
    Ok(full)
}

impl Webhook {
    async fn send(&self, app: &App, event: &Event) -> anyhow::Result<()> {
        let body = serde_json::to_vec(event)?;
        let timestamp = app.now().to_string();
        let request = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .header("sluice-event-id", event.key())
            .header("sluice-signature", self.secrets.sign(&timestamp, &body))
            .header("sluice-timestamp", timestamp)
            .body(body);
        // Without the URL, which may hold a secret.
        let answer =
            request.send().await.map_err(reqwest::Error::without_url).context("the webhook was not reached")?;
        anyhow::ensure!(answer.status().is_success(), "the webhook answered {}", answer.status().as_u16());
        Ok(())
    }
}
