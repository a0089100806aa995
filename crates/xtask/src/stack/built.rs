//! What a stack is made of, built once per process.

use crate::build::{self, Variant};
use crate::tools;
use anyhow::{Result, anyhow};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What each variant's build came to in this process; an error is kept as its text.
static DONE: Mutex<Option<HashMap<Variant, Result<(), String>>>> = Mutex::new(None);

/// Builds the services and one variant of the edge and installs redis-server, once per process and under a file
/// lock, so that any test binary works alone.
///
/// # Errors
/// When something cannot be installed or built.
pub fn ensure_built(variant: Variant) -> Result<()> {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = done
        .get_or_insert_default()
        .entry(variant)
        .or_insert_with(|| build::exclusive(|| everything(variant)).map_err(|e| format!("{e:#}")));
    outcome.clone().map_err(|text| anyhow!(text))
}

fn everything(variant: Variant) -> Result<()> {
    tools::ensure_apt("redis-server")?;
    build::services()?;
    build::edge(variant).map(drop)
}
