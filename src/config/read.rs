//! gate.toml into a [`Gate`]: every value is read before any fault stops it.

use std::ops::Range;

use toml::de::DeTable;

use super::reader::{Fault, Faults, Section};
use super::{
    Action, BodyRule, Breaker, Claim, Gate, Identity, IpMissing, KeyPart, Limit, Log, OnAmbiguous, OnRedisDown,
    PARTITIONS, Pattern, Route, UserRule,
};
use crate::model::{Millis, Quota};

const DAY_MS: u64 = 86_400_000;

pub(super) fn gate(text: &str) -> Result<Gate, Vec<Fault>> {
    let faults = Faults::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        faults.note(&error.span().unwrap_or_default(), error.message());
    }
    if !errors.is_empty() {
        return faults.into_result(None);
    }
    let root = Section::new(&faults, "gate.toml", document.get_ref(), 0..0);
    let gate = read(&root, &faults);
    root.finish();
    faults.into_result(gate)
}

fn read(root: &Section<'_, '_>, faults: &Faults<'_>) -> Option<Gate> {
    let prefix = root.text("prefix", Some("sl1")).and_then(|(prefix, at)| key_word(faults, "prefix", prefix, &at));
    let partitions = root.number("partitions", (*PARTITIONS.start()).into()..=(*PARTITIONS.end()).into(), Some(1));
    let redis = root.section("redis");
    let redis_deadline = redis.number("deadline_ms", 10..=10_000, Some(400));
    redis.finish();
    let shed = root.section("shed");
    let snapshot = shed.number("snapshot_ms", 100..=10_000, Some(1_000));
    shed.finish();
    let breaker = breaker(&root.section("breaker"));
    let log = log(&root.section("log"), faults);
    let token = root.section("token");
    let token_lifetime = token.number("lifetime_s", 1..=86_400, Some(600));
    token.finish();
    let claim = claim(&root.section("claim"));
    let limit_sections = root.sections("limit");
    let limits: Vec<Option<Limit>> = limit_sections.iter().map(|s| limit(s, faults)).collect();
    // A limit with a fault of its own is still known by its name: one mistake is told once.
    let names: Vec<Option<&str>> = limit_sections.iter().map(|s| s.peek("name")).collect();
    let find = |name: &str, at: &Range<usize>| {
        let found = names.iter().position(|known| *known == Some(name));
        if found.is_none() {
            faults.note(at, format!("there is no [[limit]] named \"{name}\""));
        }
        found
    };
    let identity = identity(&root.section("identity"), faults, &find);
    let sections = root.sections("route");
    let routes: Vec<Option<Route>> = sections.iter().map(|s| route(s, faults, &find, &limits)).collect();
    for (section, route) in sections.iter().zip(&routes) {
        let (Some(route), Some(claim)) = (route, &claim) else { continue };
        if route.order_token && route.origin_deadline >= claim.lease {
            section.fault(
                "`origin_deadline_ms` must be shorter than the claim's `lease_ms`: others would take over too early",
            );
        }
    }
    repeated(&sections, routes.iter().map(|r| r.as_ref().map(|r| r.name.as_str())));
    repeated(&limit_sections, names.iter().copied());
    Some(Gate {
        prefix: prefix?,
        partitions: u16::try_from(partitions?).ok()?,
        redis_deadline: Millis(redis_deadline?),
        snapshot: Millis(snapshot?),
        breaker: breaker?,
        log: log?,
        identity: identity?,
        token_lifetime: Millis::from_secs(token_lifetime?),
        claim: claim?,
        limits: limits.into_iter().collect::<Option<_>>()?,
        routes: routes.into_iter().collect::<Option<_>>()?,
    })
}

fn identity(
    section: &Section<'_, '_>,
    faults: &Faults<'_>,
    find: &dyn Fn(&str, &Range<usize>) -> Option<usize>,
) -> Option<Identity> {
    let header = section.text("ip_header", Some("cf-connecting-ip")).and_then(|(name, at)| {
        let fine = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        fine.then_some(name).or_else(|| {
            faults.note(&at, "`ip_header` must be a header name in lower case");
            None
        })
    });
    let missing = section.choice("ip_missing", &[("refuse", false), ("shared", true)], false);
    let shared = section.text("ip_missing_limit", Some(""));
    let ip_missing = match (missing?, shared?) {
        (false, (name, _)) if name.is_empty() => Some(IpMissing::Refuse),
        (true, (name, _)) if name.is_empty() => {
            section.fault("`ip_missing = \"shared\"` needs `ip_missing_limit`, the name of a [[limit]]");
            None
        }
        (true, (name, at)) => find(&name, &at).map(IpMissing::Shared),
        (false, (_, at)) => {
            faults.note(&at, "`ip_missing_limit` has no use unless `ip_missing = \"shared\"`");
            None
        }
    };
    let issuer = section.text("issuer", None);
    let audience = section.text("audience", None);
    let leeway = section.number("leeway_s", 0..=300, Some(5));
    section.finish();
    Some(Identity {
        ip_header: header?,
        ip_missing: ip_missing?,
        issuer: issuer?.0,
        audience: audience?.0,
        leeway: Millis::from_secs(leeway?),
    })
}

fn breaker(section: &Section<'_, '_>) -> Option<Breaker> {
    let failures = section.number("failures", 1..=1_000, Some(5));
    let open = section.number("open_ms", 100..=600_000, Some(10_000));
    section.finish();
    Some(Breaker { failures: u32::try_from(failures?).ok()?, open: Millis(open?) })
}

fn log(section: &Section<'_, '_>, faults: &Faults<'_>) -> Option<Log> {
    let passed_one_in = section.number("passed_one_in", 0..=1_000_000, Some(100));
    let burst = section.number("refusals_burst", 1..=10_000, Some(50));
    let rate = section.text("refusals_rate", Some("10/s"));
    section.finish();
    let refusals = quota(faults, burst?, rate?)?;
    Some(Log { passed_one_in: passed_one_in?, refusals })
}

fn quota(faults: &Faults<'_>, burst: u64, (rate, at): (String, Range<usize>)) -> Option<Quota> {
    match Quota::parse(u32::try_from(burst).ok()?, &rate) {
        Ok(quota) => Some(quota),
        Err(fault) => {
            faults.note(&at, fault.to_string());
            None
        }
    }
}

fn claim(section: &Section<'_, '_>) -> Option<Claim> {
    let lease = section.number("lease_ms", 1_000..=600_000, Some(30_000));
    let retention = section.number("retention_ms", 60_000..=30 * DAY_MS, Some(DAY_MS));
    section.finish();
    Some(Claim { lease: Millis(lease?), retention: Millis(retention?) })
}

fn limit(section: &Section<'_, '_>, faults: &Faults<'_>) -> Option<Limit> {
    let name = section.text("name", None).and_then(|(name, at)| key_word(faults, "name", name, &at));
    let key: Vec<Option<KeyPart>> = section.texts("key").iter().map(|(part, at)| key_part(faults, part, at)).collect();
    let burst = section.number("burst", 1..=u64::from(u32::MAX), None);
    let rate = section.text("rate", None);
    section.finish();
    let quota = quota(faults, burst?, rate?)?;
    Some(Limit { name: name?, key: key.into_iter().collect::<Option<_>>()?, quota })
}

fn route(
    section: &Section<'_, '_>,
    faults: &Faults<'_>,
    find: &dyn Fn(&str, &Range<usize>) -> Option<usize>,
    limits: &[Option<Limit>],
) -> Option<Route> {
    let name = section.text("name", None).and_then(|(name, at)| key_word(faults, "name", name, &at));
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"].map(|m| (m, m));
    let method = section.choice("method", &methods, true);
    let path = section.text("path", None).and_then(|(text, at)| path(faults, &text, &at));
    let actions = [("forward", Action::Forward), ("issue-token", Action::IssueToken)];
    let action = section.choice("action", &actions, false);
    let user = section.choice("user", &[("required", UserRule::Required), ("optional", UserRule::Optional)], false);
    let order_token = section.choice("order_token", &[("none", false), ("required", true)], false);
    let body = section.choice("body", &[("any", BodyRule::Any), ("order", BodyRule::Order)], false);
    let body_limit = section.number("body_limit", 0..=1_048_576, Some(65_536));
    let named: Vec<Option<usize>> = section.texts("limits").iter().map(|(name, at)| find(name, at)).collect();
    let down = [("closed", OnRedisDown::Closed), ("open", OnRedisDown::Open)];
    let on_redis_down = section.choice("on_redis_down", &down, false);
    let ambiguous = [("hold", OnAmbiguous::Hold), ("retry", OnAmbiguous::Retry)];
    let on_ambiguous = section.choice("on_ambiguous", &ambiguous, false);
    let origin_deadline = section.number("origin_deadline_ms", 100..=25_000, Some(5_000));
    section.finish();
    let route = Route {
        name: name?,
        method: method?.to_owned(),
        path: path?,
        action: action?,
        user: user?,
        order_token: order_token?,
        body: body?,
        body_limit: usize::try_from(body_limit?).ok()?,
        limits: named.into_iter().collect::<Option<_>>()?,
        on_redis_down: on_redis_down?,
        on_ambiguous: on_ambiguous?,
        origin_deadline: Millis(origin_deadline?),
    };
    consistent(section, &route, limits).then_some(route)
}

/// What the single values cannot show.
fn consistent(section: &Section<'_, '_>, route: &Route, limits: &[Option<Limit>]) -> bool {
    let keyed_by =
        |part| route.limits.iter().any(|at| matches!(limits.get(*at), Some(Some(l)) if l.key.contains(&part)));
    let (user, sku) = (route.user == UserRule::Required, route.path.has_sku());
    let rules = [
        (route.order_token && !user, "`order_token = \"required\"` needs `user = \"required\"`"),
        (route.order_token && !sku, "`order_token = \"required\"` needs `{sku}` in the path"),
        (
            route.order_token && route.on_redis_down == OnRedisDown::Open,
            "a route with order tokens must be closed when Redis is down",
        ),
        (
            route.action == Action::IssueToken && !(user && sku),
            "`action = \"issue-token\"` needs `user = \"required\"` and `{sku}` in the path",
        ),
        (keyed_by(KeyPart::User) && !user, "a limit keyed by user needs `user = \"required\"`"),
        (keyed_by(KeyPart::Sku) && !sku, "a limit keyed by sku needs `{sku}` in the path"),
    ];
    for (broken, message) in rules {
        if broken {
            section.fault(message);
        }
    }
    !rules.iter().any(|(broken, _)| *broken)
}

fn path(faults: &Faults<'_>, text: &str, at: &Range<usize>) -> Option<Pattern> {
    match Pattern::parse(text) {
        None => faults.note(at, "`path` must be written as \"/v1/sales/{sku}/orders\": no empty segment, no wildcard"),
        Some(pattern) if pattern.starts_with("__gate") => faults.note(at, "`path` must not cover /__gate"),
        some => return some,
    }
    None
}

fn key_part(faults: &Faults<'_>, part: &str, at: &Range<usize>) -> Option<KeyPart> {
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

/// A word that may stand in a Redis key.
fn key_word(faults: &Faults<'_>, key: &str, word: String, at: &Range<usize>) -> Option<String> {
    let fine = (1..=32).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !fine {
        faults.note(at, format!("`{key}` must be 1 to 32 of a-z, 0-9 and -"));
    }
    fine.then_some(word)
}

fn repeated<'n>(sections: &[Section<'_, '_>], names: impl Iterator<Item = Option<&'n str>>) {
    let mut seen = Vec::new();
    for (section, name) in sections.iter().zip(names) {
        if let Some(name) = name {
            if seen.contains(&name) {
                section.fault(format!("the name \"{name}\" stands twice"));
            }
            seen.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "[identity]\nissuer = \"shop\"\naudience = \"sluice\"\n";

    fn faults(text: &str) -> Vec<(usize, String)> {
        gate(text).unwrap_err().into_iter().map(|fault| (fault.line, fault.message)).collect()
    }

    #[test]
    fn the_gate_toml_of_this_repository_is_sound() {
        let gate = gate(include_str!("../../gate.toml")).unwrap();
        assert!(gate.routes.iter().any(|route| route.order_token));
    }

    #[test]
    fn every_fault_is_told_with_its_line() {
        let text = format!("{SMALL}[[limit]]\nname = \"user\"\nkey = \"usr\"\nburst = 0\nrate = \"0/s\"\ncolour = 1\n");
        let found = faults(&text);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [6, 7, 9]);
        assert!(found[0].1.contains("`key` takes"), "{found:?}");
    }

    #[test]
    fn r_apisix_pr13704_a_limit_that_is_no_limit_is_refused() {
        for (burst, rate) in
            [("\"abc\"", "1/s"), ("-1", "1/s"), ("1e9", "1/s"), ("1.5", "1/s"), ("1", "0/s"), ("1", "x")]
        {
            let text = format!("{SMALL}[[limit]]\nname = \"l\"\nkey = \"ip\"\nburst = {burst}\nrate = \"{rate}\"\n");
            assert_eq!(faults(&text).len(), 1, "{burst} {rate}");
        }
    }

    #[test]
    fn one_mistake_is_told_once() {
        let text = include_str!("../../gate.toml").replacen("rate = \"2/s\"", "rate = \"0/s\"", 1);
        assert_eq!(faults(&text).len(), 1);
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        assert_eq!(faults("prefix = \"sl1\"\npartitions = = 2\n")[0].0, 2);
    }

    #[test]
    fn a_route_must_have_what_its_policy_needs() {
        let text = format!(
            "{SMALL}[[route]]\nname = \"r\"\nmethod = \"POST\"\npath = \"/orders\"\norder_token = \"required\"\nlimits = [\"none\"]\n"
        );
        assert!(faults(&text).iter().any(|(_, m)| m.contains("no [[limit]] named")));
        let text = text.replace("limits = [\"none\"]\n", "");
        assert!(faults(&text).iter().any(|(line, m)| *line == 4 && m.contains("needs `{sku}`")));
    }

    #[test]
    fn an_attempt_must_end_before_its_lease_does() {
        let text = include_str!("../../gate.toml").replace("lease_ms = 30000", "lease_ms = 5000");
        assert!(faults(&text).iter().any(|(_, m)| m.contains("shorter than the claim's")));
    }

    #[test]
    fn a_pattern_cannot_shadow_the_gates_own_paths() {
        for path in ["/__gate/config", "/{any}/config"] {
            let text = format!("{SMALL}[[route]]\nname = \"r\"\nmethod = \"GET\"\npath = \"{path}\"\n");
            assert!(faults(&text).iter().any(|(_, m)| m.contains("/__gate")), "{path}");
        }
    }
}
