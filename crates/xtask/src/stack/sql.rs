//! PostgreSQL or MariaDB of our own: a folder, a port and a user, and nothing of the system's service.
//!
//! Both refuse to be root, so where we are root they run as the user that their package has made. What they write is
//! gone with them, so they need not write it to the disk.

use super::Builder;
use super::guard::Guard;
use super::port::Port;
use super::process::{Process, Spec};
use crate::{clock, command, tools};
use anyhow::{Context, Result, bail};
use nix::unistd::{Gid, Uid, User};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take to start on a busy machine.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
}

/// A running server. Dropping it stops it and removes its data.
#[derive(Debug)]
pub struct SqlServer {
    url: String,
    _process: Process,
    _guard: Arc<Guard>,
    _folder: Option<tempfile::TempDir>,
}

impl SqlServer {
    /// Installs what is missing, starts a server and waits until it serves.
    ///
    /// # Errors
    /// When it cannot be installed or started; the message shows the end of its log.
    pub fn start(kind: Kind) -> Result<Self> {
        let programs = kind.programs()?;
        let (layout, folder) = Builder::default().layout()?;
        // The server is another user, who must come through.
        fs::set_permissions(&layout.folder, Permissions::from_mode(0o711))?;
        let home = layout.folder.join("sql");
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        let owner = Owner::of(kind.user())?;
        owner.give(&home)?;
        let data = home.join("data");
        command::capture(owner.run(&programs.init).args(kind.init_arguments(&data)).current_dir(&home))
            .with_context(|| format!("{} cannot make its data folder", kind.name()))?;
        let init_file = home.join("users.sql");
        fs::write(&init_file, MARIADB_USERS)?;

        let port = Port::reserve()?;
        let (program, mut arguments) = owner.words(&programs.server);
        arguments.extend(kind.arguments(&home, &data, port.number()));
        let guard = Arc::new(Guard::start()?);
        let spec = Spec { program, arguments, environment: Vec::new(), folder: home };
        let process = Process::new(kind.name(), spec, &layout, &guard);
        process.spawn()?;
        let ready = clock::wait_until(READY_LIMIT, || {
            !process.is_running() || fs::read_to_string(process.log()).is_ok_and(|log| log.contains(kind.ready()))
        });
        if !ready || !process.is_running() {
            bail!("{} does not start:\n{}", kind.name(), process.log_tail());
        }
        Ok(Self { url: kind.url(port.number()), _process: process, _guard: guard, _folder: folder })
    }

    /// Its address, with a user who may make databases.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// One statement a line, as MariaDB wants it. The password is in plain sight: the server is on the loopback, and holds
/// what tests make up.
const MARIADB_USERS: &str = "CREATE USER sluice@'%' IDENTIFIED BY 'sluice';\nGRANT ALL ON *.* TO sluice@'%';\n";

struct Programs {
    init: PathBuf,
    server: PathBuf,
}

impl Kind {
    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
        }
    }

    fn user(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mysql",
        }
    }

    fn ready(self) -> &'static str {
        match self {
            Self::Postgres => "database system is ready to accept connections",
            Self::MariaDb => "ready for connections",
        }
    }

    fn programs(self) -> Result<Programs> {
        Ok(match self {
            Self::Postgres => {
                Programs { init: tools::ensure_postgres("initdb")?, server: tools::ensure_postgres("postgres")? }
            }
            Self::MariaDb => Programs {
                init: tools::ensure_apt_of("mariadb-install-db", "mariadb-server")?,
                server: tools::ensure_apt_of("mariadbd", "mariadb-server")?,
            },
        })
    }

    fn init_arguments(self, data: &Path) -> Vec<OsString> {
        let mut arguments = words(match self {
            Self::Postgres => "--auth=trust --username=sluice --encoding=UTF8 --locale=C.UTF-8 --no-sync",
            Self::MariaDb => "--no-defaults --skip-test-db --auth-root-authentication-method=normal",
        });
        match self {
            Self::Postgres => arguments.extend(["-D".into(), data.into()]),
            Self::MariaDb => arguments.push(joined("--datadir=", data)),
        }
        arguments
    }

    fn arguments(self, home: &Path, data: &Path, port: u16) -> Vec<OsString> {
        match self {
            Self::Postgres => {
                let mut arguments = words(
                    "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=400 \
                     -c fsync=off -c full_page_writes=off -c synchronous_commit=off",
                );
                arguments.extend(["-p".into(), port.to_string().into(), "-D".into(), data.into()]);
                arguments
            }
            Self::MariaDb => {
                let mut arguments = words(
                    "--no-defaults --bind-address=127.0.0.1 --skip-name-resolve --max-connections=400 --skip-log-bin \
                     --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-buffer-pool-size=64M",
                );
                arguments.push(format!("--port={port}").into());
                arguments.push(joined("--datadir=", data));
                arguments.push(joined("--socket=", &home.join("socket")));
                arguments.push(joined("--init-file=", &home.join("users.sql")));
                arguments
            }
        }
    }

    fn url(self, port: u16) -> String {
        match self {
            Self::Postgres => format!("postgres://sluice@127.0.0.1:{port}/postgres"),
            Self::MariaDb => format!("mysql://sluice:sluice@127.0.0.1:{port}/mysql"),
        }
    }
}

/// Whom the server runs as: ourselves, or another where we are root.
struct Owner(Option<(Uid, Gid)>);

impl Owner {
    fn of(name: &str) -> Result<Self> {
        if !Uid::effective().is_root() {
            return Ok(Self(None));
        }
        let user = User::from_name(name)?.with_context(|| format!("there is no user {name}"))?;
        Ok(Self(Some((user.uid, user.gid))))
    }

    fn give(&self, folder: &Path) -> Result<()> {
        if let Some((uid, gid)) = self.0 {
            chown(folder, Some(uid.as_raw()), Some(gid.as_raw()))?;
        }
        Ok(())
    }

    /// The program to start, and its first arguments. The same process becomes the server, so signals reach it.
    fn words(&self, program: &Path) -> (PathBuf, Vec<OsString>) {
        let Some((uid, gid)) = self.0 else { return (program.to_owned(), Vec::new()) };
        let other = [format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()];
        let mut arguments: Vec<OsString> = other.into_iter().map(Into::into).collect();
        arguments.push(program.into());
        ("setpriv".into(), arguments)
    }

    fn run(&self, program: &Path) -> Command {
        let (program, arguments) = self.words(program);
        let mut command = Command::new(program);
        command.args(arguments);
        command
    }
}

fn words(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(Into::into).collect()
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}
