//! What the gate needs of the world, besides Redis. Natively these are stand-ins or real services; at the edge, JavaScript.

use crate::api::response::Response;
use crate::model::{Algorithm, Millis};

/// A request as it came in, read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Method, in upper case.
    pub method: String,
    /// Path, still percent-encoded.
    pub path: String,
    /// Query without its question mark; empty when there is none.
    pub query: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Read whole.
    Whole(Vec<u8>),
    /// Larger than was to be read; nothing of it was kept.
    TooLarge,
    /// Not read: it waits in the adapter, to be sent on as it comes.
    Streamed,
}

impl Default for Body {
    fn default() -> Self {
        Self::Whole(Vec::new())
    }
}

impl Request {
    /// The first header of that name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Path and query as they are forwarded.
    #[must_use]
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }
}

/// A request to the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forward {
    /// Method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Body, when it was read.
    pub body: Vec<u8>,
    /// Nothing is held back: the client's own body is sent on as it comes, up to so many bytes, and the answer waits as a
    /// stream as soon as its head is there.
    pub streams: Option<usize>,
    /// How long the answer may take: to its head when it streams, else whole (of a large one, what is kept).
    pub timeout: Millis,
}

/// The origin's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status, headers, and the body unless it is streamed.
    pub response: Response,
    /// The body waits as a stream in the adapter, to be sent on as it comes: the route streams, or it is large.
    pub streamed: bool,
}

/// Why the origin gave no answer. The request may have reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFault {
    /// The time was over.
    Timeout,
    /// No connection, or it broke off.
    Unreachable,
    /// The client's body, sent on as it came, was longer than the route takes; the request was broken off.
    BodyTooLarge,
}

/// The replacement of the configuration cannot be read at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentAway;

/// One decision, as it is measured. Nothing in it tells who asked.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Name of the route; empty when there was none.
    pub route: &'a str,
    /// As the log tells it.
    pub verdict: &'static str,
    /// The sale; empty when there was none.
    pub sku: &'a str,
    /// From the request to the answer.
    pub took: Millis,
    /// Waiting for Redis, when it was asked.
    pub redis: Option<Millis>,
    /// Waiting for the origin, when it was asked.
    pub origin: Option<Millis>,
}

/// A signature that the platform is to check.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// How it was made; never [`Algorithm::Hs256`].
    pub algorithm: Algorithm,
    /// The public key, as a JWK.
    pub jwk: &'a str,
    /// What is signed.
    pub message: &'a [u8],
    /// The signature, as JWS (RFC 7515) has it.
    pub signature: &'a [u8],
}

/// Why a service that the gate asks gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskFault {
    /// The time was over.
    Timeout,
    /// No connection, or it broke off.
    Unreachable,
    /// The answer is larger than the adapter reads.
    TooLarge,
}

impl AskFault {
    /// In a log line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "no answer in time",
            Self::Unreachable => "not reached",
            Self::TooLarge => "the answer is too large",
        }
    }
}

/// The fields of a form.
pub type Form<'a> = &'a [(&'static str, &'a str)];

/// The world, for one request.
pub trait Ports: Clone + 'static {
    /// The isolate's clock.
    fn now(&self) -> Millis;

    /// 16 random bytes from a source fit for cryptography.
    fn random(&self) -> [u8; 16];

    /// Sends a request to the origin. Never retries, never follows a redirect.
    fn forward(&self, request: Forward) -> impl Future<Output = Result<Answer, OriginFault>>;

    /// The document that replaces the embedded configuration, as JSON, when there is one.
    fn document(&self) -> impl Future<Output = Result<Option<String>, DocumentAway>>;

    /// Whether the platform's own limit, where one is bound, lets pass who is counted as `key`.
    fn flood(&self, key: &str) -> impl Future<Output = bool>;

    /// Keeps a measurement, where the deployment has a place for them.
    fn measure(&self, point: &Point<'_>);

    /// Whether a signature is good. One that cannot be checked, because the key is none, is not.
    fn verify(&self, signature: Signature<'_>) -> impl Future<Output = bool>;

    /// Asks a service at an address of the configuration: reads it, or posts a form to it. Answers status and body, whole
    /// within `timeout`. Never retries, never follows a redirect. No value of the form may hold a line feed.
    fn ask(
        &self,
        url: &str,
        form: Option<Form<'_>>,
        timeout: Millis,
    ) -> impl Future<Output = Result<(u16, String), AskFault>>;

    /// Lets time pass.
    fn pause(&self, length: Millis) -> impl Future<Output = ()>;

    /// Goes on with `work` after the answer is sent.
    fn background(&self, work: impl Future<Output = ()> + 'static);

    /// Writes one line to the log.
    fn log(&self, line: &str);
}
