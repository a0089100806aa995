//! The configuration that takes the place of the embedded one while isolates run: looked for in the background, checked
//! by the same code, and put in force for the requests to come. The last good one stays; no request waits for it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sluice_upstash::Transport;

use super::Gate;
use super::edition::{Document, Edition};
use super::ports::Ports;
use crate::api::json::{self, Object};
use crate::config::{Fault, Place};
use crate::digest::Tag;
use crate::model::Millis;

/// Largest document, in bytes. A sale's configuration has a few thousand.
const LARGEST: usize = 256 * 1024;
/// As many faults of a refused document are kept and told.
const FAULTS: usize = 20;

/// What a deployment says besides the document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deployment {
    /// Takes the place of the document's `partitions`.
    pub partitions: Option<u16>,
    /// Whether there is a place where a replacement may be found.
    pub live: bool,
    /// Whether the platform's own limit is bound.
    pub flood: bool,
    /// Whether decisions are measured ([`Ports::measure`]).
    pub measures: bool,
}

/// A document that was refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) version: Tag,
    pub(super) faults: Vec<String>,
}

impl Refused {
    pub(super) fn to_json(&self) -> String {
        let faults: Vec<&str> = self.faults.iter().map(String::as_str).collect();
        Object::new().text("version", self.version.as_str()).raw("faults", &json::texts(&faults)).done()
    }
}

/// Where replacements come from, and what became of the last ones.
#[derive(Debug)]
pub(super) struct Live {
    deployment: Deployment,
    /// What is in force when there is no replacement.
    embedded: Rc<Edition>,
    next: Cell<Millis>,
    refused: RefCell<Option<Rc<Refused>>>,
}

impl Live {
    pub(super) fn new(deployment: Deployment, embedded: Rc<Edition>) -> Self {
        Self { deployment, embedded, next: Cell::new(Millis(0)), refused: RefCell::new(None) }
    }

    /// Whether the platform's own limit is bound.
    pub(super) fn has_flood(&self) -> bool {
        self.deployment.flood
    }

    /// The last document that was refused, unless a good one has come since.
    pub(super) fn refused(&self) -> Option<Rc<Refused>> {
        self.refused.borrow().clone()
    }

    /// Whether each decision is measured.
    pub(super) fn measures(&self) -> bool {
        self.deployment.measures
    }

    /// `"live"` when `edition` is a replacement.
    pub(super) fn source(&self, edition: &Edition) -> &'static str {
        if edition.version == self.embedded.version { "embedded" } else { "live" }
    }

    /// Whether to look for a replacement now. A look that never comes back is followed by the next one.
    fn is_due(&self, every: Millis, now: Millis) -> bool {
        let due = self.deployment.live && now >= self.next.get();
        if due {
            self.next.set(now.plus(every));
        }
        due
    }

    fn read(&self, text: &str, version: Tag) -> Result<Document, Refused> {
        let checked = if text.len() > LARGEST {
            Err(vec![Fault { place: Place::default(), message: format!("the document has more than {LARGEST} bytes") }])
        } else {
            Document::read(text).and_then(|document| {
                let faults = self.embedded.config.refuses(&document.gate, self.deployment.partitions.is_some());
                if faults.is_empty() { Ok(document) } else { Err(faults) }
            })
        };
        checked.map_err(|faults| Refused {
            version,
            faults: faults.iter().take(FAULTS).map(ToString::to_string).collect(),
        })
    }
}

impl<T: Transport + 'static> Gate<T> {
    /// Looks for a replacement in the background, when it is time.
    pub(super) fn refresh_when_due<P: Ports>(self: &Rc<Self>, edition: &Edition, ports: &P) {
        if self.live.is_due(edition.config.live_refresh, ports.now()) {
            let (gate, world) = (Rc::clone(self), ports.clone());
            ports.background(async move { gate.refresh(&world).await });
        }
    }

    async fn refresh<P: Ports>(&self, ports: &P) {
        let Ok(found) = ports.document().await else {
            ports.log(r#"{"event":"configuration","fault":"the replacement cannot be read; nothing changes"}"#);
            return;
        };
        let Some(text) = found else {
            self.live.refused.replace(None);
            return self.put_in_force(Rc::clone(&self.live.embedded), ports);
        };
        let version = Document::version_of(&text);
        let known = self.live.refused().is_some_and(|refused| refused.version == version);
        if known || version == self.edition().version {
            return;
        }
        match self.live.read(&text, version) {
            Ok(document) => {
                self.live.refused.replace(None);
                self.put_in_force(Rc::new(Edition::new(document)), ports);
            }
            Err(refused) => {
                let line = Object::new().text("event", "configuration").raw("refused", &refused.to_json());
                ports.log(&line.done());
                self.live.refused.replace(Some(Rc::new(refused)));
            }
        }
    }

    /// From now on requests take this edition. What the isolate remembers stays: none of it depends on the edition that
    /// it was learnt under.
    fn put_in_force<P: Ports>(&self, edition: Rc<Edition>, ports: &P) {
        if self.edition().version == edition.version {
            return;
        }
        self.memory.adjust(&edition.config);
        self.journal.adjust(&edition.config.log);
        let source = self.live.source(&edition);
        let line = Object::new().text("event", "configuration").text("version", edition.version.as_str());
        ports.log(&line.text("source", source).done());
        self.edition.replace(edition);
    }
}
