//! What may be set about the API.

use std::time::Duration;

use crate::rights::Role;

/// How the API behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Who may do what. Default [`Access::Closed`].
    pub access: Access,
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
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            access: Access::Closed,
            body_bytes: 2 << 20,
            batch_bytes: 16 << 20,
            timeout: Duration::from_secs(30),
            longest_wait: Duration::from_secs(60),
            hosts: None,
            metrics_open: false,
        }
    }
}

/// Who may do what without credentials of this server's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Closed,
    /// All that this role may: something before this router asks who it is.
    Open(Role),
}
