//! Which master serves which key.

use std::collections::HashMap;

use crc::{CRC_16_XMODEM, Crc};

use crate::config::Address;
use crate::resp::Tree;

/// How many slots a cluster has.
pub(super) const SLOTS: u16 = 16384;

const CRC: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// A key's slot: only what is between the first `{` and the next `}` counts, unless that is empty.
pub(super) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    CRC.checksum(tag.unwrap_or(key)) % SLOTS
}

/// The slots and their masters, as one node saw them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    masters: Vec<Address>,
    /// For each slot, one more than the index of its master; 0 for a slot that nobody serves.
    of_slot: Vec<u16>,
}

impl Slots {
    /// Reads CLUSTER SLOTS. A node that does not know its own name gives an empty one: it is where we asked.
    pub(super) fn read(reply: &[u8], asked: &Address) -> Option<Self> {
        let tree = Tree::read(&mut &*reply)?;
        let mut slots = Self { masters: Vec::new(), of_slot: vec![0; usize::from(SLOTS)] };
        let mut known = HashMap::new();
        for range in tree.items() {
            let [first, last, master, ..] = range.items() else { return None };
            let address = address(master, asked)?;
            let index = *known.entry(address.clone()).or_insert_with(|| {
                slots.masters.push(address);
                u16::try_from(slots.masters.len()).unwrap_or_default()
            });
            let range = usize::try_from(first.integer()?).ok()?..=usize::try_from(last.integer()?).ok()?;
            slots.of_slot.get_mut(range)?.fill(index);
        }
        (!slots.masters.is_empty()).then_some(slots)
    }

    /// The master of a slot.
    pub(super) fn master(&self, slot: u16) -> Option<&Address> {
        let index = usize::from(*self.of_slot.get(usize::from(slot))?);
        self.masters.get(index.checked_sub(1)?)
    }

    /// All masters.
    pub(super) fn masters(&self) -> &[Address] {
        &self.masters
    }
}

fn address(node: &Tree<'_>, asked: &Address) -> Option<Address> {
    let [host, port, ..] = node.items() else { return None };
    moved_to(host.text(), host_port(port.text())?, asked)
}

fn host_port(port: &[u8]) -> Option<u16> {
    str::from_utf8(port).ok()?.parse().ok()
}

fn moved_to(host: &[u8], port: u16, asked: &Address) -> Option<Address> {
    match (host, asked) {
        (b"" | b"?", Address::Tcp(host, _)) => Some(Address::Tcp(host.clone(), port)),
        _ => Some(Address::Tcp(str::from_utf8(host).ok()?.to_owned(), port)),
    }
}

/// Where `MOVED 3999 127.0.0.1:6381` or `ASK …` points to.
pub(super) fn redirection(error: &[u8], asked: &Address) -> Option<Address> {
    let target = error.rsplit(|byte| *byte == b' ').next()?;
    let colon = target.iter().rposition(|byte| *byte == b':')?;
    let (host, port) = target.split_at_checked(colon)?;
    moved_to(host, host_port(port.get(1..)?)?, asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(port: u16) -> Address {
        Address::Tcp("127.0.0.1".into(), port)
    }

    #[test]
    fn slots_are_redis_own() {
        for (key, expected) in [("123456789", 12739), ("foo", 12182), ("{foo}bar", 12182), ("a{foo}{bar}", 12182)] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
        assert_eq!(slot(b"{}foo"), CRC.checksum(b"{}foo") % SLOTS);
    }

    #[test]
    fn ranges_find_their_master() {
        let reply = b"*2\r\n*3\r\n:0\r\n:8191\r\n*3\r\n$9\r\n127.0.0.1\r\n:7001\r\n$2\r\nid\r\n\
                      *3\r\n:8192\r\n:16382\r\n*3\r\n$0\r\n\r\n:7002\r\n$2\r\nid\r\n";
        let slots = Slots::read(reply, &tcp(7002)).unwrap();
        assert_eq!((slots.master(0), slots.master(8192)), (Some(&tcp(7001)), Some(&tcp(7002))));
        assert_eq!(slots.master(16383), None);
        assert_eq!(slots.masters(), [tcp(7001), tcp(7002)]);
        assert!(Slots::read(b"*0\r\n", &tcp(1)).is_none());
        assert!(Slots::read(b"-ERR no\r\n", &tcp(1)).is_none());
    }

    #[test]
    fn redirections_name_a_node() {
        assert_eq!(redirection(b"MOVED 3999 127.0.0.1:6381", &tcp(1)), Some(tcp(6381)));
        assert_eq!(redirection(b"ASK 3999 :6381", &tcp(1)), Some(tcp(6381)));
        assert_eq!(redirection(b"MOVED", &tcp(1)), None);
    }
}
