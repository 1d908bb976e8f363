//! A change to a waiting job.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::job::new::Due;
use crate::job::{Event, Invalid, Limits, NewJob};
use crate::time::Timestamp;

/// What to change of a job while it waits; what is not named stays. Checked as at the enqueue.
///
/// ```
/// use longshore::Edit;
/// let edit = Edit::new().priority(0).run_now();
/// ```
#[derive(Clone, Default, PartialEq)]
#[must_use = "an edit changes nothing until it is handed to `Client::edit`"]
pub struct Edit {
    pub(crate) due: Option<Due>,
    pub(crate) priority: Option<u8>,
    pub(crate) queue: Option<String>,
    pub(crate) payload: Option<Box<str>>,
    pub(crate) payload_version: Option<u32>,
    /// Set by an enqueue that replaces; a person does not change what is hidden.
    pub(crate) redacted: Option<Vec<String>>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) version: Option<u32>,
}

impl Edit {
    /// Changes nothing.
    pub fn new() -> Edit {
        Edit::default()
    }

    /// Due at once.
    pub fn run_now(mut self) -> Edit {
        self.due = Some(Due::Now);
        self
    }

    /// Due at this time; one in the past is due at once.
    pub fn run_at(mut self, at: Timestamp) -> Edit {
        self.due = Some(Due::At(at));
        self
    }

    /// Due this long from now, by the store's clock.
    pub fn run_in(mut self, delay: Duration) -> Edit {
        self.due = Some(Due::In(delay));
        self
    }

    /// 0 runs first, 9 last.
    pub fn priority(mut self, priority: u8) -> Edit {
        self.priority = Some(priority);
        self
    }

    /// Another queue.
    pub fn queue(mut self, queue: impl Into<String>) -> Edit {
        self.queue = Some(queue.into());
        self
    }

    /// Another payload, as JSON text; its bytes are kept exactly. A unique key made of the old
    /// payload stays.
    pub fn payload(mut self, json: impl Into<Box<str>>) -> Edit {
        self.payload = Some(json.into());
        self
    }

    /// Another payload, as a value.
    pub fn json(self, payload: &impl Serialize) -> Edit {
        self.payload(serde_json::to_string(payload).unwrap_or_default())
    }

    /// Another version of the payload: the one that a payload given with it has.
    pub fn payload_version(mut self, version: u32) -> Edit {
        self.payload_version = Some(version);
        self
    }

    /// These tags in place of all it has.
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Edit {
        self.tags = Some(tags.into_iter().map(Into::into).collect());
        self
    }

    /// Only if nobody edited it since it was read with this version
    /// ([`crate::StoreError::VersionChanged`] else).
    pub fn if_version(mut self, version: u32) -> Edit {
        self.version = Some(version);
        self
    }

    /// What an enqueue that replaces changes of the waiting holder of its key.
    pub(crate) fn replacement(job: &NewJob) -> Edit {
        Edit {
            due: Some(job.due),
            priority: Some(job.priority),
            payload: Some(job.payload.clone()),
            payload_version: Some(job.payload_version),
            redacted: Some(job.redacted.clone()),
            ..Edit::default()
        }
    }

    /// What it does to a job, as the table of moves names it.
    pub(crate) fn event(&self) -> Event {
        if self.due == Some(Due::Now) { Event::RunNow } else { Event::Edit }
    }

    /// Whether it says nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Edit::default()
    }

    /// Everything that can be wrong with it.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Invalid> {
        let mut job = NewJob::new("edited");
        job.due = self.due.unwrap_or(Due::Now);
        job.priority = self.priority.unwrap_or(job.priority);
        if let Some(queue) = &self.queue {
            job.queue.clone_from(queue);
        }
        if let Some(payload) = &self.payload {
            job.payload.clone_from(payload);
        }
        job.payload_version = self.payload_version.unwrap_or(job.payload_version);
        if let Some(tags) = &self.tags {
            job.tags.clone_from(tags);
        }
        job.check(limits)
    }
}

/// Without the payload: which of its fields nobody may see is known of the job alone.
impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit")
            .field("due", &self.due)
            .field("priority", &self.priority)
            .field("queue", &self.queue)
            .field("payload_bytes", &self.payload.as_ref().map(|payload| payload.len()))
            .field("payload_version", &self.payload_version)
            .field("redacted", &self.redacted)
            .field("tags", &self.tags)
            .field("version", &self.version)
            .finish()
    }
}
