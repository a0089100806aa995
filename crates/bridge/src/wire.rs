//! The socket to Redis, made safe for bytes that are not text.
//!
//! Redis puts a client's bytes into error lines and cuts them off where it likes, in the middle of a character
//! too. The `redis` crate reads status and error lines as UTF-8 and gives the connection up when they are not,
//! and with it the requests of every other client. So bytes above 0x7f in such lines are folded into two-byte
//! characters on their way in, and unfolded where the text is used. Bulk strings pass untouched.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes that [`Folding`] read as this text.
pub fn unfold(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match u8::try_from(u32::from(character)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// Where in a stream of replies the next byte is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// At the first byte of a value.
    Start,
    /// In a status or error line.
    Text,
    /// In a line that is neither.
    Other,
    /// In the line that gives a bulk string's length (so far).
    Length { negative: bool, length: usize },
    /// In a bulk string, with so many bytes to go, the line end included.
    Bulk(usize),
}

impl Place {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Bulk(left), _) if left > 1 => Self::Bulk(left - 1),
            (Self::Bulk(_), _) => Self::Start,
            (Self::Start, b'+' | b'-') => Self::Text,
            (Self::Start, b'$') => Self::Length { negative: false, length: 0 },
            (Self::Length { negative: false, length }, b'\n') => Self::Bulk(length.saturating_add(2)),
            (_, b'\n') => Self::Start,
            (Self::Start, _) => Self::Other,
            (Self::Length { length, .. }, b'-') => Self::Length { negative: true, length },
            (Self::Length { negative, length }, b'0'..=b'9') => {
                let digit = usize::from(byte - b'0');
                Self::Length { negative, length: length.saturating_mul(10).saturating_add(digit) }
            }
            (place, _) => place,
        }
    }
}

/// Reads replies from a socket and folds what is not ASCII in their text lines; writes pass through.
#[derive(Debug)]
pub struct Folding<S> {
    socket: S,
    place: Place,
    /// Folded bytes that did not fit, and the position of the first that is still to be given out.
    spare: Vec<u8>,
    given: usize,
}

impl<S> Folding<S> {
    /// Wraps a fresh socket.
    pub fn new(socket: S) -> Self {
        Self { socket, place: Place::Start, spare: Vec::new(), given: 0 }
    }

    /// Walks over bytes just read. Nearly always none needs folding, and nothing is copied.
    fn walk(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut first = None;
        let mut rest = bytes;
        while let Some((byte, tail)) = rest.split_first() {
            if let Place::Bulk(left) = self.place
                && left > 1
            {
                let skip = rest.len().min(left - 1);
                self.place = Place::Bulk(left - skip);
                if first.is_some() {
                    self.spare.extend(rest.iter().take(skip));
                }
                rest = rest.get(skip..).unwrap_or_default();
                continue;
            }
            let fold = matches!(self.place, Place::Text) && !byte.is_ascii();
            if fold && first.is_none() {
                first = Some(bytes.len() - rest.len());
            }
            if fold {
                self.spare.extend_from_slice(char::from(*byte).encode_utf8(&mut [0; 2]).as_bytes());
            } else if first.is_some() {
                self.spare.push(*byte);
            }
            self.place = self.place.after(*byte);
            rest = tail;
        }
        first
    }

    fn give_spare(&mut self, buf: &mut ReadBuf<'_>) {
        let rest = self.spare.get(self.given..).unwrap_or_default();
        let count = rest.len().min(buf.remaining());
        buf.put_slice(rest.get(..count).unwrap_or_default());
        self.given += count;
        if self.given >= self.spare.len() {
            self.spare.clear();
            self.given = 0;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Folding<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.spare.is_empty() {
            self.give_spare(buf);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        let first = self.walk(buf.filled().get(before..).unwrap_or_default());
        if let Some(first) = first {
            buf.set_filled(before + first);
            self.give_spare(buf);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Folding<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// What is read when the bytes arrive in pieces of one size and are asked for in pieces of another.
    async fn read(bytes: &[u8], arriving: usize, asked: usize) -> Vec<u8> {
        let (mut far, near) = tokio::io::duplex(arriving);
        let bytes = bytes.to_vec();
        let writer = tokio::spawn(async move { far.write_all(&bytes).await.unwrap() });
        let mut near = Folding::new(near);
        let (mut all, mut piece) = (Vec::new(), vec![0; asked]);
        loop {
            let count = near.read(&mut piece).await.unwrap();
            if count == 0 {
                break;
            }
            all.extend_from_slice(&piece[..count]);
        }
        writer.await.unwrap();
        all
    }

    #[tokio::test]
    async fn only_text_lines_are_folded_however_they_are_cut() {
        let stream = b"$5\r\n\xff+\r\n-\r\n-ERR \xe4\xbd x\xff\r\n*3\r\n$-1\r\n+\xc3\xa9\r\n:7\r\n$0\r\n\r\n$1\r\n\xe4\r\n-E \x80\r\n";
        let folded: &[u8] = b"$5\r\n\xff+\r\n-\r\n-ERR \xc3\xa4\xc2\xbd x\xc3\xbf\r\n*3\r\n$-1\r\n+\xc3\x83\xc2\xa9\r\n:7\r\n$0\r\n\r\n$1\r\n\xe4\r\n-E \xc2\x80\r\n";
        for arriving in [1, 2, 3, 7, 1000] {
            for asked in [1, 2, 5, 1000] {
                assert_eq!(read(stream, arriving, asked).await, folded, "{arriving} {asked}");
            }
        }
    }

    #[test]
    fn unfolding_gives_the_bytes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let folded: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        assert_eq!(unfold(&folded), bytes);
    }
}
