//! What may not pass: the connection to Redis is shared, so a command that waits, or that changes what the
//! connection is, would be felt by every other client.

use bytes::Bytes;

use crate::request::Command;

const BLOCKS: &str = "it waits, and the connection to Redis is shared by all clients";
const CONNECTION: &str = "it changes the state of the connection to Redis, which is shared by all clients";
const TRANSACTION: &str = "send the commands of a transaction together to /multi-exec";
const WATCHES: &str = "watching needs a connection of one's own; use a script instead";
const STREAMS: &str = "its reply never ends: ask for it in the address, alone, as in /subscribe/channel or /monitor";
const SERVER: &str = "it acts on the server itself; use redis-cli there";

/// The error for a command that may not pass, or `None` for one that may.
pub fn refuse(command: &Command) -> Option<String> {
    let name = command.name();
    reason(&name, command.arguments())
        .map(|why| format!("ERR {} is not available over REST: {why}", String::from_utf8_lossy(&name)))
}

fn reason(name: &[u8], arguments: &[Bytes]) -> Option<&'static str> {
    match name {
        b"BLPOP" | b"BRPOP" | b"BLMOVE" | b"BLMPOP" | b"BRPOPLPUSH" | b"BZPOPMIN" | b"BZPOPMAX" | b"BZMPOP"
        | b"WAIT" | b"WAITAOF" | b"MIGRATE" => Some(BLOCKS),
        b"XREAD" | b"XREADGROUP" => blocks(arguments).then_some(BLOCKS),
        b"WATCH" | b"UNWATCH" => Some(WATCHES),
        b"MULTI" | b"EXEC" | b"DISCARD" => Some(TRANSACTION),
        b"AUTH" | b"HELLO" | b"SELECT" | b"QUIT" | b"RESET" | b"ASKING" | b"READONLY" | b"READWRITE" => {
            Some(CONNECTION)
        }
        b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE" | b"SUNSUBSCRIBE"
        | b"MONITOR" | b"SYNC" | b"PSYNC" | b"REPLCONF" => Some(STREAMS),
        b"SHUTDOWN" | b"DEBUG" | b"REPLICAOF" | b"SLAVEOF" | b"FAILOVER" | b"MODULE" => Some(SERVER),
        b"CLIENT" => (!only_looks(arguments)).then_some(CONNECTION),
        b"SCRIPT" => subcommand(arguments).eq_ignore_ascii_case(b"DEBUG").then_some(CONNECTION),
        _ => None,
    }
}

fn subcommand(arguments: &[Bytes]) -> &[u8] {
    arguments.first().map(|word| &**word).unwrap_or_default()
}

/// The `CLIENT` subcommands that change nothing.
fn only_looks(arguments: &[Bytes]) -> bool {
    let subcommand = subcommand(arguments).to_ascii_uppercase();
    matches!(subcommand.as_slice(), b"" | b"ID" | b"INFO" | b"LIST" | b"GETNAME" | b"HELP")
}

/// Whether `XREAD` or `XREADGROUP` has `BLOCK` as an option, and not as the name of a group, consumer or stream.
fn blocks(arguments: &[Bytes]) -> bool {
    let mut rest = arguments;
    while let Some(word) = rest.first() {
        let width = match word.to_ascii_uppercase().as_slice() {
            b"BLOCK" => return true,
            b"STREAMS" => return false,
            b"GROUP" => 3,
            b"COUNT" => 2,
            _ => 1,
        };
        rest = rest.get(width..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &str) -> bool {
        let parts = words.split(' ').map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
        refuse(&Command::new(parts).unwrap()).is_some()
    }

    #[test]
    fn waiting_and_connection_state_are_refused_in_any_case() {
        for words in [
            "BLPOP k 0",
            "blpop k 0",
            "brpop k 0",
            "BLMOVE a b LEFT RIGHT 0",
            "BLMPOP 0 1 a LEFT",
            "BRPOPLPUSH a b 0",
            "BZPOPMIN a 0",
            "BZPOPMAX a 0",
            "BZMPOP 0 1 a MIN",
            "WAIT 1 0",
            "WATCH k",
            "UNWATCH",
            "MULTI",
            "Exec",
            "DISCARD",
            "AUTH x",
            "HELLO 3",
            "SELECT 1",
            "CLIENT REPLY OFF",
            "client kill ID 3",
            "CLIENT PAUSE 1000",
            "SUBSCRIBE c",
            "PSUBSCRIBE c",
            "SSUBSCRIBE c",
            "UNSUBSCRIBE a b",
            "MONITOR",
            "QUIT",
            "RESET",
            "SYNC",
            "PSYNC ? -1",
            "SHUTDOWN NOSAVE",
            "DEBUG SLEEP 10",
            "SCRIPT DEBUG YES",
            "REPLICAOF NO ONE",
        ] {
            assert!(refused(words), "{words}");
        }
    }

    #[test]
    fn everything_else_passes() {
        for words in [
            "GET k",
            "CLIENT ID",
            "CLIENT LIST",
            "SCRIPT LOAD x",
            "SCRIPT FLUSH",
            "LPOP k",
            "PUBLISH c m",
            "NOSUCH x",
            "EVAL return 0",
        ] {
            assert!(!refused(words), "{words}");
        }
    }

    #[test]
    fn block_is_only_an_option_where_options_are() {
        assert!(refused("XREAD BLOCK 0 STREAMS s $"));
        assert!(refused("XREAD COUNT 1 block 5 STREAMS s $"));
        assert!(refused("XREADGROUP GROUP g c COUNT 1 BLOCK 5 STREAMS s >"));
        assert!(refused("XREADGROUP COUNT 1 NOACK BLOCK 5 GROUP g c STREAMS s >"));
        assert!(!refused("XREAD COUNT 1 STREAMS BLOCK $"));
        assert!(!refused("XREADGROUP GROUP BLOCK BLOCK STREAMS s >"));
        assert!(!refused("XREADGROUP GROUP g STREAMS COUNT 1 STREAMS s >"));
    }

    #[test]
    fn the_error_says_why() {
        let command = Command::new(vec![Bytes::from_static(b"blpop")]).unwrap();
        assert_eq!(
            refuse(&command).unwrap(),
            "ERR BLPOP is not available over REST: it waits, and the connection to Redis is shared by all clients"
        );
    }
}
