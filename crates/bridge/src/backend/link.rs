//! One connection that many requests share: requests are written as they come, replies are handed out in order.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::{mpsc, oneshot};

use super::socket::Socket;
use crate::resp::Scanner;

/// Requests that may wait for the task that writes to Redis.
const QUEUE: usize = 1024;
/// So many bytes are gathered into one write.
const GATHER: usize = 64 * 1024;
/// Room that is made for one read.
const ROOM: usize = 64 * 1024;

/// A request: its bytes and how many replies it gets.
struct Ask {
    bytes: Vec<u8>,
    replies: usize,
    answer: oneshot::Sender<Bytes>,
}

/// Who waits for so many replies.
struct Waiter {
    replies: usize,
    answer: oneshot::Sender<Bytes>,
}

type Waiters = Arc<Mutex<VecDeque<Waiter>>>;

/// The way to send requests over a connection.
#[derive(Clone)]
pub(super) struct Link {
    asks: mpsc::Sender<Ask>,
}

impl Link {
    /// A link, and the work that must be done for it; when that ends the connection is lost.
    pub(super) fn new(socket: Box<dyn Socket>) -> (Self, impl Future<Output = ()> + Send) {
        let (asks, queue) = mpsc::channel(QUEUE);
        let (reader, writer) = split(socket);
        let waiters = Waiters::default();
        let work = async move {
            tokio::select! {
                _ = write(writer, queue, &waiters) => {}
                _ = read(reader, &waiters) => {}
            }
        };
        (Self { asks }, work)
    }

    /// Sends bytes and waits for their replies: `None` if the connection is lost before they come.
    pub(super) async fn ask(&self, bytes: Vec<u8>, replies: usize) -> Option<Bytes> {
        let (answer, answered) = oneshot::channel();
        self.asks.send(Ask { bytes, replies, answer }).await.ok()?;
        answered.await.ok()
    }
}

async fn write(
    mut socket: WriteHalf<Box<dyn Socket>>,
    mut queue: mpsc::Receiver<Ask>,
    waiters: &Waiters,
) -> io::Result<()> {
    let mut gathered = Vec::new();
    while let Some(first) = queue.recv().await {
        let mut next = Some(first);
        while let Some(ask) = next {
            let waiter = Waiter { replies: ask.replies, answer: ask.answer };
            waiters.lock().unwrap_or_else(PoisonError::into_inner).push_back(waiter);
            if gathered.is_empty() {
                gathered = ask.bytes;
            } else {
                gathered.extend_from_slice(&ask.bytes);
            }
            next = if gathered.len() < GATHER { queue.try_recv().ok() } else { None };
        }
        socket.write_all(&gathered).await?;
        socket.flush().await?;
        gathered = Vec::new();
    }
    Ok(())
}

async fn read(mut socket: ReadHalf<Box<dyn Socket>>, waiters: &Waiters) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    loop {
        // A request is written after its waiter is in the queue, so replies always find one.
        buffer.reserve(ROOM);
        if socket.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
        hand_out(&mut socket, &mut buffer, waiters).await?;
    }
}

/// Gives out all replies that are there, and waits for the rest of one that has begun.
async fn hand_out(socket: &mut ReadHalf<Box<dyn Socket>>, buffer: &mut BytesMut, waiters: &Waiters) -> io::Result<()> {
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    while !buffer.is_empty() {
        let waiter = waiters.lock().unwrap_or_else(PoisonError::into_inner).pop_front().ok_or_else(broken)?;
        let mut scanner = Scanner::new(waiter.replies);
        let end = loop {
            if let Some(end) = scanner.advance(buffer).map_err(|_| broken())? {
                break end;
            }
            buffer.reserve(ROOM);
            if socket.read_buf(buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        // Nobody may be waiting any more.
        let _ = waiter.answer.send(buffer.split_to(end).freeze());
    }
    Ok(())
}
