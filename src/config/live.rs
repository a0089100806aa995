//! What a document may change while isolates run, and what only a deployment may.

use super::Gate;
use super::reader::{Fault, Place};

impl Gate {
    /// What is wrong with `next` as a replacement for this one. Keys and partitions say where everything lies in Redis;
    /// who vouches for a user is as much a secret as the keys that go with it. `partitions` is not compared when the
    /// deployment has set it.
    #[must_use]
    pub fn refuses(&self, next: &Self, partitions_are_set: bool) -> Vec<Fault> {
        // The position of the shared limit follows the list of limits, which may change.
        let ip_missing = self.identity.ip_missing;
        let identity = super::Identity { ip_missing, ..next.identity.clone() };
        let rules = [
            ("prefix", self.prefix != next.prefix),
            ("partitions", !partitions_are_set && self.partitions != next.partitions),
            ("identity", self.identity != identity),
        ];
        let broken = rules.into_iter().filter(|(_, broken)| *broken);
        let fault = |key: &str| Fault {
            place: Place { line: 0, path: key.to_owned() },
            message: format!("`{key}` cannot change while the gate runs: deploy it"),
        };
        broken.map(|(key, _)| fault(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(from: &str, to: &str) -> Vec<String> {
        let text = include_str!("../../gate.toml");
        let (old, new) = (Gate::parse(text).unwrap(), Gate::parse(&text.replacen(from, to, 1)).unwrap());
        assert_ne!(old, new, "{from}");
        old.refuses(&new, false).into_iter().map(|fault| fault.place.path).collect()
    }

    #[test]
    fn limits_and_routes_may_change_and_what_lies_in_redis_may_not() {
        assert_eq!(refused("rate = \"2/s\"", "rate = \"4/s\""), [""; 0]);
        assert_eq!(refused("path = \"/v1/orders/{id}\"", "path = \"/v2/orders/{id}\""), [""; 0]);
        assert_eq!(refused("[[limit]]", "[[limit]]\nname=\"new\"\nkey=[]\nburst=1\nrate=\"1/s\"\n[[limit]]"), [""; 0]);
        assert_eq!(refused("prefix = \"sl1\"", "prefix = \"sl2\""), ["prefix"]);
        assert_eq!(refused("partitions = 1", "partitions = 2"), ["partitions"]);
        assert_eq!(refused("issuer = \"https://shop.example\"", "issuer = \"https://evil.example\""), ["identity"]);
    }

    #[test]
    fn partitions_that_the_deployment_has_set_are_not_the_documents_to_say() {
        let old = Gate::parse(include_str!("../../gate.toml")).unwrap();
        let new = Gate { partitions: 2, ..old.clone() };
        assert!(old.refuses(&new, true).is_empty());
    }
}
