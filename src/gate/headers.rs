//! Which headers cross the gate. Names are in lower case.

/// Hop-by-hop headers (RFC 9110 section 7.6.1) and those that the next hop sets by itself.
const HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
];

/// Headers that would let a client say who it is, or speak for the gate.
fn is_spoofable(name: &str) -> bool {
    let name: String = name.chars().map(|c| if c == '_' { '-' } else { c }).collect();
    ["sluice-", "x-user-", "x-forwarded-"].iter().any(|start| name.starts_with(start))
        || matches!(name.as_str(), "forwarded" | "x-real-ip" | "x-request-id" | "idempotency-key" | "accept-encoding")
}

/// The client's headers that the origin may see.
pub fn towards_origin(headers: &[(String, String)]) -> Vec<(String, String)> {
    let named = connection(headers.iter().map(|(n, v)| (n.as_str(), v.as_str())));
    let crosses = |name: &str| !HOP.contains(&name) && !named.iter().any(|n| n == name) && !is_spoofable(name);
    headers.iter().filter(|(name, _)| crosses(name)).cloned().collect()
}

/// Whether a header of the origin's answer may reach the client.
pub fn towards_client(name: &str, named_by_connection: &[String]) -> bool {
    !HOP.contains(&name) && !name.starts_with("sluice-") && !named_by_connection.iter().any(|n| n == name)
}

/// The headers that `Connection` names as belonging to this hop.
pub fn connection<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let values = headers.filter(|(name, _)| *name == "connection").flat_map(|(_, value)| value.split(','));
    values.map(|name| name.trim().to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossing(names: &[&str]) -> Vec<String> {
        let headers: Vec<_> = names.iter().map(|n| ((*n).to_owned(), "x-hop".to_owned())).collect();
        towards_origin(&headers).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn r_nuxt_security_83_no_client_can_say_who_it_is() {
        let spoofed = [
            "x-forwarded-for",
            "x_forwarded_for",
            "x-user-id",
            "x_user_id",
            "sluice-assertion",
            "sluice_assertion",
            "forwarded",
            "x-real-ip",
        ];
        assert!(crossing(&spoofed).is_empty());
    }

    #[test]
    fn headers_of_one_hop_stay_there() {
        assert_eq!(crossing(&["connection", "x-hop", "te", "accept"]), ["accept"]);
        assert!(!towards_client("sluice-outcome", &[]) && !towards_client("transfer-encoding", &[]));
        assert!(towards_client("set-cookie", &[]));
    }
}
