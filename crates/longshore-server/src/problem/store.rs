//! What the library's errors are over HTTP.

use axum::http::{HeaderValue, header};
use longshore::StoreError;
use longshore::job::{Invalid, Problem as Wrong};
use longshore::query::QueryError;
use longshore::store::InvalidCursor;
use longshore::work::WorkError;

use super::{Code, Fault, Problem};

/// When to try again while the database is away, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        let detail = error.to_string();
        match error {
            StoreError::Invalid(invalid) => invalid.into(),
            StoreError::NotFound(_) | StoreError::NoOperation(_) | StoreError::NoNode(_) => {
                Problem::new(Code::NotFound, detail)
            }
            StoreError::NodeLost(_) => Problem::new(Code::NodeLost, detail),
            StoreError::Refused { .. } | StoreError::OperationRefused { .. } => {
                Problem::new(Code::Refused, detail)
            }
            StoreError::KeyHeld { index, .. } => {
                Problem::new(Code::KeyHeld, &detail).fault(of_job(index, "/unique_key", detail))
            }
            StoreError::KeyReused { index, .. } => {
                Problem::new(Code::KeyReused, &detail).fault(of_job(index, "/unique_key", detail))
            }
            StoreError::VersionChanged { .. } => Problem::new(Code::Changed, detail),
            StoreError::Cursor(cursor) => cursor.into(),
            StoreError::Unavailable { .. } | StoreError::KeyBusy | StoreError::NotLeader => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the database is away");
                Problem::new(Code::Unavailable, detail).header(header::RETRY_AFTER, RETRY_AFTER)
            }
            // Somebody has to set it right; until then it is as good as away.
            StoreError::Schema { .. }
            | StoreError::Checksum { .. }
            | StoreError::NoDatabase { .. }
            | StoreError::SharedMount { .. }
            | StoreError::OtherHost { .. }
            | StoreError::Config(_) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the database cannot be used"
                );
                let detail = "the database cannot be used as it is; the server's log says why";
                Problem::new(Code::Unavailable, detail).header(header::RETRY_AFTER, RETRY_AFTER)
            }
            error => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "a fault of this program"
                );
                Problem::new(Code::Internal, detail)
            }
        }
    }
}

impl From<WorkError> for Problem {
    fn from(error: WorkError) -> Problem {
        match error {
            WorkError::Refused { at, detail } => Problem::value(&at, detail),
            WorkError::Store(error) => error.into(),
            WorkError::Stopping => Problem::new(Code::Draining, error.to_string())
                .header(header::RETRY_AFTER, RETRY_AFTER),
            error => {
                tracing::error!(error = &error as &dyn std::error::Error, "an unknown fault");
                Problem::new(Code::Internal, error.to_string())
            }
        }
    }
}

impl From<InvalidCursor> for Problem {
    fn from(error: InvalidCursor) -> Problem {
        Problem::new(Code::BadCursor, error.to_string())
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Problem {
        let code = match invalid.problem {
            Wrong::TooLarge { .. } => Code::TooLarge,
            _ => Code::Invalid,
        };
        let pointer = format!("/{}", invalid.field.replace('.', "/"));
        let fault = Invalid { index: None, ..invalid.clone() }.to_string();
        Problem::new(code, invalid.to_string()).fault(of_job(invalid.index, &pointer, fault))
    }
}

fn of_job(index: Option<usize>, pointer: &str, detail: String) -> Fault {
    let pointer = match index {
        Some(index) => format!("/jobs/{index}{pointer}"),
        None => pointer.to_owned(),
    };
    Fault { pointer: Some(pointer), detail, ..Fault::default() }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Problem {
        let at = error.at();
        let fault = Fault {
            parameter: Some("q"),
            at: Some(at.start),
            length: Some(at.len()),
            detail: error.sentence(),
            ..Fault::default()
        };
        Problem::new(Code::BadQuery, error.sentence()).fault(fault)
    }
}
