//! Sockets of any kind, and what is said first on each.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::config::{Address, Login};
use crate::resp::{self, Scanner};

/// A socket of any kind.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// Opens a socket and, where asked for, TLS on it.
pub(super) async fn open(address: &Address, tls: Option<&Arc<ClientConfig>>) -> Result<Box<dyn Socket>, String> {
    let text = |error: std::io::Error| error.to_string();
    match address {
        Address::Tcp(host, port) => {
            let socket = TcpStream::connect((host.as_str(), *port)).await.map_err(text)?;
            socket.set_nodelay(true).map_err(text)?;
            let Some(tls) = tls else { return Ok(Box::new(socket)) };
            let name = ServerName::try_from(host.clone()).map_err(|error| error.to_string())?;
            let socket = TlsConnector::from(Arc::clone(tls)).connect(name, socket).await.map_err(text)?;
            Ok(Box::new(socket))
        }
        Address::Unix(path) => Ok(Box::new(UnixStream::connect(path).await.map_err(text)?)),
    }
}

/// Says who we are and which database we want.
pub(super) async fn greet(socket: &mut Box<dyn Socket>, login: &Login) -> Result<(), String> {
    if let Some(password) = &login.password {
        match &login.user {
            Some(user) => ask(socket, &["AUTH", user, password]).await?,
            None => ask(socket, &["AUTH", password]).await?,
        };
    }
    if login.database > 0 {
        ask(socket, &["SELECT", &login.database.to_string()]).await?;
    }
    Ok(())
}

/// One question and its answer on a socket that nobody else uses yet; an error reply is an error.
pub(super) async fn ask(socket: &mut Box<dyn Socket>, words: &[&str]) -> Result<Vec<u8>, String> {
    let reply = ask_any(socket, words).await?;
    match resp::error(&reply) {
        Some(text) => Err(String::from_utf8_lossy(text).into_owned()),
        None => Ok(reply),
    }
}

/// The same; an error reply is a reply.
pub(super) async fn ask_any(socket: &mut Box<dyn Socket>, words: &[&str]) -> Result<Vec<u8>, String> {
    let mut request = Vec::new();
    resp::header(&mut request, b'*', words.len());
    words.iter().for_each(|word| resp::bulk(&mut request, word.as_bytes()));
    socket.write_all(&request).await.map_err(|error| error.to_string())?;
    socket.flush().await.map_err(|error| error.to_string())?;
    let (mut reply, mut scanner) = (Vec::new(), Scanner::new(1));
    loop {
        if scanner.advance(&reply).map_err(|error| error.to_string())?.is_some() {
            return Ok(reply);
        }
        if socket.read_buf(&mut reply).await.map_err(|error| error.to_string())? == 0 {
            return Err("the connection was closed".to_owned());
        }
    }
}
