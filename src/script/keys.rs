//! Every Redis key name, built here and nowhere else.
//!
//! `{p<n>}` is the partition's hash tag, so all keys of one script share a cluster slot. SKUs and order ids are
//! checked types whose characters mean nothing in a key; everything else enters as a [`Tag`].

use crate::digest::Tag;
use crate::model::{OrderId, Partition, Sku};

/// CRC-16/XMODEM, the hash that Redis Cluster uses for its slots.
const CRC16: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_XMODEM);

/// How many slots a cluster has.
const SLOTS: u16 = 16_384;

/// Where keys live: the prefix with the layout's version, and over how many partitions sales are spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyspace {
    prefix: String,
    partitions: u16,
}

impl Default for Keyspace {
    fn default() -> Self {
        Self { prefix: "sl1".to_owned(), partitions: 1 }
    }
}

impl Keyspace {
    /// A key space under `prefix` with `partitions` (0 counts as 1) partitions.
    #[must_use]
    pub fn new(prefix: &str, partitions: u16) -> Self {
        Self { prefix: prefix.to_owned(), partitions: partitions.max(1) }
    }

    /// The layout version and prefix, as it enters every operation's hash.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// All partitions.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> + use<> {
        (0..self.partitions).map(Partition)
    }

    /// The partition of a sale's keys: `crc16(sku) % partitions`.
    #[must_use]
    pub fn partition_of(&self, sku: &Sku) -> Partition {
        Partition(CRC16.checksum(sku.as_str().as_bytes()) % self.partitions)
    }

    /// The slot of a Redis Cluster in which all keys of a partition are.
    #[must_use]
    pub fn slot(&self, Partition(n): Partition) -> u16 {
        CRC16.checksum(format!("p{n}").as_bytes()) % SLOTS
    }

    fn sale_key(&self, kind: &str, sku: &Sku) -> String {
        self.key(self.partition_of(sku), kind, sku.as_str())
    }

    fn key(&self, p: Partition, kind: &str, rest: &str) -> String {
        let mut key = self.bare(p, kind);
        key.reserve(rest.len() + 1);
        key.push(':');
        key.push_str(rest);
        key
    }

    fn bare(&self, Partition(n): Partition, kind: &str) -> String {
        format!("{}:{{p{n}}}:{kind}", self.prefix)
    }

    /// Hash of a sale's terms: `starts_at`, `ends_at` (ms), `paused`, `per_user`, `price`.
    #[must_use]
    pub fn sale(&self, sku: &Sku) -> String {
        self.sale_key("sale", sku)
    }

    /// What is left to sell, an integer.
    #[must_use]
    pub fn stock(&self, sku: &Sku) -> String {
        self.sale_key("stock", sku)
    }

    /// Hash from user to the list of `order id:quantity` they hold.
    #[must_use]
    pub fn buyers(&self, sku: &Sku) -> String {
        self.sale_key("buyers", sku)
    }

    /// Hash of what isolates have counted about a sale.
    #[must_use]
    pub fn counters(&self, sku: &Sku) -> String {
        self.sale_key("count", sku)
    }

    /// The order that an operation led to.
    #[must_use]
    pub fn request(&self, p: Partition, op_id: &str) -> String {
        self.key(p, "req", op_id)
    }

    /// Hash of an order: user, sku, quantity, state.
    #[must_use]
    pub fn order(&self, id: &OrderId) -> String {
        self.key(id.partition(), "order", id.as_str())
    }

    /// The stream of accepted orders.
    #[must_use]
    pub fn orders(&self, p: Partition) -> String {
        self.bare(p, "orders")
    }

    /// A product as the catalog tells it. The product's SKU chooses the partition, as a sale's does.
    #[must_use]
    pub fn product(&self, id: &Sku) -> String {
        self.sale_key("product", id)
    }

    /// The version of a product below which nothing is put into the catalog's cache.
    #[must_use]
    pub fn floor(&self, id: &Sku) -> String {
        self.sale_key("floor", id)
    }

    /// The channel on which changes of products are announced.
    #[must_use]
    pub fn product_news(&self) -> String {
        format!("{}:products", self.prefix)
    }

    /// Sorted set of orders by the time their payment runs out.
    #[must_use]
    pub fn due(&self, p: Partition) -> String {
        self.bare(p, "due")
    }

    /// Grows with every deduct; tells a Redis that was rolled back.
    #[must_use]
    pub fn seq(&self, p: Partition) -> String {
        self.bare(p, "seq")
    }

    /// Marker that a payment was recorded.
    #[must_use]
    pub fn paid(&self, p: Partition, payment: &Tag) -> String {
        self.key(p, "paid", payment.as_str())
    }

    /// Marker that one order's stock was given back.
    #[must_use]
    pub fn restored(&self, p: Partition, id: &str) -> String {
        self.key(p, "restored", id)
    }

    /// One bucket: the theoretical arrival time of limit `limit` for `subject`.
    #[must_use]
    pub fn bucket(&self, p: Partition, limit: &str, subject: &Tag) -> String {
        let mut key = self.key(p, "b", limit);
        key.push(':');
        key.push_str(subject.as_str());
        key
    }

    /// The claim of operation `op`.
    #[must_use]
    pub fn claim(&self, p: Partition, op: &Tag) -> String {
        self.key(p, "claim", op.as_str())
    }

    /// The same bucket's share of one shard, where the limit is split into shards.
    #[must_use]
    pub fn shard(&self, p: Partition, limit: &str, subject: &Tag, shard: u32) -> String {
        format!("{}:{shard}", self.bucket(p, limit, subject))
    }

    /// A stored order token, until it is consumed or ends. `id` is the token's own; the key holds its hash.
    #[must_use]
    pub fn token(&self, p: Partition, id: &Tag) -> String {
        self.key(p, "token", Tag::of(&[id.as_str().as_bytes()]).as_str())
    }

    /// The mark of a revoked user JWT. `jti` is the JWT's own; the key holds its hash.
    #[must_use]
    pub fn revoked(&self, p: Partition, jti: &str) -> String {
        self.key(p, "revoked", Tag::of(&[jti.as_bytes()]).as_str())
    }

    /// Whether a key that someone else names is a claim of partition `p`, and nothing else.
    #[must_use]
    pub fn is_claim(&self, p: Partition, key: &str) -> bool {
        key.strip_prefix(&self.bare(p, "claim")).is_some_and(|rest| rest.len() > 1 && rest.starts_with(':'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_sale_share_their_partitions_tag() {
        let keys = Keyspace::new("sl1", 16);
        let sku = Sku::parse("demo").unwrap();
        let p = keys.partition_of(&sku);
        let tag = format!("sl1:{{p{}}}:", p.0);
        for key in [
            keys.sale(&sku),
            keys.stock(&sku),
            keys.buyers(&sku),
            keys.orders(p),
            keys.seq(p),
            keys.claim(p, &Tag::of(&[])),
        ] {
            assert!(key.starts_with(&tag), "{key}");
        }
    }

    #[test]
    fn the_partition_is_the_clusters_crc16() {
        // `CLUSTER KEYSLOT foo` is 12182: CRC-16/XMODEM of "foo" modulo 16384.
        assert_eq!(CRC16.checksum(b"foo") % 16384, 12182);
        // `CLUSTER KEYSLOT sl1:{p0}:seq`, and of p15.
        let keys = Keyspace::new("sl1", 16);
        assert_eq!([0, 15].map(|n| keys.slot(Partition(n))), [15882, 2138]);
        assert_eq!(Keyspace::default().partition_of(&Sku::parse("any").unwrap()), Partition(0));
    }

    #[test]
    fn only_a_claim_of_the_partition_is_one() {
        let keys = Keyspace::new("sl1", 2);
        assert!(keys.is_claim(Partition(1), &keys.claim(Partition(1), &Tag::of(&[]))));
        for other in ["sl1:{p0}:claim:x", "sl1:{p1}:stock:x", "sl1:{p1}:claim:", "sl1:{p1}:claim", ""] {
            assert!(!keys.is_claim(Partition(1), other), "{other}");
        }
    }

    #[test]
    fn no_subject_can_address_another_key() {
        let keys = Keyspace::default();
        for subject in ["a*", "[x]", "a?", "{u}", ":", "\n", "\0", "🙂", &"x".repeat(10_000)] {
            let key = keys.bucket(Partition(0), "user", &Tag::of(&[subject.as_bytes()]));
            assert_eq!(key.len(), "sl1:{p0}:b:user:".len() + 22, "{subject:?}");
        }
    }
}
