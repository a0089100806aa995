//! Which headers cross the gate. Names are in lower case.

/// Hop-by-hop headers (RFC 9110 section 7.6.1) and those that the next hop sets by itself.
const HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
];

/// Headers by which an origin tells caches to keep an answer, whatever `Cache-Control` says.
const CACHES: &[&str] = &["cdn-cache-control", "cloudflare-cdn-cache-control", "surrogate-control", "x-accel-expires"];

/// What would let a client say who it is or speak for the gate, by the beginning of the name.
const SPOOFED: &[&str] = &["sluice-", "x-user-", "x-forwarded-"];

/// The same by the whole name. The second line would have an origin serve another path or method than was judged.
const SPOOFED_NAMES: &[&str] = &[
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "true-client-ip",
    "x-request-id",
    "idempotency-key",
    "accept-encoding",
    "x-original-url",
    "x-rewrite-url",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

/// Servers that hand headers to programs as variables make `-` and `_` the same, so they are the same here.
fn dashed(name: &str) -> String {
    name.replace('_', "-")
}

/// The client's headers that the origin may see.
pub fn towards_origin(headers: &[(String, String)]) -> Vec<(String, String)> {
    let named = connection(headers.iter().map(|(n, v)| (n.as_str(), v.as_str())));
    let crosses = |name: &str| {
        let name = dashed(name);
        !is_of_hop(&name, &named)
            && !SPOOFED.iter().any(|start| name.starts_with(start))
            && !SPOOFED_NAMES.contains(&name.as_str())
    };
    headers.iter().filter(|(name, _)| crosses(name)).cloned().collect()
}

/// Whether a header of the origin's answer may reach the client.
pub fn towards_client(name: &str, named_by_connection: &[String]) -> bool {
    let name = dashed(name);
    let ours = name.starts_with("sluice-") || CACHES.contains(&name.as_str());
    !ours && !is_of_hop(&name, named_by_connection)
}

fn is_of_hop(name: &str, named_by_connection: &[String]) -> bool {
    HOP.contains(&name) || named_by_connection.iter().any(|n| n == name)
}

/// The headers that `Connection` names as belonging to this hop.
pub fn connection<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let values = headers.filter(|(name, _)| *name == "connection").flat_map(|(_, value)| value.split(','));
    values.map(|name| dashed(&name.trim().to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossing(names: &[&str]) -> Vec<String> {
        let headers: Vec<_> = names.iter().map(|n| ((*n).to_owned(), "X-Hop, x_other".to_owned())).collect();
        towards_origin(&headers).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn r_nuxt_security_83_no_client_can_say_who_it_is() {
        let spoofed = [
            "x-forwarded-for",
            "x_forwarded_for",
            "x-forwarded_host",
            "x-user-id",
            "x_user_id",
            "sluice-assertion",
            "sluice_assertion",
            "sluice_anything",
            "forwarded",
            "x-real-ip",
            "x_real_ip",
            "true-client-ip",
            "x-client-ip",
            "idempotency_key",
            "x_request_id",
        ];
        assert_eq!(crossing(&spoofed), [] as [String; 0]);
    }

    #[test]
    fn no_header_names_another_path_or_method_than_the_one_judged() {
        assert!(
            crossing(&["x-original-url", "x_rewrite_url", "x-http-method-override", "x-method-override"]).is_empty()
        );
    }

    #[test]
    fn headers_of_one_hop_stay_there_in_either_spelling() {
        let sent = ["connection", "x-hop", "x_hop", "x-other", "te", "transfer_encoding", "content_length", "accept"];
        assert_eq!(crossing(&sent), ["accept"]);
        let named = connection([("connection", "close, X-Hop")].into_iter());
        for name in ["sluice-outcome", "sluice_outcome", "transfer-encoding", "x-hop", "x_hop", "connection"] {
            assert!(!towards_client(name, &named), "{name}");
        }
        assert!(towards_client("set-cookie", &named) && towards_client("location", &named));
    }
}
