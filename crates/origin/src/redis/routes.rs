//! Which master has which partition, as one server of a cluster saw it.

use std::collections::HashMap;

use ::redis::{FromRedisValue as _, Value};
use sluice::model::Partition;

use super::redirection::Address;

/// The masters, and each partition's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Routes {
    masters: Vec<Address>,
    /// By partition; `None` where nobody serves its slot.
    of: Vec<Option<Address>>,
}

impl Routes {
    /// Reads CLUSTER SLOTS for partitions in these slots. A server that does not know its own name gives an empty one:
    /// it is where we asked. `None` where the reply holds no master.
    pub(super) fn read(reply: &Value, asked: &Address, slots: &[u16]) -> Option<Self> {
        let Value::Array(ranges) = reply else { return None };
        let mut routes = Self { masters: Vec::new(), of: vec![None; slots.len()] };
        for range in ranges {
            let Value::Array(range) = range else { return None };
            let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = range.as_slice() else { return None };
            let [host, Value::Int(port), ..] = master.as_slice() else { return None };
            let host = Option::<String>::from_redis_value(host.clone()).ok()?.unwrap_or_default();
            let host = if host.is_empty() || host == "?" { asked.host.clone() } else { host };
            let address = Address { host, port: u16::try_from(*port).ok()? };
            if !routes.masters.contains(&address) {
                routes.masters.push(address.clone());
            }
            for (slot, master) in slots.iter().zip(&mut routes.of) {
                if (*first..=*last).contains(&i64::from(*slot)) {
                    *master = Some(address.clone());
                }
            }
        }
        (!routes.masters.is_empty()).then_some(routes)
    }

    /// A partition's master.
    pub(super) fn master(&self, p: Partition) -> Option<&Address> {
        self.of.get(usize::from(p.0))?.as_ref()
    }

    /// All masters, also those without a partition.
    pub(super) fn masters(&self) -> &[Address] {
        &self.masters
    }

    /// Whether there is such a master.
    pub(super) fn is_master(&self, address: &Address) -> bool {
        self.masters.contains(address)
    }

    /// The masters that have a partition, and which.
    pub(super) fn serving(&self) -> HashMap<Address, Vec<Partition>> {
        let mut serving: HashMap<Address, Vec<Partition>> = HashMap::new();
        for (master, p) in self.of.iter().zip((0..).map(Partition)) {
            if let Some(master) = master {
                serving.entry(master.clone()).or_default().push(p);
            }
        }
        serving
    }

    /// The partitions that are elsewhere in `later`, and where they were.
    pub(super) fn moved(&self, later: &Self) -> Vec<(Partition, Address)> {
        let pairs = self.of.iter().zip(&later.of).zip((0..).map(Partition));
        pairs.filter(|((was, is), _)| was != is).filter_map(|((was, _), p)| Some((p, was.clone()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address { host: "127.0.0.1".to_owned(), port }
    }

    fn routes(line: &str, slots: &[u16]) -> Option<Routes> {
        Routes::read(&::redis::parse_redis_value(line.as_bytes()).unwrap(), &at(7002), slots)
    }

    const TWO: &str = "*2\r\n*3\r\n:0\r\n:8191\r\n*3\r\n$9\r\n127.0.0.1\r\n:7001\r\n$2\r\nid\r\n\
                       *3\r\n:8192\r\n:16000\r\n*3\r\n$-1\r\n:7002\r\n$2\r\nid\r\n";

    #[test]
    fn a_partition_is_where_its_slot_is() {
        let two = routes(TWO, &[0, 8192, 8191, 16383]).unwrap();
        let masters: Vec<_> = (0..5).map(|p| two.master(Partition(p)).cloned()).collect();
        assert_eq!(masters, [Some(at(7001)), Some(at(7002)), Some(at(7001)), None, None]);
        assert_eq!(two.masters(), [at(7001), at(7002)]);
        assert_eq!(two.serving()[&at(7001)], [Partition(0), Partition(2)]);
        assert!(routes("*0\r\n", &[0]).is_none());
        assert!(routes("+OK\r\n", &[0]).is_none());
    }

    #[test]
    fn what_has_moved_is_known_by_where_it_was() {
        let before = routes(TWO, &[0, 8192]).unwrap();
        let after = routes(&TWO.replace(":8191", ":9000").replace(":8192", ":9001"), &[0, 8192]).unwrap();
        assert_eq!(before.moved(&after), [(Partition(1), at(7002))]);
        assert_eq!(after.moved(&after), []);
    }
}
