//! What goes wrong with a worker's call.

use crate::job::Invalid;
use crate::store::{NodeId, StoreError};

/// The answer of a worker's call.
pub type WorkResult<T> = Result<T, WorkError>;

/// What goes wrong with a worker's call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// Something about the call is not allowed; nothing was done.
    #[error("{detail}")]
    Refused {
        /// Where, as a JSON pointer into the call's fields.
        at: String,
        /// The field, what is wrong with it, and what it may be.
        detail: String,
    },
    /// This process is about to stop; another one answers.
    #[error("this server stops; ask again")]
    Stopping,
    /// The store's words; [`StoreError::NodeLost`] if the node is lost or unknown.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkError {
    pub(super) fn lost(node: NodeId) -> WorkError {
        StoreError::NodeLost(node).into()
    }

    pub(super) fn refused(at: &str, detail: String) -> WorkError {
        WorkError::Refused { at: at.to_owned(), detail }
    }

    pub(super) fn at(at: &str, invalid: Invalid) -> WorkError {
        WorkError::refused(at, invalid.to_string())
    }

    pub(super) fn range(
        at: &str,
        name: &str,
        value: u128,
        (least, most): (u128, u128),
    ) -> WorkError {
        WorkError::refused(at, format!("{name} is {value}; it may be {least} to {most}"))
    }
}
