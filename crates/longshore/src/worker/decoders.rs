//! Whether the jobs that wait would find a handler and fit it, asked before a program is rolled out.

use std::collections::HashMap;
use std::panic::catch_unwind;

use crate::handler::DecodeCheck;
use crate::job::JobRow;

/// What a worker would do with the payloads of jobs; see [`crate::Worker::decoders`].
#[derive(Clone, Debug, Default)]
pub struct Decoders {
    pub(super) kinds: HashMap<String, Decoder>,
}

/// What is known of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoder {
    /// The greatest version it decodes.
    pub version: u32,
    /// `None`: the handler takes the payload as it is.
    pub check: Option<DecodeCheck>,
}

/// What would become of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Its payload is decoded and handed to the handler.
    Decodes,
    /// Its handler takes the payload as it is; what it makes of it only a run can tell.
    Unchecked,
    /// It waits for a node that knows its version.
    Newer {
        /// The greatest version that is known here.
        known: u32,
    },
    /// It waits for a node that knows its kind.
    UnknownKind,
    /// It would be dead at once.
    Faulty {
        /// Why.
        error: String,
    },
}

impl Decoders {
    /// What would become of this job. Its payload must be whole, with the redacted fields
    /// ([`crate::Client::reveal`], [`crate::Export::reveal`]). No handler runs, only the kind's
    /// [`crate::Job::upgrade`] and its `Deserialize`.
    pub fn fit(&self, job: &JobRow) -> Fit {
        let Some(decoder) = self.kinds.get(&job.kind) else { return Fit::UnknownKind };
        if job.payload_version > decoder.version {
            return Fit::Newer { known: decoder.version };
        }
        let Some(check) = decoder.check else { return Fit::Unchecked };
        let hides = !job.redacted.is_empty();
        match catch_unwind(|| check(&job.payload, job.payload_version, hides)) {
            Ok(Ok(())) => Fit::Decodes,
            Ok(Err(error)) => {
                let words = std::iter::once(error.message())
                    .chain(error.chain().iter().map(String::as_str));
                Fit::Faulty { error: words.collect::<Vec<_>>().join(": ") }
            }
            Err(_) => Fit::Faulty { error: "decoding it panicked".to_owned() },
        }
    }
}
