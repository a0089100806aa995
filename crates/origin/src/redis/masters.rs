//! The servers of a cluster: how they are reached, and the connections to them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ::redis::{Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo as _, RedisError, Value};
use sluice::script::keys::Keyspace;

use super::RedisFault;
use super::node::{Node, open};
use super::redirection::Address;
use super::routes::Routes;

/// Known by their addresses.
pub(super) struct Masters {
    /// Whom to ask at first, and how to say who we are.
    seeds: Vec<ConnectionInfo>,
    /// Each partition's slot.
    slots: Vec<u16>,
    nodes: RwLock<HashMap<Address, Arc<Node>>>,
}

impl Masters {
    /// Reads `redis+cluster://[user:password@]host:port,host:port`; `None` for the address of a single server.
    pub(super) fn parse(url: &str, keys: &Keyspace) -> Result<Option<Self>, RedisError> {
        let Some((scheme, rest)) = url.split_once("+cluster://") else { return Ok(None) };
        let (login, hosts) = rest.rsplit_once('@').unwrap_or(("", rest));
        if hosts.contains('/') {
            return Err((ErrorKind::InvalidClientConfig, "a cluster has no numbered databases").into());
        }
        let at = if login.is_empty() { "" } else { "@" };
        let seed = |host: &str| format!("{scheme}://{login}{at}{host}").into_connection_info();
        let seeds = hosts.split(',').map(seed).collect::<Result<Vec<_>, RedisError>>()?;
        let slots = keys.partitions().map(|p| keys.slot(p)).collect();
        Ok(Some(Self { seeds, slots, nodes: RwLock::default() }))
    }

    /// Those that are named.
    pub(super) fn seeds(&self) -> impl Iterator<Item = Address> {
        self.seeds.iter().filter_map(|seed| match seed.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Some(Address { host: host.clone(), port: *port })
            }
            _ => None,
        })
    }

    /// The server at an address; nothing is opened yet.
    pub(super) fn node(&self, address: &Address) -> Result<Arc<Node>, RedisFault> {
        if let Some(node) = self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(address) {
            return Ok(Arc::clone(node));
        }
        let client = self.client(address).map_err(|error| RedisFault::Unsent(error.to_string()))?;
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(nodes.entry(address.clone()).or_insert_with(|| Arc::new(Node::new(client)))))
    }

    /// Asks one server which master has what, on a connection that ends with it.
    pub(super) async fn routes(&self, asked: &Address) -> Result<Routes, RedisError> {
        let mut connection = open(&self.client(asked)?).await?;
        let reply: Value = ::redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await?;
        let none = || (ErrorKind::UnexpectedReturnType, "CLUSTER SLOTS names no master").into();
        Routes::read(&reply, asked, &self.slots).ok_or_else(none)
    }

    /// Connections to servers that are no masters any more end with the last request on them, and a partition that has
    /// moved is looked at anew wherever it comes to.
    pub(super) async fn adopt(&self, before: Option<&Routes>, now: &Routes) {
        for (p, from) in before.map(|before| before.moved(now)).unwrap_or_default() {
            let from = self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(&from).cloned();
            if let Some(from) = from {
                from.forget(p).await;
            }
        }
        self.nodes.write().unwrap_or_else(PoisonError::into_inner).retain(|address, _| now.is_master(address));
    }

    /// A client of the server at an address, with the first seed's name and password.
    fn client(&self, Address { host, port }: &Address) -> Result<Client, RedisError> {
        let seed = self.seeds.first().ok_or((ErrorKind::InvalidClientConfig, "no server is named"))?;
        let addr = match seed.addr().clone() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host: host.clone(), port: *port, insecure, tls_params }
            }
            _ => ConnectionAddr::Tcp(host.clone(), *port),
        };
        Client::open(seed.clone().set_addr(addr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_cluster_names_servers_and_one_login() {
        let parse = |url: &str| Masters::parse(url, &Keyspace::new("sl1", 2));
        let masters = parse("redis+cluster://me:p%40ss@a:7001,b:7002").unwrap().unwrap();
        let seeds: Vec<_> = masters.seeds().map(|Address { host, port }| format!("{host}:{port}")).collect();
        assert_eq!(seeds, ["a:7001", "b:7002"]);
        assert_eq!(masters.slots.len(), 2);
        let client = masters.client(&Address { host: "::1".to_owned(), port: 9 }).unwrap();
        let settings = client.get_connection_info().redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("me"), Some("p@ss")));
        assert!(parse("redis://a:7001").unwrap().is_none(), "a single server");
        assert!(parse("redis+cluster://a:7001/1").is_err(), "a database");
        assert!(parse("redis+cluster://").is_err(), "no server");
    }
}
