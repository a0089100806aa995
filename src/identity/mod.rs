//! Who asks: the address from the platform's header, the user from a verified JWT.

pub mod ip;
pub mod jti;
pub mod jwks;
mod jws;
pub mod jwt;
pub mod key_cache;
pub mod keyring;
