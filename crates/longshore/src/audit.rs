//! Who changed what: an entry is written before the change, and ended after it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::job::text;
use crate::time::Timestamp;

/// How long entries are kept where nobody says otherwise: 90 days.
pub const DEFAULT_AUDIT_FOR: Duration = Duration::from_secs(90 * 86_400);
/// The most entries of a page.
pub const MAX_ENTRIES: u32 = 200;
/// The most entries that one page looks at.
pub(crate) const LOOK: u32 = 5_000;
/// Bytes of an entry's reason, and of its detail.
const MAX_TEXT: usize = 8 * 1024;
/// Bytes of every other text.
const MAX_WORD: usize = 512;

/// The id of an entry. Newer ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub(crate) Uuid);

/// The text is no entry's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no id of an entry in the audit log")]
pub struct InvalidEntryId(String);

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for EntryId {
    type Err = InvalidEntryId;

    fn from_str(text: &str) -> Result<EntryId, InvalidEntryId> {
        let id = Uuid::parse_str(text);
        id.map(EntryId).map_err(|_| InvalidEntryId(text.chars().take(64).collect()))
    }
}

/// A change that somebody is about to make. Texts are cut at 512 bytes.
#[derive(Clone, Debug)]
pub struct NewEntry {
    pub(crate) id: EntryId,
    pub(crate) actor: String,
    pub(crate) actor_kind: String,
    pub(crate) actor_id: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) action: String,
    pub(crate) target: Option<String>,
    pub(crate) request_id: Option<String>,
}

impl NewEntry {
    /// What is to be done (`action`), who does it, and what kind of caller that is (`token`, `cli`).
    pub fn new(action: &str, actor: &str, actor_kind: &str) -> NewEntry {
        NewEntry {
            id: EntryId(Uuid::now_v7()),
            actor: text::fit(actor, MAX_WORD),
            actor_kind: text::fit(actor_kind, MAX_WORD),
            actor_id: None,
            address: None,
            action: text::fit(action, MAX_WORD),
            target: None,
            request_id: None,
        }
    }

    /// Who exactly, where names need not differ: a token's id.
    pub fn actor_id(mut self, id: &str) -> NewEntry {
        self.actor_id = Some(text::fit(id, MAX_WORD));
        self
    }

    /// Where from.
    pub fn address(mut self, address: &str) -> NewEntry {
        self.address = Some(text::fit(address, MAX_WORD));
        self
    }

    /// To what, such as a job's id.
    pub fn target(mut self, target: &str) -> NewEntry {
        self.target = Some(text::fit(target, MAX_WORD));
        self
    }

    /// In which request, as the server's log names it.
    pub fn request_id(mut self, id: &str) -> NewEntry {
        self.request_id = Some(text::fit(id, MAX_WORD));
        self
    }
}

/// How a change ended.
#[derive(Clone, Debug, Default)]
pub struct EntryEnd {
    /// As over HTTP: below 400 it was done.
    pub status: u16,
    /// How many were changed, where it may be several.
    pub count: Option<u64>,
    /// Why, in the caller's words. Cut at 8 KiB.
    pub why: Option<String>,
    /// What was different before and after, as JSON. No payloads: they may hold what is not to be shown.
    /// Left out above 8 KiB.
    pub detail: Option<String>,
}

impl EntryEnd {
    pub(crate) fn bounded(mut self) -> EntryEnd {
        self.why = self.why.map(|why| text::fit(&why, MAX_TEXT));
        self.detail = self.detail.filter(|detail| detail.len() <= MAX_TEXT);
        self
    }
}

/// An entry as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// When it was begun, by the database's clock.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What kind of caller: `token`, `anybody`, `cli`.
    pub actor_kind: String,
    /// Who exactly, such as a token's id.
    pub actor_id: Option<String>,
    /// Where from.
    pub address: Option<String>,
    /// What was to be done.
    pub action: String,
    /// To what.
    pub target: Option<String>,
    /// In which request.
    pub request_id: Option<String>,
    /// How it ended, as over HTTP. `None`: it goes on, or nobody could write how it ended; look at the target.
    pub status: Option<u16>,
    /// How many were changed, where it may be several.
    pub count: Option<u64>,
    /// Why.
    pub why: Option<String>,
    /// What was different before and after, as JSON.
    pub detail: Option<String>,
}

/// Which entries. `None`: any.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// By this actor.
    pub actor: Option<String>,
    /// Of this action.
    pub action: Option<String>,
    /// Older than this one: the page's before `next`.
    pub before: Option<EntryId>,
    /// Entries of a page, at most [`MAX_ENTRIES`]; 0 for 50.
    pub limit: u32,
}

impl AuditQuery {
    pub(crate) fn size(&self) -> usize {
        if self.limit == 0 { 50 } else { self.limit.min(MAX_ENTRIES) as usize }
    }

    pub(crate) fn fits(&self, entry: &Entry) -> bool {
        let is =
            |asked: &Option<String>, found: &str| asked.as_ref().is_none_or(|asked| asked == found);
        is(&self.actor, &entry.actor) && is(&self.action, &entry.action)
    }
}

/// One page of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditPage {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Where to go on, if there may be more. A page looks at 5,000 entries at most: it may be short, even
    /// empty, and still have this.
    pub next: Option<EntryId>,
}
