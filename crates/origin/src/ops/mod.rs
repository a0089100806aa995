//! What operators do, by the command line or the admin API: each a function of the stores, with a result to be shown.

pub(crate) mod create;
pub(crate) mod dead;
pub(crate) mod product;
pub(crate) mod reconcile;
pub(crate) mod recover;
pub(crate) mod sale;

/// What was asked about is not there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unknown(pub(crate) String);
