//! The HTTP contract as values, shared by the edge and the origin.

pub mod answer;
pub mod code;
pub mod json;
pub mod order;
pub mod problem;
pub mod ratelimit;
pub mod response;

/// The request header that carries an order token.
pub const ORDER_TOKEN: &str = "sluice-order-token";
/// The request header that carries the answer to a challenge.
pub const CHALLENGE: &str = "sluice-challenge";
/// Answer header of an origin: `final` or `passing`. Never reaches the client.
pub const OUTCOME: &str = "sluice-outcome";
/// Answer header of an origin that finished the claim itself: `1`. Never reaches the client.
pub const COMPLETED: &str = "sluice-completed";
/// Request header with a client's own key (draft-ietf-httpapi-idempotency-key-header).
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Answer header of a replay: `true`.
pub const REPLAYED: &str = "idempotency-replayed";
/// Request header of our client library: which attempt at one operation this is, from 1. Never forwarded.
pub const ATTEMPT: &str = "sluice-attempt";
/// Answer header of our origin: nothing at all is left of the sale, at this Redis time in ms. Never reaches the client.
pub const SOLD_OUT: &str = "sluice-sold-out";
