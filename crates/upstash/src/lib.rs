//! REST client.
