//! Nothing outlives us: a small shell waits at the other end of a pipe and kills what is left when we die,
//! however we die. (A parent-death signal would follow the *thread* that started a child, which is too early.)

use anyhow::{Context, Result};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=
while read -r word group; do
  left=
  for known in $groups; do [ "$known" = "$group" ] || left="$left $known"; done
  groups=$left
  [ "$word" = drop ] || groups="$groups $group"
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
"#;

/// The shell, and the pipe whose end tells it that we are gone.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Mutex<Child>,
    pipe: Mutex<Option<ChildStdin>>,
}

impl Guard {
    pub(super) fn start() -> Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start `sh`")?;
        let pipe = shell.stdin.take();
        Ok(Self { shell: Mutex::new(shell), pipe: Mutex::new(pipe) })
    }

    /// A process group to be killed when we die.
    pub(super) fn add(&self, group: i32) {
        self.tell(&format!("add {group}\n"));
    }

    /// A process group that has ended.
    pub(super) fn remove(&self, group: i32) {
        self.tell(&format!("drop {group}\n"));
    }

    fn tell(&self, line: &str) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = pipe.as_mut() {
            // A guard that was killed is no reason to stop: it only guards against our own death.
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.lock().map(|mut pipe| pipe.take()));
        if let Ok(mut shell) = self.shell.lock() {
            let _ = shell.wait();
        }
    }
}
