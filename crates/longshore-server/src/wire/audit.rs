//! Entries of the audit log.

use longshore::Timestamp;
use longshore::audit::{AuditPage, Entry, EntryId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// One page of the audit log.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    /// Newest first.
    pub entries: Vec<EntryView>,
    /// Where to go on (`after`), if there may be more.
    pub next: Option<String>,
}

/// Who changed what.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EntryView {
    /// Its id. Newer ones are greater.
    #[schema(value_type = String, format = Uuid)]
    pub id: EntryId,
    /// When it was begun.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who: the token's name.
    pub actor: String,
    /// What kind of caller: `token`, `anybody`, `cli`.
    pub actor_kind: String,
    /// The token's id.
    pub actor_id: Option<String>,
    /// The address that the request came from: the proxy's, if there is one.
    pub address: Option<String>,
    /// What was asked for: the operation's id.
    #[schema(example = "jobs.cancel")]
    pub action: String,
    /// Of what, mostly a job's id.
    pub target: Option<String>,
    /// Names the request in the server's log.
    pub request_id: Option<String>,
    /// The status of the answer. Null: it goes on, or nobody could write how it ended.
    pub status: Option<u16>,
    /// How many were changed, where it may be several.
    pub count: Option<u64>,
    /// Why, in the caller's words.
    pub why: Option<String>,
    /// What was different `before` and `after`, without payloads.
    #[schema(value_type = Option<Object>)]
    pub detail: Option<Box<RawValue>>,
}

impl From<AuditPage> for AuditView {
    fn from(page: AuditPage) -> AuditView {
        AuditView {
            entries: page.entries.into_iter().map(EntryView::from).collect(),
            next: page.next.map(|id| id.to_string()),
        }
    }
}

impl From<Entry> for EntryView {
    fn from(entry: Entry) -> EntryView {
        EntryView {
            id: entry.id,
            at: entry.at,
            actor: entry.actor,
            actor_kind: entry.actor_kind,
            actor_id: entry.actor_id,
            address: entry.address,
            action: entry.action,
            target: entry.target,
            request_id: entry.request_id,
            status: entry.status,
            count: entry.count,
            why: entry.why,
            // What somebody wrote by hand and is no JSON is left out.
            detail: entry.detail.and_then(|text| RawValue::from_string(text).ok()),
        }
    }
}
