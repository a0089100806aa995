//! The scripts, by the names of their files.

use std::sync::LazyLock;

/// A script that Redis knows by its SHA1 once it has seen it.
pub(crate) struct Script {
    source: &'static str,
    sha1: String,
}

impl Script {
    fn new(source: &'static str) -> Self {
        Self { source, sha1: redis::Script::new(source).get_hash().to_owned() }
    }

    pub(crate) fn source(&self) -> &str {
        self.source
    }

    pub(crate) fn sha1(&self) -> &str {
        &self.sha1
    }
}

macro_rules! scripts {
    ($($name:ident = [$($file:literal),+];)+) => {
        $(pub(crate) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(concat!($(include_str!(concat!("../../../lua/lock/", $file))),+)));)+
    };
}

scripts! {
    FENCED = ["fence.lua", "fenced.lua"];
    RAISE = ["raise.lua"];
    RELEASE = ["release.lua"];
    RENEW = ["renew.lua"];
    ENTER = ["fence.lua", "enter.lua"];
    LEAVE = ["leave.lua"];
    RENEW_LEVEL = ["renew_level.lua"];
    QUEUE = ["fence.lua", "queue.lua"];
    ABANDON = ["abandon.lua"];
}
