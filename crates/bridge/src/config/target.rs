//! The address of Redis: one server, a master found by sentinels, or a cluster.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use tokio_rustls::rustls::ClientConfig;

use super::ConfigError;
use super::tls::TlsFiles;

/// Where one server is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A host and a port.
    Tcp(String, u16),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// How many servers there are, and how the right one is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// One server.
    Single(Address),
    /// The master of this name, as these sentinels have it.
    Sentinel {
        /// Any of them is asked.
        sentinels: Vec<Address>,
        /// What the sentinels call it.
        master: String,
    },
    /// The masters of a cluster that these are part of.
    Cluster(Vec<Address>),
}

/// User, password and database.
#[derive(Clone, Default)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: u32,
}

/// An address of Redis with what is needed to enter. `Display` shows neither user nor password.
#[derive(Clone)]
pub struct Target {
    pub(crate) kind: Kind,
    pub(crate) login: Login,
    /// What to say to a sentinel, which has passwords of its own.
    pub(crate) sentinel_login: Login,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

impl Target {
    /// Reads an address such as `redis://user:password@host:port/0`.
    pub fn parse(url: &str, files: &TlsFiles) -> Result<Self, ConfigError> {
        let (scheme, rest) = url.split_once("://").ok_or(ConfigError::Redis("no scheme"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if let "unix" | "redis+unix" = scheme {
            return Self::unix(rest, query);
        }
        let (login, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (mut login, mut sentinel_login) = (self::login(login)?, Login::default());
        let (protocol, form) = scheme.split_once('+').unwrap_or((scheme, ""));
        let tls = match protocol {
            "redis" => None,
            "rediss" => Some(files.load()?),
            _ => return Err(ConfigError::Redis("unknown scheme")),
        };
        let kind = match form {
            "" => {
                login.database = database(path)?;
                Kind::Single(one(hosts)?)
            }
            "sentinel" => {
                let (master, path) = path.split_once('/').unwrap_or((path, ""));
                if master.is_empty() {
                    return Err(ConfigError::Redis("no name of a master after the sentinels"));
                }
                login.database = database(path)?;
                sentinel_login.user = named(query, "sentinel_user");
                sentinel_login.password = named(query, "sentinel_password");
                Kind::Sentinel { sentinels: addresses(hosts, SENTINEL_PORT)?, master: decode(master)? }
            }
            "cluster" if path.is_empty() => Kind::Cluster(addresses(hosts, PORT)?),
            "cluster" => return Err(ConfigError::Redis("a cluster has no numbered databases")),
            _ => return Err(ConfigError::Redis("unknown scheme")),
        };
        Ok(Self { kind, login, sentinel_login, tls })
    }

    fn unix(path: &str, query: &str) -> Result<Self, ConfigError> {
        if path.is_empty() {
            return Err(ConfigError::Redis("no path"));
        }
        let login = Login {
            user: named(query, "user"),
            password: named(query, "pass").or_else(|| named(query, "password")),
            database: database(&named(query, "db").unwrap_or_default())?,
        };
        let kind = Kind::Single(Address::Unix(PathBuf::from(decode(path)?)));
        Ok(Self { kind, login, sentinel_login: Login::default(), tls: None })
    }
}

fn login(text: &str) -> Result<Login, ConfigError> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    let part = |text: &str| if text.is_empty() { Ok(None) } else { decode(text).map(Some) };
    Ok(Login { user: part(user)?, password: part(password)?, database: 0 })
}

fn decode(text: &str) -> Result<String, ConfigError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| ConfigError::Redis("not UTF-8"))
}

fn database(path: &str) -> Result<u32, ConfigError> {
    match path {
        "" => Ok(0),
        digits => digits.parse().map_err(|_| ConfigError::Redis("the database is not a number")),
    }
}

fn named(query: &str, name: &str) -> Option<String> {
    let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    decode(pair).ok()
}

fn one(host: &str) -> Result<Address, ConfigError> {
    address(host, PORT)
}

fn addresses(hosts: &str, port: u16) -> Result<Vec<Address>, ConfigError> {
    hosts.split(',').map(|host| address(host, port)).collect()
}

/// `host`, `host:port`, `[::1]:port`.
fn address(text: &str, default: u16) -> Result<Address, ConfigError> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            (host, port.parse().map_err(|_| ConfigError::Redis("the port is not a number"))?)
        }
        _ => (text, default),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() {
        return Err(ConfigError::Redis("no host"));
    }
    Ok(Address::Tcp(host.to_owned(), port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |all: &[Address]| all.iter().map(Address::to_string).collect::<Vec<_>>().join(",");
        match &self.kind {
            Kind::Single(address) => write!(f, "{address}"),
            Kind::Sentinel { sentinels, master } => write!(f, "{master} by sentinels {}", list(sentinels)),
            Kind::Cluster(nodes) => write!(f, "cluster {}", list(nodes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(url, &TlsFiles::default()).unwrap()
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.into(), port)
    }

    #[test]
    fn every_form_is_understood() {
        assert_eq!(target("redis://h").kind, Kind::Single(tcp("h", 6379)));
        assert_eq!(target("redis://[::1]:7/3").kind, Kind::Single(tcp("::1", 7)));
        assert_eq!(target("redis://[::1]").kind, Kind::Single(tcp("::1", 6379)));
        assert_eq!(target("unix:///run/a%20b.sock?db=2").kind, Kind::Single(Address::Unix("/run/a b.sock".into())));
        let sentinels = vec![tcp("a", 1), tcp("b", 26379)];
        assert_eq!(
            target("redis+sentinel://:p@a:1,b/main/2").kind,
            Kind::Sentinel { sentinels, master: "main".into() }
        );
        assert_eq!(target("redis+cluster://a:1,b").kind, Kind::Cluster(vec![tcp("a", 1), tcp("b", 6379)]));
    }

    #[test]
    fn user_password_and_database_are_taken_apart() {
        let login = target("redis://us%40er:p%3Aw@h:1/5").login;
        assert_eq!((login.user.as_deref(), login.password.as_deref(), login.database), (Some("us@er"), Some("p:w"), 5));
        let login = target("redis://:pw@h").login;
        assert_eq!((login.user, login.password.as_deref()), (None, Some("pw")));
    }

    #[test]
    fn mistakes_are_refused() {
        for bad in [
            "",
            "h:1",
            "redis://",
            "redis://h:x",
            "redis://h/x",
            "redis+sentinel://a",
            "redis+cluster://a/1",
            "redis+x://a",
            "unix://",
            "http://h",
        ] {
            assert!(Target::parse(bad, &TlsFiles::default()).is_err(), "{bad}");
        }
    }
}
