//! A connection of its own for SUBSCRIBE, PSUBSCRIBE and MONITOR. Dropping it closes the connection.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::socket::Socket;
use super::{Unavailable, connect};
use crate::config::{Address, Target};
use crate::request::Command;
use crate::resp::{self, Scanner};

/// Replies that come one by one and never end.
pub struct Stream {
    socket: Box<dyn Socket>,
    buffer: BytesMut,
    scanner: Scanner,
}

impl Stream {
    pub(super) async fn open(
        target: &Target,
        address: Option<Address>,
        limit: Duration,
        command: &Command,
    ) -> Result<Self, Unavailable> {
        let mut bytes = Vec::new();
        resp::encode(&mut bytes, command);
        let open = async {
            let mut socket = connect::open(target, address.as_ref()).await.ok()?;
            socket.write_all(&bytes).await.ok()?;
            socket.flush().await.ok()?;
            Some(socket)
        };
        let socket = timeout(limit, open).await.ok().flatten().ok_or(Unavailable::Down)?;
        Ok(Self { socket, buffer: BytesMut::new(), scanner: Scanner::new(1) })
    }

    /// The next reply; `None` once the connection is lost. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(end) = self.scanner.advance(&self.buffer).ok()? {
                self.scanner = Scanner::new(1);
                return Some(self.buffer.split_to(end).freeze());
            }
            if self.socket.read_buf(&mut self.buffer).await.ok()? == 0 {
                return None;
            }
        }
    }
}
