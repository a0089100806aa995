//! Routes: what each demands of a request, and what is done with one that passes.

use super::limit::{CostRule, KeyPart, Limit};
use super::pattern::Pattern;
use super::reader::{Faults, Place, Section};
use super::words::key_word;
use crate::model::Millis;

/// What one route demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its name, in logs and keys.
    pub name: String,
    /// Method, in upper case.
    pub method: String,
    /// Path.
    pub path: Pattern,
    /// What is done with a request that passes.
    pub action: Action,
    /// Whether a user must be known.
    pub user: UserRule,
    /// By what its requests are told to be the same operation, if they are operations at all.
    pub idempotency: Idempotency,
    /// What the body must be.
    pub body: BodyRule,
    /// Largest body, in bytes.
    pub body_limit: usize,
    /// Positions in [`Gate::limits`].
    pub limits: Vec<usize>,
    /// Its limits are all in shadow: they refuse nothing. Whatever else it demands stays demanded.
    pub shadow: bool,
    /// What happens when Redis is away.
    pub on_redis_down: OnRedisDown,
    /// What an ambiguous outcome leads to.
    pub on_ambiguous: OnAmbiguous,
    /// How long the origin may take.
    pub origin_deadline: Millis,
}

/// What is done with a request that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Issue an order token; the origin is not asked.
    IssueToken,
    /// Tell the sale's state from what the isolate knows; the origin is not asked.
    ShowSale,
    /// Forward it to the origin.
    Forward,
}

/// Whether a user must be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRule {
    /// 401 without a valid JWT.
    Required,
    /// A JWT that is sent must be valid; none is fine.
    Optional,
}

/// By what two requests are told to be attempts at one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idempotency {
    /// They are no operations: each is forwarded.
    None,
    /// By the order token, which every request must carry.
    OrderToken,
    /// By the client's `Idempotency-Key`, which every request must carry.
    ClientKey,
    /// By these members of the JSON body, or by the whole body when none is named; for [`DERIVED_LEASE`] only.
    Derived(Vec<String>),
}

/// Lease and retention of an operation whose key is derived: for so long the same contents are the same operation.
pub const DERIVED_LEASE: Millis = Millis(10_000);

/// What the body must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// Anything.
    Any,
    /// The JSON of an order.
    Order,
    /// Nothing: the path says it all. So the origin is vouched for that there is none.
    None,
}

/// What happens when Redis is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRedisDown {
    /// 503; the origin sees nothing.
    Closed,
    /// It passes without limits.
    Open,
    /// It passes as the isolate's own buckets, of the same shape, allow.
    Local,
}

/// What an ambiguous outcome leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAmbiguous {
    /// The origin dedupes by op id: the next attempt takes over and is forwarded.
    Retry,
    /// The next attempt is told `outcome_unknown`.
    Hold,
}

impl Route {
    /// Whether its requests are operations: forwarded at most once each.
    #[must_use]
    pub fn is_operation(&self) -> bool {
        self.idempotency != Idempotency::None
    }

    /// Whether bodies are sent on as they come, both ways. What is an operation is read whole, for its fingerprint.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.action == Action::Forward && self.body == BodyRule::Any && !self.is_operation()
    }

    /// How long one attempt keeps others out, and how long its answer is kept, where that is not as `[claim]` says.
    #[must_use]
    pub fn lease(&self) -> Option<Millis> {
        matches!(self.idempotency, Idempotency::Derived(_)).then_some(DERIVED_LEASE)
    }
}

pub(super) fn route(
    section: &Section<'_>,
    faults: &Faults,
    find: &dyn Fn(&str, &Place) -> Option<usize>,
    limits: &[Option<Limit>],
) -> Option<Route> {
    let name = section.text("name", None).and_then(|(name, at)| key_word(faults, "name", name, &at));
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"].map(|m| (m, m));
    let method = section.choice("method", &methods, true);
    let path = section.text("path", None).and_then(|(text, at)| path(faults, &text, &at));
    let actions = [("forward", Action::Forward), ("issue-token", Action::IssueToken), ("show-sale", Action::ShowSale)];
    let action = section.choice("action", &actions, false);
    let user = section.choice("user", &[("required", UserRule::Required), ("optional", UserRule::Optional)], false);
    let idempotency = idempotency(section, faults);
    let bodies = [("any", BodyRule::Any), ("order", BodyRule::Order), ("none", BodyRule::None)];
    let body = section.choice("body", &bodies, false);
    let body_limit = section.number("body_limit", 0..=1_048_576, Some(65_536));
    let body_limit = body_limit.map(|limit| if body == Some(BodyRule::None) { 0 } else { limit });
    let named: Vec<Option<usize>> = section.texts("limits").iter().map(|(name, at)| find(name, at)).collect();
    let shadow = section.flag("shadow", false);
    let down = [("closed", OnRedisDown::Closed), ("open", OnRedisDown::Open), ("local", OnRedisDown::Local)];
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
        idempotency: idempotency?,
        body: body?,
        body_limit: usize::try_from(body_limit?).ok()?,
        limits: named.into_iter().collect::<Option<_>>()?,
        shadow: shadow?,
        on_redis_down: on_redis_down?,
        on_ambiguous: on_ambiguous?,
        origin_deadline: Millis(origin_deadline?),
    };
    consistent(section, &route, limits).then_some(route)
}

fn idempotency(section: &Section<'_>, faults: &Faults) -> Option<Idempotency> {
    let modes = [("none", 'n'), ("order-token", 'o'), ("client-key", 'c'), ("derived", 'd')];
    let mode = section.choice("idempotency", &modes, false);
    let fields = section.texts("derived_from");
    match (mode?, fields.first()) {
        ('d', _) => Some(Idempotency::Derived(fields.into_iter().map(|(field, _)| field).collect())),
        (_, Some((_, at))) => {
            faults.note(at, "`derived_from` has no use unless `idempotency = \"derived\"`");
            None
        }
        ('o', None) => Some(Idempotency::OrderToken),
        ('c', None) => Some(Idempotency::ClientKey),
        (_, None) => Some(Idempotency::None),
    }
}

/// What the single values cannot show.
fn consistent(section: &Section<'_>, route: &Route, limits: &[Option<Limit>]) -> bool {
    let has = |what: &dyn Fn(&Limit) -> bool| {
        route.limits.iter().any(|at| limits.get(*at).and_then(Option::as_ref).is_some_and(what))
    };
    let keyed_by = |part| has(&|limit| limit.key.contains(&part));
    let by_quantity = has(&|limit| limit.cost == CostRule::Quantity);
    let (user, sku) = (route.user == UserRule::Required, route.path.has_sku());
    let token = route.idempotency == Idempotency::OrderToken;
    let rules = [
        (token && !user, "`idempotency = \"order-token\"` needs `user = \"required\"`"),
        (token && !sku, "`idempotency = \"order-token\"` needs `{sku}` in the path"),
        (
            route.is_operation() && route.on_redis_down != OnRedisDown::Closed,
            "a route with `idempotency` must be closed when Redis is down",
        ),
        (
            route.is_operation() && (route.action != Action::Forward || route.method == "GET"),
            "`idempotency` has a meaning only for requests that change something at the origin",
        ),
        (
            route.action == Action::IssueToken && !(user && sku),
            "`action = \"issue-token\"` needs `user = \"required\"` and `{sku}` in the path",
        ),
        (by_quantity && route.body != BodyRule::Order, "a limit with `cost = \"quantity\"` needs `body = \"order\"`"),
        (
            route.action == Action::ShowSale && !(route.method == "GET" && sku),
            "`action = \"show-sale\"` needs `method = \"GET\"` and `{sku}` in the path",
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

fn path(faults: &Faults, text: &str, at: &Place) -> Option<Pattern> {
    match Pattern::parse(text) {
        None => faults.note(at, "`path` must be written as \"/v1/sales/{sku}/orders\": no empty segment, no wildcard"),
        Some(pattern) if pattern.starts_with("__gate") => faults.note(at, "`path` must not cover /__gate"),
        some => return some,
    }
    None
}
