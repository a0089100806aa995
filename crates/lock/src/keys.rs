//! The names of all keys. A lock's keys share a hash tag, so that a cluster keeps them together.

use crate::error::Invalid;

const LONGEST_PREFIX: usize = 64;
const LONGEST_NAME: usize = 256;

/// A prefix that keeps the locks of one system apart from all else in the same Redis.
#[derive(Debug, Clone)]
pub(crate) struct Keyspace {
    prefix: String,
    /// The hash tag of all locks; without it each lock's name is its own.
    tag: Option<String>,
}

/// The keys of one lock.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    /// What was asked for; shown in logs.
    pub(crate) name: String,
    /// The lock itself: a string, or a hash when it is reentrant.
    pub(crate) lock: String,
    /// The last number that was handed out.
    pub(crate) fence: String,
    /// The waiters of a fair lock, by ticket.
    pub(crate) queue: String,
    /// The same waiters, by the time at which they count as dead.
    pub(crate) alive: String,
}

impl Keyspace {
    pub(crate) fn new(prefix: &str) -> Result<Self, Invalid> {
        check("prefix", prefix, LONGEST_PREFIX, &['{', '}', '*', '?', '[', ']', '\\'])?;
        Ok(Self { prefix: prefix.to_owned(), tag: None })
    }

    /// The same with all keys in the slot of one hash tag.
    pub(crate) fn tagged(self, tag: &str) -> Result<Self, Invalid> {
        check("tag", tag, LONGEST_PREFIX, &['{', '}'])?;
        Ok(Self { tag: Some(tag.to_owned()), ..self })
    }

    pub(crate) fn keys(&self, name: &str) -> Result<Keys, Invalid> {
        check("name", name, LONGEST_NAME, &['{', '}'])?;
        let key = |kind: &str| match &self.tag {
            None => format!("{}:{kind}:{{{name}}}", self.prefix),
            Some(tag) => format!("{}:{kind}:{{{tag}}}:{name}", self.prefix),
        };
        Ok(Keys {
            name: name.to_owned(),
            lock: key("lock"),
            fence: key("fence"),
            queue: key("queue"),
            alive: key("alive"),
        })
    }

    /// What SCAN finds every lock by, and nothing else.
    pub(crate) fn pattern(&self) -> String {
        format!("{}:lock:{{*", self.prefix)
    }
}

fn check(what: &'static str, text: &str, longest: usize, refused: &[char]) -> Result<(), Invalid> {
    if text.is_empty() {
        return Err(Invalid::Empty(what));
    }
    if text.len() > longest {
        return Err(Invalid::TooLong { what, length: text.len(), longest });
    }
    match text.chars().find(|c| refused.contains(c) || c.is_control() || c.is_whitespace()) {
        Some(character) => Err(Invalid::Character { what, character }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_that_change_a_key_are_refused() {
        let space = Keyspace::new("shop").unwrap();
        assert_eq!(space.keys("").unwrap_err(), Invalid::Empty("name"));
        for bad in ["a{b", "a}b", "a b", "a\nb", "a\0b"] {
            assert!(matches!(space.keys(bad), Err(Invalid::Character { .. })), "{bad:?}");
        }
        let long = "x".repeat(257);
        assert_eq!(space.keys(&long).unwrap_err(), Invalid::TooLong { what: "name", length: 257, longest: 256 });
        for good in ["reconcile", "product:42", "抢购", "a*[x]?"] {
            assert_eq!(space.keys(good).unwrap().lock, format!("shop:lock:{{{good}}}"));
        }
        for bad in ["", "a*", "a b", "{a}"] {
            assert!(Keyspace::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn locks_of_one_tag_share_its_slot_and_are_distinct_from_those_without() {
        let space = Keyspace::new("shop").unwrap();
        let tagged = space.clone().tagged("p0").unwrap();
        assert_eq!(tagged.keys("a").unwrap().lock, "shop:lock:{p0}:a");
        assert_ne!(tagged.keys("a").unwrap().fence, space.keys("p0").unwrap().fence);
        assert_eq!(tagged.pattern(), space.pattern(), "a scan finds both");
        for bad in ["", "a}", "{", "a b"] {
            assert!(space.clone().tagged(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn keys_of_one_lock_are_distinct_and_share_a_slot() {
        let keys = Keyspace::new("shop").unwrap().keys("x").unwrap();
        let all = [keys.lock, keys.fence, keys.queue, keys.alive];
        assert!(all.iter().all(|key| key.ends_with(":{x}")));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 4);
    }
}
