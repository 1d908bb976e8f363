//! What both stores say of a unique key that another job holds.

use crate::job::unique::callers;
use crate::job::{JobId, NewJob, OnConflict, Unique};

use super::StoreError;

/// A key that another job holds.
pub(crate) struct HeldKey<'a> {
    /// As it is stored.
    pub stored: &'a str,
    pub holder: JobId,
    /// Of the holder's payload, if it asked for that.
    pub fingerprint: Option<&'a [u8]>,
}

impl HeldKey<'_> {
    /// Fails if `job` cannot live with that: its rule refuses, or its payload is another one.
    /// `index` is its place in the call.
    pub(crate) fn refuse(
        &self,
        job: &NewJob,
        unique: &Unique,
        index: Option<usize>,
    ) -> Result<(), StoreError> {
        let (key, holder) = (callers(self.stored).to_owned(), self.holder);
        if let (Some(ours), Some(theirs)) = (unique.fingerprint(&job.payload), self.fingerprint)
            && ours != theirs
        {
            return Err(StoreError::KeyReused { key, holder, index });
        }
        match unique.on_conflict {
            OnConflict::Refuse => Err(StoreError::KeyHeld { key, holder, index }),
            OnConflict::Keep | OnConflict::Replace => Ok(()),
        }
    }
}
