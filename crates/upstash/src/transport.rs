//! How a request travels.

use std::time::Duration;

/// An HTTP answer, read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// HTTP status.
    pub status: u16,
    /// The body's text.
    pub body: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportFault {
    /// The time-out passed first.
    Timeout,
    /// No connection, or it broke off.
    Network(String),
}

/// Carries one POST of JSON to the REST endpoint. URL and token are the transport's own; it never retries.
pub trait Transport {
    /// Posts `body` to `path` (`"/"`, `"/pipeline"`) and waits at most `timeout` for the whole answer.
    fn post(
        &self,
        path: &'static str,
        body: String,
        timeout: Duration,
    ) -> impl Future<Output = Result<HttpReply, TransportFault>>;
}

#[cfg(feature = "reqwest")]
pub use over_reqwest::Reqwest;

#[cfg(feature = "reqwest")]
mod over_reqwest {
    use std::fmt;
    use std::time::Duration;

    use super::{HttpReply, Transport, TransportFault};

    /// The transport over `reqwest`: connections are kept and shared by clones.
    #[derive(Clone)]
    pub struct Reqwest {
        client: reqwest::Client,
        url: String,
        token: String,
    }

    impl Reqwest {
        /// Talks to `url` with the bearer `token`.
        ///
        /// # Errors
        /// When the platform gives no HTTP client.
        pub fn new(url: &str, token: &str) -> Result<Self, reqwest::Error> {
            let client = reqwest::Client::builder().build()?;
            Ok(Self { client, url: url.trim_end_matches('/').to_owned(), token: token.to_owned() })
        }
    }

    impl fmt::Debug for Reqwest {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Reqwest").field("url", &self.url).finish_non_exhaustive()
        }
    }

    impl Transport for Reqwest {
        async fn post(&self, path: &'static str, body: String, timeout: Duration) -> Result<HttpReply, TransportFault> {
            let request = self
                .client
                .post(format!("{}{path}", self.url))
                .bearer_auth(&self.token)
                .header("content-type", "application/json")
                .timeout(timeout)
                .body(body);
            let answer = request.send().await.map_err(fault)?;
            let status = answer.status().as_u16();
            Ok(HttpReply { status, body: answer.text().await.map_err(fault)? })
        }
    }

    fn fault(error: reqwest::Error) -> TransportFault {
        if error.is_timeout() {
            TransportFault::Timeout
        } else {
            TransportFault::Network(error.without_url().to_string())
        }
    }
}
