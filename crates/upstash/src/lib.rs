//! A client for Redis over REST, as Upstash and the bridge speak it.
//!
//! Commands and replies are values ([`command`], [`value`]); how they travel is a [`Transport`]. One call is one HTTP
//! request: nothing is retried, but for EVALSHA, which becomes EVAL once when the script is not known ([`client`]).

pub mod client;
pub mod command;
pub mod fault;
pub mod script;
pub mod transport;
pub mod value;

pub use client::Client;
pub use command::Arg;
pub use fault::Fault;
pub use script::Script;
pub use transport::{HttpReply, Transport, TransportFault};
pub use value::Value;
