//! From a payload of any version to a job, and the words for one that does not fit.

use std::error::Error as StdError;

use serde_json::error::Category;

use crate::job::{Job, JobError, Outcome};
use crate::worker::Run;

/// Says whether a payload of this version can be decoded, and if not, why.
/// `hides`: its words must not quote the payload.
pub(crate) type DecodeCheck = fn(payload: &str, version: u32, hides: bool) -> Result<(), JobError>;

/// The run's payload as a job. What does not fit is dead: it will not fit the next time either.
pub(super) fn decode<J: Job>(run: &Run) -> Result<J, Outcome> {
    read(run.payload(), run.payload_version(), run.has_redacted()).map_err(Outcome::Dead)
}

/// The same without a run, and without the job.
pub(crate) fn check<J: Job>(payload: &str, version: u32, hides: bool) -> Result<(), JobError> {
    read::<J>(payload, version, hides).map(|_| ())
}

pub(crate) fn read<J: Job>(payload: &str, version: u32, hides: bool) -> Result<J, JobError> {
    let hides = hides || !J::REDACTED.is_empty();
    let (name, ours) = (std::any::type_name::<J>(), J::VERSION);
    let upgraded;
    let mut payload = payload;
    let mut which = "the payload".to_owned();
    if version > ours {
        // No claim brings one. Somebody who has it all the same should hear why it does not fit.
        which = format!("the payload of version {version}, newer than {ours},");
    } else if version < ours {
        upgraded = J::upgrade(version, payload.into()).map_err(|error| {
            let mut said = JobError::new(format!(
                "the payload of version {version} could not be upgraded to {ours} for `{name}`"
            ));
            if let Some(words) = hidden_cause(&*error).filter(|_| hides) {
                said.chain.push(words);
            } else {
                let JobError { message, chain, .. } = JobError::from_error(&*error);
                said.chain.push(message);
                said.chain.extend(chain);
            }
            said
        })?;
        payload = &upgraded;
        which = format!("the payload of version {version}, upgraded to {ours},");
    }
    serde_json::from_str(payload)
        .map_err(|error| JobError::new(format!("{which} is no `{name}`: {}", words(&error, hides))))
}

/// What is wrong with a payload. serde quotes the value that did not fit.
pub(crate) fn words(error: &serde_json::Error, hides: bool) -> String {
    match error.classify() {
        Category::Data if hides => format!(
            "it does not fit at line {} column {}; what is there is not shown, since fields are redacted",
            error.line(),
            error.column()
        ),
        _ => error.to_string(),
    }
}

/// What to say in place of an error that may quote the payload; `None` if its words are the application's own.
fn hidden_cause(error: &(dyn StdError + 'static)) -> Option<String> {
    let causes = std::iter::successors(Some(error), |cause| (*cause).source()).take(100);
    let json = causes.filter_map(|cause| cause.downcast_ref::<serde_json::Error>()).next();
    json.map(|error| words(error, true))
}
