//! A change to a waiting job as JSON (a merge patch, RFC 7396: what is not named stays).

use longshore::job::Invalid;
use longshore::{Edit, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::Span;
use super::new_job::{PRIORITIES, VERSIONS, present, wide, within};

/// A change to a waiting job. What is not named stays.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditBody<'a> {
    /// Another time.
    #[schema(value_type = Option<String>, required = false, format = DateTime)]
    pub run_at: Option<Timestamp>,
    /// Due so long from now, instead of `run_at`.
    #[schema(value_type = Option<String>, required = false, example = "5m")]
    pub run_in: Option<Span>,
    /// 0 runs first, 9 last.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u8>, required = false, minimum = 0, maximum = 9)]
    pub priority: Option<i128>,
    /// Another queue.
    #[schema(value_type = Option<String>, required = false, min_length = 1, max_length = 255)]
    pub queue: Option<String>,
    /// Another payload; its bytes are kept exactly.
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = serde_json::Value, required = false)]
    pub payload: Option<&'a RawValue>,
    /// Which version that payload has.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1)]
    pub payload_version: Option<i128>,
    /// These tags in place of all it has.
    #[schema(value_type = Option<Vec<String>>, required = false, max_items = 64)]
    pub tags: Option<Vec<String>>,
}

impl EditBody<'_> {
    /// The change. Only what its type cannot hold is refused here; the edit checks the rest.
    pub fn into_edit(self) -> Result<Edit, Invalid> {
        let mut edit = Edit::new();
        if let Some(at) = self.run_at {
            edit = edit.run_at(at);
        } else if let Some(span) = self.run_in {
            edit = edit.run_in(span.0);
        }
        if let Some(priority) = self.priority {
            edit = edit.priority(within("priority", priority, PRIORITIES)?);
        }
        if let Some(queue) = self.queue {
            edit = edit.queue(queue);
        }
        if let Some(payload) = self.payload {
            edit = edit.payload(payload.get());
        }
        if let Some(version) = self.payload_version {
            edit = edit.payload_version(within("payload_version", version, VERSIONS)?);
        }
        if let Some(tags) = self.tags {
            edit = edit.tags(tags);
        }
        Ok(edit)
    }
}
