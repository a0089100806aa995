//! What one isolate remembers, and what it would answer from it alone.

use std::cell::{OnceCell, RefCell};

use sluice_upstash::Fault;

use super::question::Question;
use super::refusal::{self, Refusal};
use super::trace::Trace;
use crate::admit::{Level, Snapshot, Verdict};
use crate::api::code::Code;
use crate::config::Gate;
use crate::digest::Tag;
use crate::model::{Micros, Millis, Quota, Sku};
use crate::script::admit::Reply;
use crate::shed::breaker::{Permit, Terms};
use crate::shed::counts::Tally;
use crate::shed::operations::Met as MetOperation;
use crate::shed::slots::Slot;
use crate::shed::{Breaker, Counts, Denied, Local, Offset, Operations, Pace, Sales, Slots};

/// Bounds of the tables: a flood of random keys costs an isolate a few megabytes, and nothing else.
const SALES: usize = 1_000;
const BUCKETS: usize = 10_000;
const OPERATIONS: usize = 10_000;
const OPERATIONS_BYTES: usize = 4 * 1024 * 1024;

/// The memory of one isolate. Borrowed for the length of one step, never across an await.
#[derive(Debug)]
pub(super) struct Memory {
    inner: RefCell<Inner>,
    chance: OnceCell<u32>,
}

#[derive(Debug)]
struct Inner {
    breaker: Breaker,
    offset: Offset,
    sales: Sales,
    denied: Denied,
    operations: Operations,
    /// The limits while Redis is away.
    local: Local,
    /// What was decided, to be told to Redis.
    counts: Counts,
    /// Requests on their way to the origin.
    slots: Slots,
    /// How many repeated attempts may ask Redis although memory would refuse them.
    repeats: Pace,
}

/// What memory says of a request.
pub(super) enum Recalled {
    /// Nothing: Redis decides.
    Nothing,
    /// The operation's answer, packed.
    Answer(String),
    /// Refused.
    Refused(Refusal),
}

impl Memory {
    /// An isolate that knows nothing yet.
    pub(super) fn new(config: &Gate) -> Self {
        let inner = Inner {
            breaker: Breaker::new(terms(config)),
            offset: Offset::default(),
            sales: Sales::new(SALES, config.snapshot, config.redis_deadline),
            denied: Denied::new(BUCKETS, config.snapshot),
            operations: Operations::new(OPERATIONS, OPERATIONS_BYTES, config.snapshot),
            local: Local::new(BUCKETS),
            counts: Counts::new(SALES),
            slots: Slots::default(),
            repeats: Pace::new(repeats()),
        };
        Self { inner: RefCell::new(inner), chance: OnceCell::new() }
    }

    /// A number drawn at random once an isolate: which shard of a limit is this isolate's.
    pub(super) fn chance(&self, draw: impl FnOnce() -> [u8; 16]) -> u32 {
        *self.chance.get_or_init(|| {
            let [a, b, c, d, ..] = draw();
            u32::from_be_bytes([a, b, c, d])
        })
    }

    /// Goes on under another configuration with what is known.
    pub(super) fn adjust(&self, config: &Gate) {
        let memory = &mut *self.inner.borrow_mut();
        memory.breaker.adjust(terms(config));
        memory.sales.adjust(config.snapshot, config.redis_deadline);
        memory.denied.adjust(config.snapshot);
        memory.operations.adjust(config.snapshot);
    }

    /// What would be answered without asking. The operation's own outcome comes first.
    pub(super) fn recall(&self, question: &Question<'_>, now: Millis) -> Recalled {
        let memory = self.inner.borrow();
        if let Some((op, fingerprint)) = question.operation() {
            match memory.operations.get(&op, &fingerprint, now) {
                Some(MetOperation::Answered(answer)) => return Recalled::Answer(answer.to_owned()),
                Some(MetOperation::InFlight) => return Recalled::Refused(refusal::in_progress(Millis(1_000)).into()),
                None => {}
            }
        }
        let Some(sku) = question.sku else { return memory.denied(question, now) };
        if memory.sales.is_unknown(sku, now) {
            return Recalled::Refused(Code::SaleUnknown.into());
        }
        if question.call.claiming.is_some() {
            let clock = memory.offset.earliest(now).zip(memory.offset.latest(now));
            let shut = memory.sales.get(sku, now).zip(clock).and_then(|(sale, (a, b))| sale.surely_shut(a, b));
            if let Some(shut) = shut {
                return Recalled::Refused(refusal::shut(shut).into());
            }
        }
        memory.denied(question, now)
    }

    /// Counts a decision about a sale that Redis knows; made-up ones would only push the others out.
    pub(super) fn count(&self, trace: &Trace, verdict: &'static str, now: Millis) {
        let memory = &mut *self.inner.borrow_mut();
        let Some(sku) = trace.sku.get().filter(|sku| memory.sales.is_known(sku, now)) else { return };
        memory.counts.add(sku, verdict);
        if trace.shed.get() {
            memory.counts.add(sku, "shed");
        }
        if !trace.would_refuse.borrow().is_empty() {
            memory.counts.add(sku, "shadow");
        }
    }

    /// What was counted about a sale since this was last asked.
    pub(super) fn take_counts(&self, sku: &Sku) -> Tally {
        self.inner.borrow_mut().counts.take(sku)
    }

    /// Whether a repeated attempt may ask Redis although memory would refuse it.
    pub(super) fn may_repeat(&self, now: Millis) -> bool {
        self.inner.borrow_mut().repeats.take(now).is_ok()
    }

    /// Whether `most` requests are on their way to the origin.
    pub(super) fn is_busy(&self, most: usize, now: Millis) -> bool {
        self.inner.borrow_mut().slots.is_full(most, now)
    }

    /// A request sets out for the origin, and is over by `until`; `None` when `most` are on their way.
    pub(super) fn take_slot(&self, most: usize, until: Millis, now: Millis) -> Option<Slot> {
        self.inner.borrow_mut().slots.take(most, until, now)
    }

    /// It is over.
    pub(super) fn give_slot(&self, slot: Slot) {
        self.inner.borrow_mut().slots.give(slot);
    }

    /// Charges the isolate's own buckets in place of those in Redis, all or none: their levels.
    pub(super) fn local(&self, question: &Question<'_>, now: Millis) -> Result<Vec<Level>, Vec<Level>> {
        let asked: Vec<_> = question.enforced().map(|(_, bucket, charge)| (bucket, charge)).collect();
        self.inner.borrow_mut().local.charge(&asked, now)
    }

    /// Whether Redis may be asked.
    pub(super) fn permit(&self, now: Millis) -> Permit {
        self.inner.borrow_mut().breaker.permit(now)
    }

    /// Whether Redis is left alone at the moment.
    pub(super) fn is_breaker_open(&self, now: Millis) -> bool {
        self.inner.borrow().breaker.is_open(now)
    }

    /// The sale, as Redis told it lately.
    pub(super) fn sale(&self, sku: &Sku, now: Millis) -> Option<Snapshot> {
        self.inner.borrow().sales.get(sku, now)
    }

    /// What those who only look are shown without asking, and the time by Redis' clock; see [`Sales::shown`].
    pub(super) fn shown(&self, sku: &Sku, now: Millis) -> Option<(Option<Snapshot>, Millis)> {
        let memory = self.inner.borrow();
        let shown = memory.sales.shown(sku, now)?;
        let at = shown.map(|sale| sale.at).unwrap_or_default();
        Some((shown, memory.offset.earliest(now).unwrap_or_default().max(at)))
    }

    /// Whether this caller is to bring a new snapshot of the sale.
    pub(super) fn begin_refresh(&self, sku: &Sku, now: Millis) -> bool {
        self.inner.borrow_mut().sales.begin_refresh(sku, now)
    }

    /// The latest that Redis' clock can show at `now`; zero before the first reply.
    pub(super) fn latest(&self, now: Millis) -> Millis {
        self.inner.borrow().offset.latest(now).unwrap_or_default()
    }

    /// An attempt at an operation begins, and is over by `until`.
    pub(super) fn begin(&self, op: Tag, fingerprint: Tag, until: Millis) {
        self.inner.borrow_mut().operations.begin(op, fingerprint, until);
    }

    /// The attempt ended without an answer that would be repeated.
    pub(super) fn forget(&self, op: &Tag) {
        self.inner.borrow_mut().operations.forget(op);
    }

    /// The operation has its final answer.
    pub(super) fn answered(&self, op: Tag, fingerprint: Tag, answer: String, now: Millis) {
        self.inner.borrow_mut().operations.answered(op, fingerprint, answer, now);
    }

    /// Nothing is left of a sale at Redis' time `at`.
    pub(super) fn sold_out(&self, sku: &Sku, at: Millis, now: Millis) {
        self.inner.borrow_mut().sales.sold_out(sku, at, now);
    }

    /// There is no such sale.
    pub(super) fn unknown(&self, sku: &Sku, now: Millis) {
        self.inner.borrow_mut().sales.learn_unknown(sku, now);
    }

    /// Learns from a call that was answered.
    pub(super) fn learn(&self, question: &Question<'_>, reply: &Reply, asked: Millis, heard: Millis) {
        let mut memory = self.inner.borrow_mut();
        memory.breaker.answered();
        memory.offset.learn(asked, heard, reply.now);
        match (question.sku, reply.sale) {
            (Some(sku), Some(sale)) => memory.sales.learn(sku, sale, asked),
            (Some(sku), None) if question.call.sale.is_some() && reply.verdict.has_read_sale() => {
                memory.sales.learn_absent(sku, heard);
            }
            _ => {}
        }
        match (&reply.verdict, question.operation()) {
            (Verdict::Limited { levels }, _) => {
                for ((_, bucket, charge), level) in question.enforced().zip(levels) {
                    if charge.wait(*level).is_some_and(|wait| wait > Micros(0)) {
                        memory.denied.learn(bucket.clone(), *level, reply.now, heard);
                    }
                }
            }
            (Verdict::Replay { answer }, Some((op, fingerprint))) => {
                memory.operations.answered(op, fingerprint, answer.clone(), heard);
            }
            _ => {}
        }
    }

    /// Learns from a call that failed. An error by which the database shows that it lives is no outage.
    pub(super) fn failed(&self, fault: &Fault, now: Millis) {
        let breaker = &mut self.inner.borrow_mut().breaker;
        match fault {
            Fault::Refused(_) => breaker.answered(),
            Fault::Unauthorized => breaker.failed_for_good(now),
            _ => breaker.failed(now),
        }
    }
}

fn terms(config: &Gate) -> Terms {
    Terms { failures: config.breaker.failures, open: config.breaker.open, probe: config.redis_deadline }
}

/// 200 at once, then 100 a second: enough for a sale's retries through one isolate, too few to hurt Redis.
fn repeats() -> Option<Quota> {
    Quota::parse(200, "100/s").ok()
}

impl Inner {
    /// The buckets that refused lately, and would still.
    fn denied(&self, question: &Question<'_>, now: Millis) -> Recalled {
        let Some(clock) = self.offset.earliest(now).zip(self.offset.latest(now)) else { return Recalled::Nothing };
        let mut refused = Vec::new();
        for (limit, bucket, charge) in question.enforced() {
            if let Some(level) = self.denied.refuses(bucket, charge, clock, now) {
                refused.push((limit.name.clone(), charge, level));
            }
        }
        if refused.is_empty() { Recalled::Nothing } else { Recalled::Refused(Refusal::limited(refused)) }
    }
}
