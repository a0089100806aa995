//! One process of a stack: started in a group of its own, so that signals reach its children too.

use super::builder::Output;
use super::guard::Guard;
use super::layout::Layout;
use crate::{clock, command};
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a process may take to stop when asked to.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// What to start.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. Secrets travel in the environment, where other users cannot read them.
    pub arguments: Vec<OsString>,
    /// Added to the environment.
    pub environment: Vec<(String, OsString)>,
    /// Where it runs.
    pub folder: PathBuf,
}

/// A process that can be killed, paused and started again.
#[derive(Debug)]
pub struct Process {
    name: String,
    spec: Spec,
    log: PathBuf,
    output: Output,
    guard: Arc<Guard>,
    child: Mutex<Option<Child>>,
}

impl Process {
    pub(super) fn new(name: &str, spec: Spec, layout: &Layout, guard: &Arc<Guard>) -> Self {
        Self {
            name: name.to_owned(),
            spec,
            log: layout.folder.join("logs").join(format!("{name}.log")),
            output: layout.output.clone(),
            guard: Arc::clone(guard),
            child: Mutex::new(None),
        }
    }

    /// Its name in logs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that holds what it prints.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The end of what it has printed.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        command::tail(&String::from_utf8_lossy(&bytes), command::TAIL)
    }

    /// Its process id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child().as_ref().map(Child::id)
    }

    /// Whether it was started and has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.child().as_ref().is_some_and(|child| !has_exited(child))
    }

    /// Starts it without waiting for it to be ready.
    ///
    /// # Errors
    /// When it runs already or cannot be started.
    pub fn spawn(&self) -> Result<()> {
        let mut slot = self.child();
        if slot.as_ref().is_some_and(|child| !has_exited(child)) {
            bail!("{} runs already", self.name);
        }
        self.reap(&mut slot);
        let log = self.open_log()?;
        let piped = matches!(self.output, Output::Lines(_));
        let stream = || -> Result<Stdio> {
            if piped {
                return Ok(Stdio::piped());
            }
            Ok(Stdio::from(log.try_clone()?))
        };
        let mut command = Command::new(&self.spec.program);
        command
            .args(&self.spec.arguments)
            .envs(self.spec.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.spec.folder)
            .stdin(Stdio::null())
            .stdout(stream()?)
            .stderr(stream()?)
            .process_group(0);
        let mut child =
            command.spawn().with_context(|| format!("cannot start {} ({})", self.name, self.spec.program.display()))?;
        self.guard.add(group(&child).as_raw());
        self.follow(child.stdout.take(), &log)?;
        self.follow(child.stderr.take(), &log)?;
        *slot = Some(child);
        Ok(())
    }

    /// Kills it with SIGKILL, with its children, and waits for its end.
    pub fn kill(&self) {
        self.reap(&mut self.child());
    }

    /// Asks it to stop, and kills it when it does not. Whatever its children do, none is left.
    pub fn stop(&self) {
        let mut slot = self.child();
        if let Some(child) = slot.as_ref().filter(|child| !has_exited(child)) {
            signal(child, Signal::SIGTERM);
            // A paused process would see the first signal only when it goes on.
            signal(child, Signal::SIGCONT);
            clock::wait_until(STOP_LIMIT, || has_exited(child));
        }
        self.reap(&mut slot);
    }

    /// Freezes it (SIGSTOP).
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::SIGSTOP)
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// When it does not run.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::SIGCONT)
    }

    fn signal(&self, what: Signal) -> Result<()> {
        match self.child().as_ref() {
            Some(child) if !has_exited(child) => signal(child, what),
            _ => bail!("{} does not run", self.name),
        }
        Ok(())
    }

    /// Ends the whole group while its leader's id still belongs to it, then forgets it.
    fn reap(&self, slot: &mut Option<Child>) {
        if let Some(mut child) = slot.take() {
            signal(&child, Signal::SIGKILL);
            self.guard.remove(group(&child).as_raw());
            let _ = child.wait();
        }
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_log(&self) -> Result<File> {
        let opened = File::options().create(true).append(true).open(&self.log);
        opened.with_context(|| format!("cannot open {}", self.log.display()))
    }

    /// Copies a stream, line by line, to the log file and to whoever listens.
    fn follow(&self, stream: Option<impl Read + Send + 'static>, log: &File) -> Result<()> {
        let (Some(stream), Output::Lines(show)) = (stream, &self.output) else {
            return Ok(());
        };
        let (show, name, mut log) = (Arc::clone(show), self.name.clone(), log.try_clone()?);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let _ = log.write_all(&line);
                show(&name, String::from_utf8_lossy(&line).trim_end());
                line.clear();
            }
        });
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn group(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX))
}

fn signal(child: &Child, what: Signal) {
    // Fails only when the group is gone, which is what most callers want.
    let _ = killpg(group(child), what);
}

/// Looks without reaping: the id stays ours, so a signal to the group can never reach a stranger.
fn has_exited(child: &Child) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(waitid(Id::Pid(group(child)), flags), Ok(WaitStatus::StillAlive))
}
