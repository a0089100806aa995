//! Where a test plays: a gate with a Redis of its own, and what is stored in it.

use std::collections::BTreeMap;

use xtask::build::Variant;
use xtask::stack::{AppendFsync, Builder, Part, Stack};

use crate::foreign::Foreign;
use crate::http::Edge;
use crate::mode::{Redis, stack};
use crate::support::connect;

/// Key, value as Redis dumps it, and the time at which it expires.
pub type Contents = BTreeMap<String, (Vec<u8>, i64)>;

/// Redis, bridge and Worker, with a stand-in for the origin.
pub struct Scene {
    pub edge: Edge,
    pub origin: Foreign,
    pub stack: Stack,
}

impl Scene {
    /// With an origin that accepts every order.
    pub async fn start() -> Self {
        Self::of(Foreign::accepting().await).await
    }

    /// With a given origin.
    pub async fn of(origin: Foreign) -> Self {
        Self::built(builder(), origin).await
    }

    /// With an origin that accepts every order, and a given way to Redis.
    pub async fn over(variant: Variant) -> Self {
        Self::built(builder().variant(variant), Foreign::accepting().await).await
    }

    pub async fn built(builder: Builder, origin: Foreign) -> Self {
        let stack = builder.binding("ORIGIN_URL", origin.url()).start().await.unwrap();
        Self { edge: Edge::of(&stack), origin, stack }
    }

    pub fn redis(&self) -> Redis {
        connect(&self.stack)
    }

    /// Checks that a refused request left no trace: nothing new in Redis, nothing sent to the origin.
    #[track_caller]
    pub fn is_untouched(&self, about: &str) {
        assert_eq!(contents(&mut self.redis()), Contents::new(), "{about}");
        assert!(self.origin.seen().is_empty(), "{about}: the origin saw {:?}", self.origin.seen());
    }
}

/// All parts but the origin.
pub fn builder() -> Builder {
    stack().without(Part::Origin).appendfsync(AppendFsync::No)
}

/// Everything that Redis holds.
pub fn contents(redis: &mut Redis) -> Contents {
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(redis).unwrap();
    let mut read = |key: String| {
        let value = redis::cmd("DUMP").arg(&key).query(redis).unwrap();
        let expires = redis::cmd("PEXPIRETIME").arg(&key).query(redis).unwrap();
        (key, (value, expires))
    };
    keys.into_iter().map(&mut read).collect()
}

/// How often Redis ran a command since it started.
pub fn calls(redis: &mut Redis, command: &str) -> u64 {
    let info: String = redis::cmd("INFO").arg("commandstats").query(redis).unwrap();
    let lines = info.lines().filter_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    lines.map(|rest| rest.split(',').next().unwrap().parse::<u64>().unwrap()).sum()
}
