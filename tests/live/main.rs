//! Tests against real services: redis-server, the bridge, workerd, the origin, SQL. Each starts its own.

mod bucket;
mod claim;
mod support;
