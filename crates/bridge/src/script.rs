//! Scripts written for Upstash: the key-locking flag and the SHA1 of the text that carries it.
//!
//! `#!lua flags=allow-key-locking` tells Upstash to lock keys instead of everything. A plain Redis refuses the
//! line, so the bridge takes the flag out; Redis then knows the script by another SHA1 than its author does,
//! and the bridge translates.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use redis::Value;
use sha1::{Digest, Sha1};

use crate::request::Command;

const FLAG: &str = "allow-key-locking";

/// How many scripts are remembered. A forgotten one is answered with NOSCRIPT, and its client sends it again.
pub const CAPACITY: usize = 4096;

/// A SHA1 in lower-case hexadecimal digits.
type Sha = String;

/// The scripts that Redis knows by another SHA1 than their authors do.
#[derive(Debug, Default)]
pub struct Scripts {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    sent_as: HashMap<Sha, Sha>,
    oldest_first: VecDeque<Sha>,
}

/// What is to be put into a command's reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Amend {
    /// The reply is right as it is.
    Nothing,
    /// A successful reply is the SHA1 of the text sent; the client expects this one.
    Sha(String),
}

impl Amend {
    /// Corrects a reply.
    pub fn apply(self, value: &mut Value) {
        if let (Self::Sha(sha), Value::BulkString(reply)) = (self, value) {
            *reply = sha.into_bytes();
        }
    }
}

impl Scripts {
    /// Turns a client's command into what Redis understands, and says what its reply needs.
    pub fn translate(&self, command: &mut Command) -> Amend {
        let name = command.name();
        let arguments = command.arguments_mut();
        match name.as_slice() {
            b"EVAL" | b"EVAL_RO" => {
                if let Some(text) = arguments.first_mut() {
                    self.strip(text);
                }
            }
            b"EVALSHA" | b"EVALSHA_RO" => {
                if let Some(sha) = arguments.first_mut() {
                    self.rename(sha);
                }
            }
            b"SCRIPT" => return self.translate_script(arguments),
            _ => {}
        }
        Amend::Nothing
    }

    fn translate_script(&self, arguments: &mut [Vec<u8>]) -> Amend {
        let Some((subcommand, rest)) = arguments.split_first_mut() else {
            return Amend::Nothing;
        };
        if subcommand.eq_ignore_ascii_case(b"EXISTS") {
            rest.iter_mut().for_each(|sha| self.rename(sha));
        } else if subcommand.eq_ignore_ascii_case(b"LOAD")
            && let [text] = rest
            && let Some(original) = self.strip(text)
        {
            return Amend::Sha(original);
        }
        Amend::Nothing
    }

    /// Takes the flag out of a script and remembers both SHA1s; the original one is returned if there was a flag.
    fn strip(&self, text: &mut Vec<u8>) -> Option<Sha> {
        let stripped = without_flag(text)?;
        let original = sha(text);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).add(&original, sha(&stripped));
        *text = stripped;
        Some(original)
    }

    fn rename(&self, sha: &mut Vec<u8>) {
        let Ok(asked) = str::from_utf8(sha).map(str::to_ascii_lowercase) else {
            return;
        };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sent_as) = known.sent_as.get(&asked) {
            *sha = sent_as.clone().into_bytes();
        }
    }
}

impl Known {
    fn add(&mut self, original: &Sha, sent_as: Sha) {
        if self.sent_as.insert(original.clone(), sent_as).is_some() {
            return;
        }
        self.oldest_first.push_back(original.clone());
        if self.oldest_first.len() > CAPACITY
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.sent_as.remove(&oldest);
        }
    }
}

/// The script without the key-locking flag; `None` if its first line has no such flag.
///
/// When nothing but the flag is left the line becomes an empty comment: a bare `#!lua` would take the script out
/// of the mode in which Redis runs scripts without a first line, and a removed line would shift error positions.
fn without_flag(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = text.split_at_checked(end)?;
    let mut words = str::from_utf8(line).ok()?.split_ascii_whitespace();
    if words.next() != Some("#!lua") {
        return None;
    }
    let mut found = false;
    let mut kept = String::from("#!lua");
    for word in words {
        let Some(flags) = word.strip_prefix("flags=") else {
            kept.push(' ');
            kept.push_str(word);
            continue;
        };
        let others: Vec<&str> = flags.split(',').filter(|flag| *flag != FLAG).collect();
        found |= others.len() < flags.split(',').count();
        if !others.is_empty() {
            kept.push_str(" flags=");
            kept.push_str(&others.join(","));
        }
    }
    if kept == "#!lua" {
        kept = String::from("--");
    }
    found.then(|| [kept.as_bytes(), rest].concat())
}

fn sha(text: &[u8]) -> Sha {
    Sha1::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Option<String> {
        without_flag(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    fn command(parts: &[&str]) -> Command {
        Command::new(parts.iter().map(|part| part.as_bytes().to_vec()).collect()).unwrap()
    }

    fn argument(command: &Command, index: usize) -> &str {
        str::from_utf8(&command.arguments()[index]).unwrap()
    }

    #[test]
    fn the_flag_alone_leaves_a_comment_line() {
        assert_eq!(stripped("#!lua flags=allow-key-locking\nreturn 1").as_deref(), Some("--\nreturn 1"));
        assert_eq!(stripped("#!lua  flags=allow-key-locking \r\nreturn 1").as_deref(), Some("--\nreturn 1"));
    }

    #[test]
    fn other_flags_stay() {
        for line in [
            "#!lua flags=no-writes,allow-key-locking\n",
            "#!lua flags=allow-key-locking,no-writes\n",
            "#!lua flags=allow-key-locking flags=no-writes\n",
        ] {
            assert_eq!(stripped(line).as_deref(), Some("#!lua flags=no-writes\n"), "{line}");
        }
    }

    #[test]
    fn other_scripts_are_untouched() {
        for text in [
            "return 1",
            "#!lua\nreturn 1",
            "#!lua flags=no-writes\nreturn 1",
            "#!lua flags=allow-key-lockings\nreturn 1",
            "#!js flags=allow-key-locking\nreturn 1",
            "#!lua flags=allow-key-locking",
            "\n#!lua flags=allow-key-locking\nreturn 1",
        ] {
            assert_eq!(stripped(text), None, "{text}");
        }
    }

    #[test]
    fn both_names_lead_to_the_same_script() {
        let scripts = Scripts::default();
        let text = "#!lua flags=allow-key-locking\nreturn 1";
        let mut eval = command(&["eval", text, "0"]);
        assert_eq!(scripts.translate(&mut eval), Amend::Nothing);
        assert_eq!(argument(&eval, 0), "--\nreturn 1");

        let upper = sha(text.as_bytes()).to_uppercase();
        let mut evalsha = command(&["EVALSHA", &upper, "0"]);
        scripts.translate(&mut evalsha);
        assert_eq!(argument(&evalsha, 0), sha(b"--\nreturn 1"));

        let mut exists = command(&["SCRIPT", "exists", &upper, "other"]);
        scripts.translate(&mut exists);
        assert_eq!(argument(&exists, 1), sha(b"--\nreturn 1"));
        assert_eq!(argument(&exists, 2), "other");

        let mut load = command(&["script", "load", text]);
        let mut reply = Value::BulkString(b"stripped".to_vec());
        scripts.translate(&mut load).apply(&mut reply);
        assert_eq!(reply, Value::BulkString(sha(text.as_bytes()).into_bytes()));
    }

    #[test]
    fn the_memory_is_bounded() {
        let scripts = Scripts::default();
        for i in 0..CAPACITY + 10 {
            let mut eval = command(&["EVAL", &format!("#!lua flags=allow-key-locking\nreturn {i}"), "0"]);
            scripts.translate(&mut eval);
        }
        let known = scripts.known.lock().unwrap();
        assert_eq!((known.sent_as.len(), known.oldest_first.len()), (CAPACITY, CAPACITY));
        assert!(!known.sent_as.contains_key(&sha(b"#!lua flags=allow-key-locking\nreturn 0")));
    }
}
