//! Scripts under two names: the SHA1 that their author knows, and that of the text which Redis gets.
//!
//! `#!lua flags=allow-key-locking` tells Upstash to lock keys instead of everything; a plain Redis refuses the
//! line, so the bridge takes the flag out ([`shebang`]). Scripts that are to be checked get a prelude ([`guard`]).
//! The bridge keeps the text of every script that it changed, so that its SHA1 is known even after Redis forgot it.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use sha1::{Digest, Sha1};

use crate::request::Command;
use crate::resp;

pub mod guard;
mod shebang;

use guard::Guard;

/// How many changed scripts are kept. A forgotten one is answered with NOSCRIPT, and its client sends it again.
pub const CAPACITY: usize = 4096;
/// How many bytes of text are kept.
const CAPACITY_BYTES: usize = 32 * 1024 * 1024;

/// Redis' own words for a script that it does not have.
pub const NOSCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";

/// A SHA1 in lower-case hexadecimal digits.
type Sha = String;

/// Who asks: scripts of those with other rights are other scripts. 0 stands for no prelude.
pub type Variant = usize;

/// The scripts that Redis knows by another SHA1 than their authors do.
#[derive(Debug, Default)]
pub struct Scripts {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_name: HashMap<(Variant, Sha), Script>,
    oldest_first: VecDeque<(Variant, Sha)>,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Script {
    sent_as: Sha,
    text: Bytes,
    /// The connection on which it was loaded ahead of a pipeline.
    loaded: Option<u64>,
}

/// What is to be put into a command's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amend {
    /// The reply is right as it is.
    Nothing,
    /// A successful reply is the SHA1 of the text sent; the client expects this one.
    Sha(Sha),
    /// An error names the script by the SHA1 of the text sent; its author knows it as `original`.
    Error {
        /// What the client calls it.
        original: Sha,
        /// What Redis calls it.
        sent: Sha,
    },
}

impl Amend {
    /// Corrects a reply.
    pub fn apply<'r>(&self, reply: &'r [u8]) -> Cow<'r, [u8]> {
        match self {
            Self::Sha(sha) if reply.starts_with(b"$") => {
                let mut amended = Vec::new();
                resp::bulk(&mut amended, sha.as_bytes());
                amended.into()
            }
            Self::Error { original, sent } if reply.starts_with(b"-") => {
                let Some(at) = reply.windows(sent.len()).position(|window| window == sent.as_bytes()) else {
                    return reply.into();
                };
                let (before, after) = reply.split_at_checked(at).unwrap_or((reply, b""));
                [before, original.as_bytes(), after.get(sent.len()..).unwrap_or_default()].concat().into()
            }
            _ => reply.into(),
        }
    }
}

impl Scripts {
    /// Turns a client's command into what Redis understands, and says what its reply needs; or answers in its place.
    pub fn translate(&self, command: &mut Command, variant: Variant, guard: Option<&Guard>) -> Result<Amend, String> {
        let name = command.name();
        let arguments = command.arguments_mut();
        match (name.as_slice(), arguments) {
            (b"EVAL" | b"EVAL_RO", [text, ..]) => Ok(self.change(text, variant, guard).unwrap_or(Amend::Nothing)),
            (b"EVALSHA" | b"EVALSHA_RO", [sha, ..]) => match self.rename(sha, variant) {
                // Redis may know the script, but unchecked.
                None if guard.is_some() => Err(NOSCRIPT.to_owned()),
                renamed => Ok(renamed.unwrap_or(Amend::Nothing)),
            },
            (b"SCRIPT", [subcommand, rest @ ..]) => Ok(self.translate_script(subcommand, rest, variant, guard)),
            _ => Ok(Amend::Nothing),
        }
    }

    fn translate_script(&self, word: &[u8], rest: &mut [Bytes], variant: Variant, guard: Option<&Guard>) -> Amend {
        if word.eq_ignore_ascii_case(b"EXISTS") {
            rest.iter_mut().for_each(|sha| drop(self.rename(sha, variant)));
        } else if word.eq_ignore_ascii_case(b"FLUSH") {
            self.known().by_name.values_mut().for_each(|script| script.loaded = None);
        } else if word.eq_ignore_ascii_case(b"LOAD")
            && let [text] = rest
            && let Some(Amend::Error { original, .. }) = self.change(text, variant, guard)
        {
            return Amend::Sha(original);
        }
        Amend::Nothing
    }

    /// Changes a script's text and remembers both SHA1s; `None` if nothing had to be changed.
    fn change(&self, text: &mut Bytes, variant: Variant, guard: Option<&Guard>) -> Option<Amend> {
        let stripped = shebang::without_flag(text);
        let changed = match guard {
            Some(guard) => guard.put_before(stripped.as_deref().unwrap_or(text)),
            None => stripped?,
        };
        let (original, sent) = (sha(text), sha(&changed));
        *text = changed.into();
        self.known().add((variant, original.clone()), sent.clone(), text.clone());
        Some(Amend::Error { original, sent })
    }

    fn rename(&self, sha: &mut Bytes, variant: Variant) -> Option<Amend> {
        let original = str::from_utf8(sha).ok()?.to_ascii_lowercase();
        let name = (variant, original);
        let sent = self.known().by_name.get(&name)?.sent_as.clone();
        *sha = Bytes::from(sent.clone());
        Some(Amend::Error { original: name.1, sent })
    }

    /// The text of a script that Redis has forgotten.
    pub fn text(&self, amend: &Amend, variant: Variant) -> Option<Bytes> {
        let Amend::Error { original, .. } = amend else { return None };
        let mut known = self.known();
        let script = known.by_name.get_mut(&(variant, original.clone()))?;
        script.loaded = None;
        Some(script.text.clone())
    }

    /// The texts that must be loaded before a batch is sent: in the midst of it nothing can be sent again.
    pub fn not_loaded(&self, amends: &[&Amend], variant: Variant, connection: u64) -> Vec<Bytes> {
        let mut known = self.known();
        let mut texts = Vec::new();
        for amend in amends {
            let Amend::Error { original, .. } = amend else { continue };
            if let Some(script) = known.by_name.get_mut(&(variant, original.clone()))
                && script.loaded != Some(connection)
            {
                script.loaded = Some(connection);
                texts.push(script.text.clone());
            }
        }
        texts
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn add(&mut self, name: (Variant, Sha), sent_as: Sha, text: Bytes) {
        if self.by_name.get(&name).is_some_and(|script| script.sent_as == sent_as) {
            return;
        }
        self.bytes += text.len();
        match self.by_name.insert(name.clone(), Script { sent_as, text, loaded: None }) {
            Some(before) => self.bytes -= before.text.len(),
            None => self.oldest_first.push_back(name),
        }
        while (self.oldest_first.len() > CAPACITY || self.bytes > CAPACITY_BYTES)
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.bytes -= self.by_name.remove(&oldest).map(|script| script.text.len()).unwrap_or_default();
        }
    }
}

fn sha(text: &[u8]) -> Sha {
    Sha1::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(parts: &[&str]) -> Command {
        Command::new(parts.iter().map(|part| Bytes::copy_from_slice(part.as_bytes())).collect()).unwrap()
    }

    fn argument(command: &Command, index: usize) -> &str {
        str::from_utf8(&command.arguments()[index]).unwrap()
    }

    #[test]
    fn both_names_lead_to_the_same_script() {
        let scripts = Scripts::default();
        let text = "#!lua flags=allow-key-locking\nreturn 1";
        let (original, sent) = (sha(text.as_bytes()), sha(b"--\nreturn 1"));
        let mut eval = command(&["eval", text, "0"]);
        let amend = scripts.translate(&mut eval, 0, None).unwrap();
        assert_eq!(amend, Amend::Error { original: original.clone(), sent: sent.clone() });
        assert_eq!(argument(&eval, 0), "--\nreturn 1");
        let error = format!("-ERR x script: {sent}, on line 2\r\n");
        assert_eq!(&*amend.apply(error.as_bytes()), format!("-ERR x script: {original}, on line 2\r\n").as_bytes());

        let mut evalsha = command(&["EVALSHA", &original.to_uppercase(), "0"]);
        let amend = scripts.translate(&mut evalsha, 0, None).unwrap();
        assert_eq!(argument(&evalsha, 0), sent);
        assert_eq!(scripts.text(&amend, 0).as_deref(), Some(&b"--\nreturn 1"[..]));

        let mut exists = command(&["SCRIPT", "exists", &original, "other"]);
        scripts.translate(&mut exists, 0, None).unwrap();
        assert_eq!((argument(&exists, 1), argument(&exists, 2)), (sent.as_str(), "other"));

        let mut load = command(&["script", "load", text]);
        let amend = scripts.translate(&mut load, 0, None).unwrap();
        assert_eq!(&*amend.apply(b"$3\r\nabc\r\n"), format!("$40\r\n{original}\r\n").as_bytes());
    }

    #[test]
    fn it_is_loaded_once_for_each_connection_and_again_after_a_flush() {
        let scripts = Scripts::default();
        let mut eval = command(&["EVAL", "#!lua flags=allow-key-locking\nreturn 1", "0"]);
        let amend = scripts.translate(&mut eval, 0, None).unwrap();
        let due = |connection| scripts.not_loaded(&[&amend, &amend, &Amend::Nothing], 0, connection).len();
        assert_eq!((due(1), due(1), due(2), due(2)), (1, 0, 1, 0));
        scripts.translate(&mut command(&["SCRIPT", "FLUSH"]), 0, None).unwrap();
        assert_eq!(due(2), 1);
    }

    #[test]
    fn the_memory_is_bounded() {
        let scripts = Scripts::default();
        for i in 0..CAPACITY + 10 {
            let mut eval = command(&["EVAL", &format!("#!lua flags=allow-key-locking\nreturn {i}"), "0"]);
            scripts.translate(&mut eval, 0, None).unwrap();
        }
        let known = scripts.known();
        assert_eq!((known.by_name.len(), known.oldest_first.len()), (CAPACITY, CAPACITY));
        assert!(!known.by_name.contains_key(&(0, sha(b"#!lua flags=allow-key-locking\nreturn 0"))));
        drop(known);
        for i in 0..40 {
            let text = format!("#!lua flags=allow-key-locking\n--{}\nreturn {i}", "x".repeat(1 << 20));
            scripts.translate(&mut command(&["EVAL", &text, "0"]), 0, None).unwrap();
        }
        assert!(scripts.known().bytes <= CAPACITY_BYTES);
    }
}
