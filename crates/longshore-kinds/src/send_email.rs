//! The kind `send_email`: a mail, handed to the operator's server.
//!
//! Payloads come from strangers: nothing of one can become a header or a command of its own, and only senders that the
//! operator allowed are said to have written. The server either takes a mail for all its recipients or gets none of it.

mod compose; // the payload as a message and an envelope
mod mailer; // the server: where it is and how it is spoken to
mod session; // the conversation with it
mod stream; // the connection, watched

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::KindError;
pub use mailer::{Mailer, SmtpConfig, SmtpSecurity};

/// Bytes of a subject, of an address with its name, and of the value of a header.
pub const MAX_LINE_BYTES: usize = 900;
/// Headers of one's own.
pub const MAX_HEADERS: usize = 32;
/// Attachments of one mail.
pub const MAX_ATTACHMENTS: usize = 32;

/// The payload: a mail.
///
/// Addresses are `anna@example.org` or `Anna <anna@example.org>`. At least one of `to`, `cc` and `bcc` names somebody, and
/// at least one of `text`, `html` and `attachments` is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendEmail {
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Who gets it besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cc: Vec<String>,
    /// Who gets it, and is not named in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bcc: Vec<String>,
    /// Who wrote it: one that the operator allowed. Default: the operator's `kinds.smtp_from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where answers go. Default: to `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// One line, at most 900 bytes.
    pub subject: String,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The same as HTML, for those who show that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Files that come with it, 32 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub attachments: Vec<Attachment>,
    /// Headers of one's own, such as `List-Unsubscribe`: 32 at most, each on one line. None that mail itself needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// A file that comes with a mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// What it is called, without a folder.
    pub name: String,
    /// What it is, such as `application/pdf`; neither `multipart/…` nor `message/…`.
    pub content_type: String,
    /// Its bytes in base64; lines may be broken.
    pub content: String,
}

/// A job's output: the mail that the server has taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Its `Message-ID`, with the job's id in it: the same for every attempt, so that a second copy can be told.
    pub message_id: String,
    /// What the server said to it.
    pub response: String,
}

impl SendEmail {
    /// Looks at the payload alone; [`Mailer::send`] does the same first.
    ///
    /// # Errors
    /// [`KindError::Payload`] or [`KindError::TooLarge`], which name the field.
    pub fn check(&self, config: &SmtpConfig) -> Result<(), KindError> {
        compose::letter(self, config, "check").map(|_| ())
    }
}
