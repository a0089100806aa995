//! What people see: steps, headings, notes. All of it goes to stderr; results go to stdout.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place where tools print")]

use crate::clock;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Whether colours may be used on stderr.
#[must_use]
pub fn coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// `text` in an ANSI colour, where colours may be used.
#[must_use]
pub fn paint(code: u8, text: &str) -> String {
    if coloured() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// One line of a result, to stdout. A closed pipe is no reason to fail.
pub fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// One line for people, to stderr.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// The heading of a part of the work.
pub fn heading(text: &str) {
    say(&paint(1, &format!("\n== {text}")));
}

/// A step that may take long: a spinner on a terminal, plain lines elsewhere.
#[derive(Debug)]
pub struct Step {
    label: String,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Step {
    /// Shows that the step has begun.
    #[must_use]
    pub fn start(label: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| spinner(label));
        if bar.is_none() {
            say(&format!("{label} …"));
        }
        Self { label: label.to_owned(), started: clock::now(), bar }
    }

    /// Says what the step is busy with. Shown on a terminal only.
    pub fn note(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} {}", self.label, paint(2, text)));
        }
    }

    /// Ends the step, with what came out of it.
    pub fn done(self, outcome: &str) {
        let line = format!("{} {outcome} ({})", self.label, clock::human(self.started.elapsed()));
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        say(&line);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn spinner(label: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(label.to_owned());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
