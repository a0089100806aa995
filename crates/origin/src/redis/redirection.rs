//! MOVED and ASK: a server's word that it has not run a command, and where the command belongs.

use ::redis::{ServerErrorKind, Value};

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// The same with a host, where this one has none: that of the server that named it.
    pub(super) fn or_at(self, asked: Self) -> Self {
        if self.host.is_empty() { Self { host: asked.host, ..self } } else { self }
    }
}

/// Where a command is to be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirection {
    /// The host is empty where the server does not know its own name: then it is the one that was asked.
    pub(super) to: Address,
    /// Only this time (ASK), and after ASKING.
    pub(super) guest: bool,
}

impl Redirection {
    /// Reads a reply; `None` for any other one.
    pub(super) fn of(reply: &Value) -> Option<Self> {
        let Value::ServerError(error) = reply else { return None };
        let guest = match error.kind()? {
            ServerErrorKind::Moved => false,
            ServerErrorKind::Ask => true,
            _ => return None,
        };
        // `3999 127.0.0.1:6381`
        let (host, port) = error.details()?.split_ascii_whitespace().nth(1)?.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { to: Address { host, port: port.parse().ok()? }, guest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Redirection> {
        Redirection::of(&::redis::parse_redis_value(line.as_bytes()).unwrap())
    }

    #[test]
    fn a_redirection_names_a_server_and_says_for_how_long() {
        let to = |host: &str, port| Address { host: host.to_owned(), port };
        let moved = read("-MOVED 3999 127.0.0.1:6381\r\n").unwrap();
        assert_eq!(moved, Redirection { to: to("127.0.0.1", 6381), guest: false });
        assert_eq!(read("-ASK 3999 :6381\r\n").unwrap(), Redirection { to: to("", 6381), guest: true });
        assert_eq!(read("-MOVED 3999 ::1:6381\r\n").unwrap().to, to("::1", 6381));
        assert_eq!(read("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"), None);
        assert_eq!(read("$2\r\nOK\r\n"), None);
    }
}
