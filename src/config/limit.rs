//! Token buckets: what each is keyed by, how much it holds, and what a request costs.

use std::num::NonZeroU32;

use super::reader::{Faults, Place, Section};
use super::words::{key_word, quota};
use crate::model::{Cost, Quota};

/// One token bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name, in keys and in `RateLimit`.
    pub name: String,
    /// What it is keyed by; nothing: one bucket for all.
    pub key: Vec<KeyPart>,
    /// Burst and rate, of one shard.
    pub quota: Quota,
    /// What a request costs.
    pub cost: CostRule,
    /// Over how many buckets it is spread, of which each isolate uses one.
    pub shards: NonZeroU32,
    /// It is evaluated and charged, and refuses nothing.
    pub shadow: bool,
}

impl Limit {
    /// What a request for so many units costs.
    #[must_use]
    pub fn cost(&self, quantity: u32) -> Cost {
        match self.cost {
            CostRule::Fixed(cost) => cost,
            CostRule::Quantity => Cost(quantity),
        }
    }
}

/// What a request costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostRule {
    /// Always as much; at least 1, and never more than the burst.
    Fixed(Cost),
    /// The `quantity` in its body. One above the burst is refused for good.
    Quantity,
}

/// One part of what a bucket is keyed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// The verified user.
    User,
    /// The client address.
    Ip,
    /// The sale in the path.
    Sku,
    /// The route.
    Route,
}

pub(super) fn limit(section: &Section<'_>, faults: &Faults) -> Option<Limit> {
    let name = section.text("name", None).and_then(|(name, at)| key_word(faults, "name", name, &at));
    let key: Vec<Option<KeyPart>> = section.texts("key").iter().map(|(part, at)| key_part(faults, part, at)).collect();
    let burst = section.number("burst", 1..=u64::from(u32::MAX), None);
    let rate = section.text("rate", None);
    let shards = section.number("shards", 1..=1_024, Some(1));
    let shadow = section.flag("shadow", false);
    let cost = match section.peek("cost") {
        Some(_) => section.choice("cost", &[("quantity", CostRule::Quantity)], true),
        None => {
            let cost = section.number("cost", 1..=u64::from(u32::MAX), Some(1));
            cost.and_then(|cost| u32::try_from(cost).ok()).map(|cost| CostRule::Fixed(Cost(cost)))
        }
    };
    section.finish();
    let whole = quota(faults, burst?, rate?)?;
    let shards = NonZeroU32::new(u32::try_from(shards?).ok()?)?;
    let key: Vec<KeyPart> = key.into_iter().collect::<Option<_>>()?;
    if shards.get() > 1 && key.iter().any(|part| matches!(part, KeyPart::User | KeyPart::Ip)) {
        section.fault("`shards` is for limits of everybody together: `key` must not have \"user\" or \"ip\"");
        return None;
    }
    let Some(quota) = whole.share(shards) else {
        section.fault(format!("`burst` must be a multiple of `shards`, {shards}: each shard holds as much"));
        return None;
    };
    let cost = cost?;
    if matches!(cost, CostRule::Fixed(Cost(cost)) if cost > quota.burst()) {
        section.fault(format!("`cost` is above the burst of {}: nothing would ever pass", quota.burst()));
        return None;
    }
    Some(Limit { name: name?, key, quota, cost, shards, shadow: shadow? })
}

fn key_part(faults: &Faults, part: &str, at: &Place) -> Option<KeyPart> {
    match part {
        "user" => Some(KeyPart::User),
        "ip" => Some(KeyPart::Ip),
        "sku" => Some(KeyPart::Sku),
        "route" => Some(KeyPart::Route),
        _ => {
            faults.note(at, "`key` takes \"user\", \"ip\", \"sku\", \"route\", or a list of them");
            None
        }
    }
}
