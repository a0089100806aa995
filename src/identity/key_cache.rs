//! The key set as one isolate holds it: when it is fetched, by whom, and what is known meanwhile.
//!
//! Time is a parameter, and a refresh is a lease with a deadline: a request that began one and was cancelled holds up
//! nobody for longer.

use std::rc::Rc;

use super::jwks::KeySet;
use crate::model::Millis;

/// An isolate that has no keys at all tries so soon again, where the floor is not even lower.
const RETRY: Millis = Millis(1_000);

/// When the set is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// A set of this age is fetched anew.
    pub refresh: Millis,
    /// The least time between two fetches. Above zero.
    pub floor: Millis,
    /// How long one fetch may take.
    pub deadline: Millis,
}

/// What an isolate knows of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// The key. With `refresh`, this caller is to fetch the set meanwhile.
    Found {
        /// As a JWK.
        jwk: Rc<str>,
        /// Whether this caller holds the lease.
        refresh: bool,
    },
    /// This caller is to fetch the set, then to look again.
    Fetch,
    /// Another request fetches it: look again in a moment.
    Wait,
    /// The set was fetched lately and has no such key.
    Unknown,
    /// The set could not be fetched; after this time someone may try again.
    Away(Millis),
}

/// The set of one source.
#[derive(Debug, Default)]
pub struct KeyCache {
    source: String,
    set: Option<KeySet>,
    /// When the set was fetched.
    fetched: Millis,
    /// When the last fetch began.
    begun: Option<Millis>,
    /// Until when the one who fetches has time.
    until: Millis,
    /// Whether the last fetch that ended brought nothing.
    failed: bool,
}

impl KeyCache {
    /// Looks for a key of `source`. Another source than before begins with nothing.
    pub fn look(&mut self, source: &str, kid: Option<&str>, times: Times, now: Millis) -> Look {
        if self.source != source {
            *self = Self { source: source.to_owned(), ..Self::default() };
        }
        let found = self.set.as_ref().and_then(|set| set.find(kid));
        let age = now.minus(self.fetched);
        // An isolate that rested may hold keys that were withdrawn long ago: it asks before it believes them.
        if let Some(jwk) = found
            && !(age >= times.refresh.plus(times.refresh) && self.may_begin(times, now))
        {
            return Look::Found { jwk, refresh: age >= times.refresh && self.begin(times, now) };
        }
        if self.begin(times, now) {
            Look::Fetch
        } else if now < self.until {
            Look::Wait
        } else if self.set.is_some() && !self.failed {
            Look::Unknown
        } else {
            Look::Away(self.next(times).minus(now))
        }
    }

    /// What a fetch from `source` brought; the keys that are there outlive a failure.
    pub fn learn(&mut self, source: &str, set: Option<KeySet>, now: Millis) {
        if self.source != source {
            return;
        }
        self.until = Millis(0);
        self.failed = set.is_none();
        if let Some(set) = set {
            self.set = Some(set);
            self.fetched = now;
        }
    }

    fn begin(&mut self, times: Times, now: Millis) -> bool {
        let begins = self.may_begin(times, now);
        if begins {
            self.begun = Some(now);
            self.until = now.plus(times.deadline);
            // Until it ends otherwise: one that is cancelled never says so.
            self.failed = true;
        }
        begins
    }

    fn may_begin(&self, times: Times, now: Millis) -> bool {
        now >= self.until && now >= self.next(times)
    }

    /// When the next fetch may begin.
    fn next(&self, times: Times) -> Millis {
        let pause = if self.set.is_none() { times.floor.min(RETRY) } else { times.floor };
        self.begun.map_or(Millis(0), |begun| begun.plus(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Algorithm;

    const TIMES: Times = Times { refresh: Millis(600_000), floor: Millis(30_000), deadline: Millis(2_000) };
    const URL: &str = "https://id.example/keys";

    fn set(kid: &str) -> Option<KeySet> {
        let x = "x".repeat(43);
        KeySet::parse(
            &format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"{kid}","x":"{x}"}}]}}"#),
            Algorithm::EdDsa,
        )
    }

    fn look(cache: &mut KeyCache, kid: &str, now: u64) -> Look {
        cache.look(URL, Some(kid), TIMES, Millis(now))
    }

    /// A cache that fetched key `a` at 1000.
    fn fetched() -> KeyCache {
        let mut cache = KeyCache::default();
        assert_eq!(look(&mut cache, "a", 1_000), Look::Fetch);
        cache.learn(URL, set("a"), Millis(1_000));
        cache
    }

    fn is_found(look: &Look, refresh: bool) -> bool {
        matches!(look, Look::Found { refresh: r, .. } if *r == refresh)
    }

    #[test]
    fn one_request_fetches_and_the_others_wait_for_no_longer_than_its_deadline() {
        let mut cache = KeyCache::default();
        assert_eq!(look(&mut cache, "a", 1_000), Look::Fetch);
        assert_eq!(look(&mut cache, "a", 2_999), Look::Wait);
        assert_eq!(look(&mut cache, "a", 3_000), Look::Fetch, "the first one was cancelled");
    }

    #[test]
    fn an_unknown_key_is_asked_for_once_within_the_floor() {
        let mut cache = fetched();
        assert!(is_found(&look(&mut cache, "a", 1_001), false));
        assert_eq!(look(&mut cache, "b", 30_999), Look::Unknown);
        assert_eq!(look(&mut cache, "b", 31_000), Look::Fetch);
        cache.learn(URL, set("b"), Millis(31_100));
        assert!(is_found(&look(&mut cache, "b", 31_100), false));
        assert_eq!(look(&mut cache, "a", 31_100), Look::Unknown, "withdrawn");
    }

    #[test]
    fn who_waits_for_a_fetch_waits_until_its_deadline_and_not_a_moment_longer() {
        let mut cache = fetched();
        assert_eq!(look(&mut cache, "b", 31_000), Look::Fetch);
        assert_eq!(look(&mut cache, "b", 32_999), Look::Wait);
        // It was cancelled, and the floor keeps another one back.
        assert_eq!(look(&mut cache, "b", 33_000), Look::Away(Millis(28_000)));
    }

    #[test]
    fn an_old_set_is_used_while_one_request_refreshes_it() {
        let mut cache = fetched();
        assert!(is_found(&look(&mut cache, "a", 600_999), false));
        assert!(is_found(&look(&mut cache, "a", 601_000), true));
        assert!(is_found(&look(&mut cache, "a", 601_000), false));
        cache.learn(URL, set("a"), Millis(601_500));
        assert!(is_found(&look(&mut cache, "a", 1_201_499), false));
    }

    #[test]
    fn an_isolate_that_rested_asks_before_it_believes_its_keys() {
        let mut cache = fetched();
        assert_eq!(look(&mut cache, "a", 1_201_000), Look::Fetch);
        cache.learn(URL, None, Millis(1_202_000));
        assert!(is_found(&look(&mut cache, "a", 1_202_000), false), "the keys outlive a failure");
    }

    #[test]
    fn after_a_failure_old_keys_hold_and_what_is_unknown_is_not_judged() {
        let mut cache = fetched();
        assert_eq!(look(&mut cache, "b", 40_000), Look::Fetch);
        cache.learn(URL, None, Millis(42_000));
        assert!(is_found(&look(&mut cache, "a", 42_000), false));
        assert_eq!(look(&mut cache, "b", 42_000), Look::Away(Millis(28_000)));
        assert_eq!(look(&mut cache, "b", 70_000), Look::Fetch);
    }

    #[test]
    fn without_any_keys_it_tries_again_soon() {
        let mut cache = KeyCache::default();
        assert_eq!(look(&mut cache, "a", 1_000), Look::Fetch);
        cache.learn(URL, None, Millis(1_100));
        assert_eq!(look(&mut cache, "a", 1_100), Look::Away(Millis(900)));
        assert_eq!(look(&mut cache, "a", 2_000), Look::Fetch);
    }

    #[test]
    fn another_source_begins_with_nothing() {
        let mut cache = fetched();
        assert_eq!(cache.look("https://other", Some("a"), TIMES, Millis(1_001)), Look::Fetch);
        cache.learn(URL, set("a"), Millis(1_002));
        assert_eq!(
            cache.look("https://other", Some("a"), TIMES, Millis(1_003)),
            Look::Wait,
            "a late answer of the first"
        );
    }
}
