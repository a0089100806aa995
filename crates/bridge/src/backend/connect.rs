//! How a connection is made: which server, and whether it is ready.

use bytes::Bytes;

use super::socket::{self, Socket};
use crate::catalog::Catalog;
use crate::config::{Address, Kind, Target};
use crate::resp::{self, Tree};

/// A connection that is ready, and what was learnt while making it.
pub(super) struct Ready {
    pub(super) socket: Box<dyn Socket>,
    pub(super) catalog: Catalog,
    /// Redis' refusal of MULTI or EXEC, if the user's permissions do not include them.
    pub(super) no_transactions: Option<Bytes>,
}

/// Opens a connection to `address`, or else to where the target says, and says who we are.
pub(super) async fn open(target: &Target, address: Option<&Address>) -> Result<Box<dyn Socket>, String> {
    let mut socket = match (address, &target.kind) {
        (Some(address), _) | (None, Kind::Single(address)) => socket::open(address, target.tls.as_ref()).await?,
        (None, Kind::Sentinel { sentinels, master }) => {
            let address = master_of(target, sentinels, master).await?;
            let mut socket = socket::open(&address, target.tls.as_ref()).await?;
            socket::greet(&mut socket, &target.login).await?;
            let role = socket::ask(&mut socket, &["ROLE"]).await?;
            // Sentinels may still name the old master for a moment.
            return match Tree::read(&mut &*role).and_then(|role| role.items().first().map(Tree::text)) {
                Some(b"master") => Ok(socket),
                _ => Err(format!("{address} is not a master (yet)")),
            };
        }
        (None, Kind::Cluster(_)) => return Err("a cluster has no one address".to_owned()),
    };
    socket::greet(&mut socket, &target.login).await?;
    Ok(socket)
}

/// Opens a connection and learns what the server can do.
pub(super) async fn prepare(target: &Target, address: Option<&Address>) -> Result<Ready, String> {
    let mut socket = open(target, address).await?;
    let pong = socket::ask_any(&mut socket, &["PING"]).await?;
    match resp::error(&pong) {
        Some(text) if !text.starts_with(b"NOPERM") && !text.starts_with(b"MISCONF") => {
            return Err(String::from_utf8_lossy(text).into_owned());
        }
        _ => {}
    }
    let mut no_transactions = None;
    for word in ["MULTI", "EXEC"] {
        let reply = socket::ask_any(&mut socket, &[word]).await?;
        if let Some(refusal) = resp::error(&reply) {
            no_transactions.get_or_insert(Bytes::copy_from_slice(refusal));
        }
    }
    let commands = socket::ask_any(&mut socket, &["COMMAND"]).await?;
    Ok(Ready { socket, catalog: Catalog::read(&commands), no_transactions })
}

/// Asks the sentinels, one after the other, where the master is.
async fn master_of(target: &Target, sentinels: &[Address], master: &str) -> Result<Address, String> {
    let mut why = "no sentinel is named".to_owned();
    for sentinel in sentinels {
        match ask_sentinel(target, sentinel, master).await {
            Ok(address) => return Ok(address),
            Err(reason) => why = format!("sentinel {sentinel}: {reason}"),
        }
    }
    Err(why)
}

async fn ask_sentinel(target: &Target, sentinel: &Address, master: &str) -> Result<Address, String> {
    let mut socket = socket::open(sentinel, target.tls.as_ref()).await?;
    socket::greet(&mut socket, &target.sentinel_login).await?;
    let reply = socket::ask(&mut socket, &["SENTINEL", "get-master-addr-by-name", master]).await?;
    let reply = Tree::read(&mut &*reply).ok_or("no reply")?;
    match reply.items() {
        [host, port] => {
            let port = port.integer().and_then(|port| u16::try_from(port).ok()).ok_or("no port")?;
            Ok(Address::Tcp(String::from_utf8_lossy(host.text()).into_owned(), port))
        }
        _ => Err(format!("it knows no master called {master}")),
    }
}
