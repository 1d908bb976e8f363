//! What the actions on one job take.

use longshore::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::Span;
use super::new_job::{present, wide};

/// How a cancel is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelBody {
    /// Why, for people.
    #[schema(value_type = Option<String>, required = false)]
    pub why: Option<String>,
}

/// How a job is retried.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryBody<'a> {
    /// How many attempts it has left at least. Default 1.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1, maximum = 1_000_000)]
    pub attempts: Option<i128>,
    /// With another payload; its bytes are kept exactly.
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
}

/// Another time for a waiting job: one of the two.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RescheduleBody {
    /// At this time.
    #[schema(value_type = Option<String>, required = false, format = DateTime)]
    pub run_at: Option<Timestamp>,
    /// So long from now.
    #[schema(value_type = Option<String>, required = false, example = "5m")]
    pub run_in: Option<Span>,
}

/// What is different in the new job; all else is as it was.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RerunBody<'a> {
    /// Another payload; its bytes are kept exactly.
    #[serde(borrow, default, deserialize_with = "present")]
    #[schema(value_type = serde_json::Value, required = false)]
    pub payload: Option<&'a RawValue>,
    /// Which version that payload has.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1)]
    pub payload_version: Option<i128>,
    /// Another queue.
    #[schema(value_type = Option<String>, required = false, min_length = 1, max_length = 255)]
    pub queue: Option<String>,
}
