//! The flags of `cargo xtask dev`.

use crate::stack::Ports;
use clap::Args;

/// What `cargo xtask dev` may be told.
#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// Start with empty data: drop Redis' file and the SQL database of earlier runs.
    #[arg(long)]
    pub fresh: bool,
    /// Start everything on free ports and in a temporary folder, run the printed lines through `sh`, check their
    /// answers, stop everything. Does not disturb a running `dev`.
    #[arg(long, conflicts_with = "fresh")]
    pub check: bool,
    /// Port of the Worker [default: 8787].
    #[arg(long)]
    pub port: Option<u16>,
    /// Port of the origin [default: 8788].
    #[arg(long)]
    pub origin_port: Option<u16>,
    /// Port of the origin's listener for operators [default: 8789].
    #[arg(long)]
    pub admin_port: Option<u16>,
    /// Port of the bridge [default: 8790].
    #[arg(long)]
    pub bridge_port: Option<u16>,
    /// Port of redis-server [default: 6390].
    #[arg(long)]
    pub redis_port: Option<u16>,
}

/// One port: who listens, which flag moves it, its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) who: &'static str,
    pub(super) flag: &'static str,
    pub(super) port: u16,
}

impl Options {
    /// The ports that are used: those asked for, else the defaults; a check takes any that are free instead.
    #[must_use]
    pub fn ports(&self) -> Ports {
        let or = |asked: Option<u16>, default| asked.or((!self.check).then_some(default));
        Ports {
            redis: or(self.redis_port, 6390),
            bridge: or(self.bridge_port, 8790),
            origin: or(self.origin_port, 8788),
            admin: or(self.admin_port, 8789),
            worker: or(self.port, 8787),
        }
    }

    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let ports = self.ports();
        let all = [
            ("the Worker", "--port", ports.worker),
            ("the origin", "--origin-port", ports.origin),
            ("the origin's operators", "--admin-port", ports.admin),
            ("the bridge", "--bridge-port", ports.bridge),
            ("redis-server", "--redis-port", ports.redis),
        ];
        all.into_iter().filter_map(|(who, flag, port)| port.map(|port| Wanted { who, flag, port })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_takes_free_ports_unless_told_otherwise() {
        let dev = Options::default();
        assert_eq!(dev.ports().worker, Some(8787));
        let check = Options { check: true, redis_port: Some(7000), ..Options::default() };
        assert_eq!(check.ports().worker, None);
        assert_eq!(check.ports().redis, Some(7000));
        assert_eq!(check.wanted().len(), 1);
    }
}
