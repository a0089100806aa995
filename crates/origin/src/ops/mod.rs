//! What operators do, by the command line or the admin API: each a function of the stores, with a result to be shown.

pub(crate) mod dead;
pub(crate) mod reconcile;
pub(crate) mod recover;
pub(crate) mod sale;
