//! The children's logs: each line with the name of its process, in a colour of its own.

use crate::console;
use crate::stack::Listener;
use std::sync::Arc;

/// Prints each line to stderr.
pub(super) fn printer() -> Listener {
    Arc::new(|name: &str, line: &str| {
        if !line.trim().is_empty() {
            console::say(&format!("{} {line}", prefix(name)));
        }
    })
}

fn prefix(name: &str) -> String {
    console::paint(colour(name), &format!("{name:>6} |"))
}

fn colour(name: &str) -> u8 {
    match name {
        "redis" => 31,
        "bridge" => 33,
        "origin" => 32,
        "worker" => 36,
        _ => 35,
    }
}
