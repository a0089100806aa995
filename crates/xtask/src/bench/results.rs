//! All that one call has measured.

use super::cold::Starts;
use super::commands::Commands;
use super::growth::Growth;
use super::scenario::{Rounds, Scenario};
use crate::build::Size;
use std::collections::BTreeMap;

/// Whatever was asked for; the rest is empty.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) flows: BTreeMap<Scenario, Rounds>,
    pub(super) cold: Option<Starts>,
    pub(super) growth: Option<Growth>,
    pub(super) commands: Option<Commands>,
    pub(super) size: Option<Size>,
}
