//! The audit log: written around changes, and read.

use std::sync::Arc;

use super::Client;
use crate::audit::{AuditPage, AuditQuery, EntryEnd, EntryId, LOOK, NewEntry};
use crate::store::{Result, Store};

/// Entries of one read.
const READ: u32 = 500;

impl Client {
    /// Writes that a change is about to be made. What is to leave a trace is not done when this fails.
    pub async fn begin_audit(&self, entry: NewEntry) -> Result<EntryId> {
        let id = entry.id;
        self.call(move |store| async move { store.begin_entry(&entry).await }).await?;
        Ok(id)
    }

    /// Writes how a change ended; the first time counts.
    pub async fn end_audit(&self, id: EntryId, end: EntryEnd) -> Result<()> {
        let end = end.bounded();
        self.call(move |store| async move { store.end_entry(id, &end).await }).await
    }

    /// One page of the audit log, newest first.
    pub async fn audit(&self, query: AuditQuery) -> Result<AuditPage> {
        self.call(move |store| page(store, query)).await
    }
}

async fn page(store: Arc<dyn Store>, query: AuditQuery) -> Result<AuditPage> {
    let (mut page, mut at, mut looked) = (AuditPage::default(), query.before, 0);
    while looked < LOOK {
        let read = store.entries(at, READ).await?;
        let last = read.len() < READ as usize;
        for entry in read {
            if page.entries.len() == query.size() {
                page.next = at;
                return Ok(page);
            }
            at = Some(entry.id);
            if query.fits(&entry) {
                page.entries.push(entry);
            }
        }
        if last {
            return Ok(page);
        }
        looked += READ;
    }
    page.next = at;
    Ok(page)
}
