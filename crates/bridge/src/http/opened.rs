//! A client's socket: enough was read of it to know which version of HTTP it speaks, and it is given up when the
//! client does not take what is written.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Duration, Sleep, sleep};

/// How HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// The socket, and what was read of it and not yet given out.
pub(super) struct Opened {
    socket: TcpStream,
    begun: Vec<u8>,
    given: usize,
    /// How long a write may wait for the client to read.
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Opened {
    /// Reads until it is certain.
    pub(super) async fn read(mut socket: TcpStream, patience: Duration) -> io::Result<Self> {
        let mut begun = Vec::with_capacity(1024);
        while begun.len() < PREFACE.len() && PREFACE.starts_with(&begun) {
            if socket.read_buf(&mut begun).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Self { socket, begun, given: 0, patience, stalled: None })
    }

    /// Passes a write's outcome on, unless the client has not read for too long.
    fn bounded(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Whether it speaks HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.begun.starts_with(PREFACE)
    }
}

impl AsyncRead for Opened {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let rest = self.begun.get(self.given..).unwrap_or_default();
        if rest.is_empty() {
            return Pin::new(&mut self.socket).poll_read(cx, buf);
        }
        let count = rest.len().min(buf.remaining());
        buf.put_slice(rest.get(..count).unwrap_or_default());
        self.given += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Opened {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.bounded(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.bounded(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
