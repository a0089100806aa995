//! Who asks: the address from the platform's header, the user from a verified JWT.

mod hs256;
pub mod ip;
pub mod jwt;
pub mod keyring;
