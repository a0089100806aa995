//! Hashes that stand for texts: 128 bits of SHA-256 over length-prefixed parts, in base64url.
//!
//! A subject or an operation may hold anything; as a hash it has a fixed length and no character that means
//! something in a key. Parts are length-prefixed, so `("ab", "c")` and `("a", "bc")` differ.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Length of a [`Tag`] as text.
pub const TAG_LEN: usize = 22;

/// 128 bits as 22 base64url characters: a hash, or a random nonce.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag([u8; TAG_LEN]);

impl Tag {
    /// The hash of `parts`, each preceded by its length.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        Self::encode(&hash128(parts))
    }

    /// The 16 bytes as they are: for nonces made at random.
    #[must_use]
    pub fn of_bytes(bytes: [u8; 16]) -> Self {
        Self::encode(&bytes)
    }

    /// Reads a tag back from its text; `None` unless it is canonical base64url of 16 bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(16) => Some(Self::encode(&bytes)),
            _ => None,
        }
    }

    /// The 16 bytes again.
    #[must_use]
    pub fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        // The text is what `encode` wrote.
        let _ = URL_SAFE_NO_PAD.decode_slice(self.0, &mut bytes);
        bytes
    }

    fn encode(bytes: &[u8]) -> Self {
        let mut text = [b'A'; TAG_LEN];
        // 16 bytes always encode to 22 characters, which is the buffer's length.
        let _ = URL_SAFE_NO_PAD.encode_slice(bytes, &mut text);
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // base64url is ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// 128 bits of SHA-256 over `parts`, each preceded by its length.
#[must_use]
pub fn hash128(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(digest) {
        *to = from;
    }
    half
}

/// SHA-256 of a body, whole, in base64url: what an assertion binds a request's bytes with.
#[must_use]
pub fn body_hash(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(Tag::of(&[b"ab", b"c"]), Tag::of(&[b"a", b"bc"]));
        assert_ne!(Tag::of(&[b"", b"a"]), Tag::of(&[b"a", b""]));
        assert_eq!(Tag::of(&[b"a"]).as_str().len(), TAG_LEN);
    }

    #[test]
    fn only_the_canonical_text_is_read_back() {
        let tag = Tag::of(&[b"x"]);
        assert_eq!(Tag::parse(tag.as_str()), Some(tag));
        assert_eq!(Tag::parse("short"), None);
        assert_eq!(Tag::parse("AAAAAAAAAAAAAAAAAAAAAB"), None, "stray bits in the last character");
        assert_eq!(Tag::parse("AAAAAAAAAAAAAAAAAAAAAA=="), None, "padding");
    }
}
