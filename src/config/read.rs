//! The document into a [`Gate`]: every value is read before any fault stops it.

use super::front::cors;
use super::identity::{IpMissing, identity};
use super::limit::{CostRule, Limit, limit};
use super::lists::lists;
use super::reader::{Fault, Faults, Place, Section};
use super::route::{Action, OnRedisDown, Route, route};
use super::settings::{breaker, claim, log};
use super::token::issue;
use super::tree::Node;
use super::words::key_word;
use super::{Gate, PARTITIONS};
use crate::model::Millis;

pub(super) fn gate(document: &Node) -> Result<Gate, Vec<Fault>> {
    let faults = Faults::default();
    let root = Section::root(&faults, document);
    let gate = read(&root, &faults);
    root.finish();
    faults.into_result(gate)
}

fn read(root: &Section<'_>, faults: &Faults) -> Option<Gate> {
    let prefix = root.text("prefix", Some("sl1")).and_then(|(prefix, at)| key_word(faults, "prefix", prefix, &at));
    let partitions = root.number("partitions", (*PARTITIONS.start()).into()..=(*PARTITIONS.end()).into(), Some(1));
    let redis = root.section("redis");
    let redis_deadline = redis.number("deadline_ms", 10..=10_000, Some(400));
    redis.finish();
    let shed = root.section("shed");
    let snapshot = shed.number("snapshot_ms", 100..=10_000, Some(1_000));
    shed.finish();
    let live = root.section("live");
    let live_refresh = live.number("refresh_s", 1..=3_600, Some(10));
    live.finish();
    let breaker = breaker(&root.section("breaker"));
    let log = log(&root.section("log"), faults);
    let token = root.section("token");
    let token_lifetime = token.number("lifetime_s", 1..=86_400, Some(600));
    let stored_tokens = token.choice("kind", &[("signed", false), ("stored", true)], false);
    let issue = issue(&token, faults, token_lifetime);
    token.finish();
    let claim = claim(&root.section("claim"));
    let origin = root.section("origin");
    let in_flight = origin.number("in_flight", 0..=10_000, Some(256));
    origin.finish();
    let sale = root.section("sale");
    let few = sale.number("few", 1..=1_000_000, Some(20));
    sale.finish();
    let flood = root.section("flood");
    let flood_period = flood.number("period_s", 10..=60, Some(60)).filter(|seconds| {
        let fine = matches!(seconds, 10 | 60);
        if !fine {
            flood.fault("`period_s` must be 10 or 60, as the binding's own `period`");
        }
        fine
    });
    flood.finish();
    let cors = cors(&root.section("cors"), faults);
    let answers = root.section("answers");
    let server_timing = answers.choice("server_timing", &[("off", false), ("on", true)], false);
    answers.finish();
    let lists = lists(&root.section("lists"), faults);
    let limit_sections = root.sections("limit");
    let limits: Vec<Option<Limit>> = limit_sections.iter().map(|s| limit(s, faults)).collect();
    // A limit with a fault of its own is still known by its name: one mistake is told once.
    let names: Vec<Option<&str>> = limit_sections.iter().map(|s| s.peek("name")).collect();
    let find = |name: &str, at: &Place| {
        let found = names.iter().position(|known| *known == Some(name));
        if found.is_none() {
            faults.note(at, format!("there is no [[limit]] named \"{name}\""));
        }
        found
    };
    let identity = identity(&root.section("identity"), faults, &find);
    if let Some(IpMissing::Shared(at)) = identity.as_ref().map(|identity| identity.ip_missing)
        && let (Some(Some(limit)), Some(section)) = (limits.get(at), limit_sections.get(at))
        && limit.cost == CostRule::Quantity
    {
        section.fault("`ip_missing_limit` counts requests of every kind: its `cost` must be a number");
    }
    let sections = root.sections("route");
    let routes: Vec<Option<Route>> = sections.iter().map(|s| route(s, faults, &find, &limits)).collect();
    for (section, route) in sections.iter().zip(&routes) {
        let (Some(route), Some(claim)) = (route, &claim) else { continue };
        let issues = route.action == Action::IssueToken;
        if issues && stored_tokens == Some(true) && route.on_redis_down != OnRedisDown::Closed {
            section.fault("a route that issues stored tokens must be closed when Redis is down: it could store none");
        }
        let lease = route.lease().unwrap_or(claim.lease);
        if route.is_operation() && route.origin_deadline >= lease {
            section.fault(format!(
                "`origin_deadline_ms` must be shorter than the claim's lease, {lease} ms: others would take over too early"
            ));
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
        lists: lists?,
        in_flight: usize::try_from(in_flight?).ok()?,
        flood_period: Millis::from_secs(flood_period?),
        few: few?,
        cors: cors?,
        server_timing: server_timing?,
        live_refresh: Millis::from_secs(live_refresh?),
        token_lifetime: Millis::from_secs(token_lifetime?),
        stored_tokens: stored_tokens?,
        issue: issue?,
        claim: claim?,
        limits: limits.into_iter().collect::<Option<_>>()?,
        routes: routes.into_iter().collect::<Option<_>>()?,
    })
}

fn repeated<'n>(sections: &[Section<'_>], names: impl Iterator<Item = Option<&'n str>>) {
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
    use super::super::{DERIVED_LEASE, Idempotency};
    use super::*;
    use crate::model::{Cost, Quota};

    const SMALL: &str = "[identity]\nissuer = \"shop\"\naudience = \"sluice\"\n";

    fn faults(text: &str) -> Vec<(usize, String)> {
        Gate::parse(text).unwrap_err().into_iter().map(|fault| (fault.place.line, fault.message)).collect()
    }

    #[test]
    fn the_gate_toml_of_this_repository_is_sound() {
        let gate = Gate::parse(include_str!("../../gate.toml")).unwrap();
        assert!(gate.routes.iter().any(|route| route.is_operation()));
    }

    #[test]
    fn the_document_that_runs_is_the_one_that_was_checked() {
        let text = include_str!("../../gate.toml");
        let json = Gate::to_json(text).unwrap();
        assert_eq!(Gate::from_json(&json), Gate::parse(text));
        assert!(Gate::to_json("partitions = 0\n").is_err());
    }

    #[test]
    fn a_fault_in_json_is_told_with_its_path() {
        let json = Gate::to_json(include_str!("../../gate.toml")).unwrap();
        let bad = json.replacen("\"2/s\"", "\"0/s\"", 1).replacen("\"POST\"", "-1", 1);
        let faults = Gate::from_json(&bad).unwrap_err();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(told[0].starts_with("limit.0.rate: ") && told[1].starts_with("route.0.method: "), "{told:?}");
        assert_eq!(told.len(), 2, "{told:?}");
    }

    #[test]
    fn what_is_no_document_is_one_fault() {
        for bad in ["", "[]", "{", "{\"prefix\":\"a\",\"prefix\":\"b\"}", "7"] {
            assert!(!Gate::from_json(bad).unwrap_err().is_empty(), "{bad}");
        }
        let told = Gate::from_json("{\"redis\":[]}").unwrap_err();
        assert!(told.iter().any(|fault| fault.to_string().starts_with("redis: ")), "{told:?}");
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

    /// The one limit of a document, or the first fault with its line.
    fn limit_of(lines: &str) -> Result<Limit, (usize, String)> {
        let text = format!("{SMALL}[[limit]]\nname = \"l\"\nburst = 100\nrate = \"50/s\"\n{lines}\n");
        let first = |faults: Vec<Fault>| (faults[0].place.line, faults[0].message.clone());
        Gate::parse(&text).map(|gate| gate.limits[0].clone()).map_err(first)
    }

    #[test]
    fn r_rate_limiter_flexible_221_a_cost_is_a_whole_number_or_the_quantity() {
        assert_eq!(limit_of("").unwrap().cost(7), Cost(1));
        assert_eq!(limit_of("cost = 100").unwrap().cost(7), Cost(100));
        assert_eq!(limit_of("cost = \"quantity\"").unwrap().cost(7), Cost(7));
        for bad in ["1.5", "0", "-1", "\"1\"", "\"quantities\"", "true"] {
            let (line, message) = limit_of(&format!("cost = {bad}")).unwrap_err();
            assert!(line == 8 && message.contains("`cost` must be"), "{bad}: {line} {message}");
        }
        assert!(limit_of("cost = 101").unwrap_err().1.contains("above the burst"), "r_redis_pr15113");
    }

    #[test]
    fn a_limit_of_everybody_together_may_be_split_into_even_shards() {
        let limit = limit_of("shards = 4\nkey = \"route\"").unwrap();
        assert_eq!((limit.shards.get(), limit.quota), (4, Quota::parse(25, "50/4s").unwrap()));
        for (lines, message) in [
            ("shards = 3", "multiple of"),
            ("shards = 200", "multiple of"),
            ("shards = 0", "whole number"),
            ("shards = 2\nkey = \"user\"", "everybody together"),
            ("shards = 4\ncost = 26", "above the burst of 25"),
        ] {
            let (_, told) = limit_of(lines).unwrap_err();
            assert!(told.contains(message), "{lines}: {told}");
        }
    }

    #[test]
    fn stored_tokens_are_issued_only_while_redis_is_there() {
        let text = include_str!("../../gate.toml").replace("lifetime_s = 600", "kind = \"stored\"");
        assert!(Gate::parse(&text).unwrap().stored_tokens);
        let open = text.replace("action = \"issue-token\"", "action = \"issue-token\"\non_redis_down = \"open\"");
        assert!(faults(&open)[0].1.contains("it could store none"));
    }

    #[test]
    fn a_cost_by_quantity_needs_orders() {
        let text = include_str!("../../gate.toml");
        let order = text.replace("name = \"user\"\n", "name = \"user\"\ncost = \"quantity\"\n");
        assert!(Gate::parse(&order).is_ok(), "only the order route uses it");
        let reading = text.replace("name = \"read\"\n", "name = \"read\"\ncost = \"quantity\"\n");
        assert!(faults(&reading).iter().all(|(_, message)| message.contains("needs `body = \"order\"`")));
        let shared = text.replace("name = \"no-ip\"\n", "name = \"no-ip\"\ncost = \"quantity\"\n");
        assert!(faults(&shared)[0].1.contains("must be a number"));
    }

    #[test]
    fn one_mistake_is_told_once() {
        let text = include_str!("../../gate.toml").replacen("rate = \"2/s\"", "rate = \"0/s\"", 1);
        assert_eq!(faults(&text).len(), 1);
    }

    #[test]
    fn an_algorithm_with_public_keys_says_where_they_are() {
        let with = |more: &str| format!("{SMALL}{more}\n");
        assert_eq!(faults(&with("algorithm = \"ES256\""))[0].0, 1);
        assert_eq!(faults(&with("jwks_url = \"https://id.example/keys\""))[0].0, 4);
        assert_eq!(faults(&with("algorithm = \"none\""))[0].0, 4);
        assert_eq!(faults(&with("algorithm = \"RS256\"\njwks_url = \"http://id.example/keys\""))[0].0, 5);
        let fine = with("algorithm = \"EdDSA\"\njwks_url = \"https://id.example/keys\"\njwks_floor_s = 5");
        let identity = Gate::parse(&fine).unwrap().identity;
        assert_eq!(identity.algorithm.name(), "EdDSA");
        assert_eq!(identity.jwks.unwrap().floor, Millis(5_000));
    }

    #[test]
    fn a_token_is_not_over_before_its_time_to_buy_comes() {
        let with = |more: &str| format!("{SMALL}[token]\n{more}\n");
        let issue = Gate::parse(&with("opens_before_s = 300\njitter_ms = 2000")).unwrap().issue;
        assert_eq!((issue.opens_before, issue.jitter), (Some(Millis(300_000)), Millis(2_000)));
        assert_eq!(Gate::parse(&with("")).unwrap().issue, super::super::Issue::default());
        assert_eq!(faults(&with("lifetime_s = 2\njitter_ms = 2000"))[0].0, 4);
        assert_eq!(faults(&with("challenge_url = \"http://evil.example\""))[0].0, 5);
    }

    #[test]
    fn each_bad_entry_of_a_list_is_told_with_its_line() {
        let text = format!(
            "{SMALL}[lists]\ndeny_users = [\"42\", \"\"]\ndeny_ips = [\n\"10.0.0.0/8\",\n\"10.0.0.1/8\",\n]\nallow_ips = \"x\"\n"
        );
        let found = faults(&text);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [5, 8, 10], "{found:?}");
        assert!(found[1].1.contains("beyond those that are shared"), "{found:?}");
    }

    #[test]
    fn what_is_missing_in_the_whole_document_is_told_of_its_first_line() {
        assert_eq!(faults("").iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        assert_eq!(faults("prefix = \"sl1\"\npartitions = = 2\n")[0].0, 2);
    }

    #[test]
    fn a_route_must_have_what_its_policy_needs() {
        let text = format!(
            "{SMALL}[[route]]\nname = \"r\"\nmethod = \"POST\"\npath = \"/orders\"\nidempotency = \"order-token\"\nlimits = [\"none\"]\n"
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
    fn an_operation_needs_what_it_is_known_by_and_a_closed_route() {
        let route = |method: &str, lines: &str| {
            let head = format!("{SMALL}[[route]]\nname = \"r\"\nmethod = \"{method}\"\npath = \"/orders\"\n");
            Gate::parse(&format!("{head}{lines}\n")).map_err(|faults| faults[0].message.clone())
        };
        let derived = route("POST", "idempotency = \"derived\"\nderived_from = [\"a\", \"b\"]").unwrap();
        assert_eq!(derived.routes[0].idempotency, Idempotency::Derived(vec!["a".into(), "b".into()]));
        assert_eq!(derived.routes[0].lease(), Some(DERIVED_LEASE));
        for (method, lines, message) in [
            ("POST", "idempotency = \"required\"", "must be one of"),
            ("POST", "idempotency = \"client-key\"\nderived_from = \"a\"", "no use unless"),
            ("POST", "idempotency = \"client-key\"\non_redis_down = \"open\"", "must be closed"),
            ("GET", "idempotency = \"client-key\"", "change something"),
            ("POST", "idempotency = \"derived\"\norigin_deadline_ms = 10000", "shorter than"),
        ] {
            let found = route(method, lines);
            assert!(found.as_ref().is_err_and(|m| m.contains(message)), "{lines}: {found:?}");
        }
    }

    #[test]
    fn a_pattern_cannot_shadow_the_gates_own_paths() {
        for path in ["/__gate/config", "/{any}/config"] {
            let text = format!("{SMALL}[[route]]\nname = \"r\"\nmethod = \"GET\"\npath = \"{path}\"\n");
            assert!(faults(&text).iter().any(|(_, m)| m.contains("/__gate")), "{path}");
        }
    }
}
