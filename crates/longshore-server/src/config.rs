//! What may be set about the API.

use std::time::Duration;

use longshore::access::Secret;

use crate::rights::Role;

/// How the API behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Who may do what. Default [`Access::Closed`].
    pub access: Access,
    /// A token of this process's own, which gives everything and is kept nowhere. Default none.
    pub process_token: Option<Secret>,
    /// Signs in whoever shows it first, within 10 minutes, as this process: `/sign-in?code=…`. Needs
    /// `process_token`. Default none.
    pub sign_in_code: Option<Secret>,
    /// How many requests one token may make. Default 100 a second, 200 at once.
    pub rate: Rate,
    /// Bytes of one body. Default 2 MiB, so that a payload somewhat above its own limit is told that limit.
    pub body_bytes: usize,
    /// Bytes of a batch's body. Default 16 MiB.
    pub batch_bytes: usize,
    /// How long a request may take until its answer begins. Default 30 s; one that waits for a job has its own.
    pub timeout: Duration,
    /// The longest that a request may wait for a job. Default 60 s.
    pub longest_wait: Duration,
    /// Names by which this server may be called (`Host`), in lower case and without port; against pages that
    /// have a name of theirs lead here. Default: any.
    pub hosts: Option<Vec<String>>,
    /// Whether `/metrics` is shown to whoever reaches this server, without the right `metrics:read`. Default no: it
    /// names kinds and queues.
    pub metrics_open: bool,
    /// How many event streams may be open at a time. Default 100.
    pub streams: usize,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            access: Access::Closed,
            process_token: None,
            sign_in_code: None,
            rate: Rate::default(),
            body_bytes: 2 << 20,
            batch_bytes: 16 << 20,
            timeout: Duration::from_secs(30),
            longest_wait: Duration::from_secs(60),
            hosts: None,
            metrics_open: false,
            streams: 100,
        }
    }
}

/// How many requests one token may make to this process. More are refused with 429 and told when to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// A second, over time. Default 100.
    pub per_second: u32,
    /// At once, after a pause. Default 200.
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { per_second: 100, burst: 200 }
    }
}

/// Who may do what without credentials of this server's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing: a token is needed.
    Closed,
    /// All that this role may: something before this router asks who it is.
    Open(Role),
}
