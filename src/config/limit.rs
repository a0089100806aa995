//! Token buckets: what each is keyed by, and how much it holds.

use super::reader::{Faults, Place, Section};
use super::words::{key_word, quota};
use crate::model::Quota;

/// One token bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name, in keys and in `RateLimit`.
    pub name: String,
    /// What it is keyed by; nothing: one bucket for all.
    pub key: Vec<KeyPart>,
    /// Burst and rate.
    pub quota: Quota,
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
    section.finish();
    let quota = quota(faults, burst?, rate?)?;
    Some(Limit { name: name?, key: key.into_iter().collect::<Option<_>>()?, quota })
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
