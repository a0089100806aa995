//! Ports that no two stacks of this machine share, even between a part's death and its restart.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

/// Below the range from which Linux takes the ports of outgoing connections.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port of 127.0.0.1. A reserved one is ours for as long as the value lives.
#[derive(Debug, Clone)]
pub struct Port {
    number: u16,
    _reservation: Option<Arc<File>>,
}

impl Port {
    /// A given port, not reserved.
    #[must_use]
    pub fn fixed(number: u16) -> Self {
        Self { number, _reservation: None }
    }

    /// A free port, kept from other stacks by a locked file.
    ///
    /// # Errors
    /// When none is free.
    pub fn reserve() -> Result<Self> {
        let folder = folder()?;
        let mut start = [0u8; 2];
        getrandom::fill(&mut start).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let start = u16::from_le_bytes(start) % COUNT;
        for step in 0..COUNT {
            let number = FIRST + (start + step) % COUNT;
            let file = File::create(folder.join(number.to_string()))?;
            if file.try_lock().is_ok() && is_free(number) {
                return Ok(Self { number, _reservation: Some(Arc::new(file)) });
            }
        }
        bail!("no port is free between {FIRST} and {}", FIRST + COUNT)
    }

    /// The number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Whether the number was asked for, so that no other will do.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self._reservation.is_none()
    }
}

/// Whether nobody listens on this port of 127.0.0.1.
#[must_use]
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// One folder per user of the machine: another's lock files could not be opened.
fn folder() -> Result<PathBuf> {
    let name = format!("sluice-ports-{}", nix::unistd::Uid::effective());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn reserved_ports_are_distinct_and_free() {
        let ports: Vec<Port> = (0..20).map(|_| Port::reserve().unwrap()).collect();
        let numbers: HashSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
        assert!(numbers.iter().all(|number| is_free(*number)));
    }

    #[test]
    fn a_port_in_use_is_seen() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
