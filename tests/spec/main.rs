//! What must hold, without any service: the whole life of a request over stand-ins for Redis, origin and clock.

mod life;
mod outage;
mod stage;
