//! Requests that are carried out once, however often they are sent.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::Enqueued;

/// How long a request is remembered.
pub const REQUESTS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Names a request, such as by the header `Idempotency-Key`. Hashes alone are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    pub(crate) key: [u8; 32],
    pub(crate) fingerprint: [u8; 32],
}

impl RequestKey {
    /// A request of this caller, by this key of theirs, which asks for this. The parts of what is asked for are
    /// told apart: `["ab", "c"]` is not `["a", "bc"]`.
    pub fn new(caller: &str, key: &str, asked: &[&[u8]]) -> RequestKey {
        RequestKey { key: hash(&[caller.as_bytes(), key.as_bytes()]), fingerprint: hash(asked) }
    }
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Once {
    /// It was carried out now.
    Now(Vec<Enqueued>),
    /// It was carried out before, within the last 24 hours: what was answered then.
    Before(Vec<Enqueued>),
    /// Another request has this key. Nothing was done.
    Other,
}

/// What the request of this key that was carried out before means for this one.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn before(
    request: &RequestKey,
    fingerprint: &[u8],
    answer: Option<&str>,
) -> super::Result<Once> {
    if fingerprint != request.fingerprint {
        return Ok(Once::Other);
    }
    let answers = kept::read(answer.unwrap_or("[]"))
        .map_err(|error| super::StoreError::Bug { doing: "enqueue", source: error.into() })?;
    Ok(Once::Before(answers))
}

/// Answers as they are kept: of each its id and its outcome.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) mod kept {
    use uuid::Uuid;

    use super::super::{EnqueueOutcome, Enqueued};
    use crate::job::JobId;

    pub fn write(answers: &[Enqueued]) -> String {
        let kept: Vec<(Uuid, &str)> =
            answers.iter().map(|one| (one.id.as_uuid(), word(one.outcome))).collect();
        serde_json::to_string(&kept).expect("ids and words")
    }

    pub fn read(text: &str) -> Result<Vec<Enqueued>, serde_json::Error> {
        let kept: Vec<(Uuid, String)> = serde_json::from_str(text)?;
        let answer = |(id, word): (Uuid, String)| {
            let outcome = match &*word {
                "added" => EnqueueOutcome::Added,
                "replaced" => EnqueueOutcome::Replaced,
                _ => EnqueueOutcome::Duplicate,
            };
            Enqueued { id: JobId::from_uuid(id), outcome }
        };
        Ok(kept.into_iter().map(answer).collect())
    }

    fn word(outcome: EnqueueOutcome) -> &'static str {
        match outcome {
            EnqueueOutcome::Added => "added",
            EnqueueOutcome::Replaced => "replaced",
            _ => "duplicate",
        }
    }
}
