//! Where a command's keys are, by Redis' key specifications.

use bytes::Bytes;

use crate::request::Command;
use crate::resp::Tree;

/// Where the search for keys begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begin {
    /// At this argument; the command's name is 0.
    Index(usize),
    /// After a word, looked for from here on, or backwards from the end if negative.
    Keyword(Vec<u8>, i64),
    /// Redis does not say.
    Unknown,
}

/// How keys are found from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// Up to `last`, counted from the beginning, or from the end if negative.
    Range {
        /// The last key.
        last: i64,
        /// From one key to the next.
        step: usize,
        /// For -1: only the first part of what is left; 2 is a half.
        limit: usize,
    },
    /// As many as a number says.
    Count {
        /// Where the number is.
        number: usize,
        /// Where the first key is.
        first: usize,
        /// From one key to the next.
        step: usize,
    },
    /// Redis does not say.
    Unknown,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpec {
    /// Where to begin.
    pub begin: Begin,
    /// How to go on.
    pub find: Find,
}

/// A command's keys.
#[derive(Debug, PartialEq, Eq)]
pub struct Keys<'c> {
    /// Those that were found.
    pub keys: Vec<&'c Bytes>,
    /// Whether these are all.
    pub certain: bool,
}

/// Applies rules to a command.
pub(super) fn find<'c>(specs: &[KeySpec], command: &'c Command) -> Keys<'c> {
    let mut found = Keys { keys: Vec::new(), certain: true };
    for spec in specs {
        match positions(spec, command.parts()) {
            Some(positions) => found.keys.extend(positions.filter_map(|at| command.parts().get(at))),
            None => found.certain = false,
        }
    }
    found
}

type Positions = std::iter::StepBy<std::ops::Range<usize>>;

/// `None` if the rule does not say.
fn positions(spec: &KeySpec, parts: &[Bytes]) -> Option<Positions> {
    let none = (0..0).step_by(1);
    let begin = match &spec.begin {
        Begin::Index(index) => *index,
        Begin::Keyword(word, from) => match keyword(word, *from, parts) {
            Some(at) => at + 1,
            None => return Some(none),
        },
        Begin::Unknown => return None,
    };
    let (first, end, step) = match spec.find {
        Find::Range { last, step, limit } => {
            let left = parts.len().saturating_sub(begin);
            let after = usize::try_from(last.unsigned_abs()).ok()?;
            let end = match (last < 0, limit) {
                (false, _) => begin.saturating_add(after).saturating_add(1),
                (true, 0 | 1) => parts.len().saturating_sub(after.saturating_sub(1)),
                (true, limit) => begin + (left / limit).saturating_sub(after.saturating_sub(1)),
            };
            (begin, end, step)
        }
        Find::Count { number, first, step } => {
            let count: usize = parts
                .get(begin.saturating_add(number))
                .and_then(|digits| str::from_utf8(digits).ok()?.parse().ok())
                .unwrap_or_default();
            let first = begin.saturating_add(first);
            (first, first.saturating_add(count.saturating_mul(step.max(1))), step)
        }
        Find::Unknown => return None,
    };
    Some((first..end.min(parts.len())).step_by(step.max(1)))
}

fn keyword(word: &[u8], from: i64, parts: &[Bytes]) -> Option<usize> {
    let is = |at: &usize| parts.get(*at).is_some_and(|part| part.eq_ignore_ascii_case(word));
    let start = usize::try_from(from.unsigned_abs()).ok()?;
    match from < 0 {
        false => (start..parts.len()).find(is),
        true => (1..=parts.len().saturating_sub(start)).rev().find(is),
    }
}

/// Reads one specification of COMMAND's reply.
pub(super) fn read(spec: &Tree<'_>) -> KeySpec {
    let part = |name: &str| {
        let part = spec.named(name.as_bytes());
        let kind = part.and_then(|part| part.named(b"type")).map(Tree::text).unwrap_or_default();
        (kind, part.and_then(|part| part.named(b"spec")))
    };
    let number = |spec: Option<&Tree<'_>>, name: &str| {
        spec.and_then(|spec| spec.named(name.as_bytes())).and_then(Tree::integer).unwrap_or_default()
    };
    let size = |spec, name| usize::try_from(number(spec, name)).unwrap_or_default();
    let begin = match part("begin_search") {
        (b"index", spec) => Begin::Index(size(spec, "index")),
        (b"keyword", spec) => {
            let word = spec.and_then(|spec| spec.named(b"keyword")).map(Tree::text).unwrap_or_default();
            Begin::Keyword(word.to_vec(), number(spec, "startfrom"))
        }
        _ => Begin::Unknown,
    };
    let find = match part("find_keys") {
        (b"range", spec) => {
            let step = size(spec, "keystep");
            Find::Range { last: number(spec, "lastkey"), step, limit: size(spec, "limit") }
        }
        (b"keynum", spec) => {
            let (number, first) = (size(spec, "keynumidx"), size(spec, "firstkey"));
            Find::Count { number, first, step: size(spec, "keystep") }
        }
        _ => Find::Unknown,
    };
    KeySpec { begin, find }
}

/// What servers before Redis 7 tell: first, last and step, and whether that is all.
pub(super) fn before_7(flags: &[Vec<u8>], first: i64, last: i64, step: i64) -> Vec<KeySpec> {
    let mut specs = Vec::new();
    if let Ok(index @ 1..) = usize::try_from(first) {
        let last = if last < 0 { last } else { last - first };
        let find = Find::Range { last, step: usize::try_from(step).unwrap_or(1), limit: 0 };
        specs.push(KeySpec { begin: Begin::Index(index), find });
    }
    if flags.iter().any(|flag| flag == b"movablekeys") {
        specs.push(KeySpec { begin: Begin::Unknown, find: Find::Unknown });
    }
    specs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(specs: &[KeySpec], words: &str) -> Vec<String> {
        let parts = words.split(' ').map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
        let command = Command::new(parts).unwrap();
        find(specs, &command).keys.into_iter().map(|key| String::from_utf8(key.to_vec()).unwrap()).collect()
    }

    fn range(index: usize, last: i64, step: usize) -> [KeySpec; 1] {
        [KeySpec { begin: Begin::Index(index), find: Find::Range { last, step, limit: 0 } }]
    }

    #[test]
    fn ranges_counts_and_keywords() {
        assert_eq!(keys(&range(1, 0, 1), "SET a 1"), ["a"]);
        assert_eq!(keys(&range(1, -1, 2), "MSET a 1 b 2"), ["a", "b"]);
        assert_eq!(keys(&range(1, -2, 1), "BLPOP a b 0"), ["a", "b"]);
        let eval = [KeySpec { begin: Begin::Index(2), find: Find::Count { number: 0, first: 1, step: 1 } }];
        assert_eq!(keys(&eval, "EVAL s 2 a b c"), ["a", "b"]);
        assert_eq!(keys(&eval, "EVAL s 99999999999999999999 a"), [""; 0]);
        assert_eq!(keys(&eval, "EVAL s 18446744073709551615 a"), ["a"]);
        let find = Find::Range { last: -1, step: 1, limit: 2 };
        let streams = [KeySpec { begin: Begin::Keyword(b"STREAMS".to_vec(), 1), find }];
        assert_eq!(keys(&streams, "XREAD COUNT 1 streams a b 0 0"), ["a", "b"]);
        assert_eq!(keys(&streams, "XREAD COUNT 1"), [""; 0]);
    }

    #[test]
    fn what_redis_does_not_say_is_uncertain() {
        let specs = before_7(&[b"movablekeys".to_vec()], 1, 1, 1);
        let command = Command::new(vec![Bytes::from_static(b"SORT"), Bytes::from_static(b"k")]).unwrap();
        assert_eq!(find(&specs, &command), Keys { keys: vec![&command.parts()[1]], certain: false });
    }
}
