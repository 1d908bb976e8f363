//! What went wrong between here and a server, with the exit code that says so.

use std::error::Error;
use std::time::Duration;

use axum::http::StatusCode;
use longshore_server::problem::Code;
use serde::Deserialize;

use super::address::Address;
use crate::exit::{Exit, Failure, with_causes};
use longshore_server::wire::Span;

/// The problem of an answer, as far as it is needed here.
#[derive(Deserialize)]
struct Body {
    code: String,
    detail: String,
    request_id: Option<String>,
    #[serde(default)]
    errors: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    pointer: Option<String>,
}

/// Reads a problem of ours; `None` if it is none.
pub(super) fn read(body: &[u8], with_token: bool) -> Option<Failure> {
    let Body { code, detail, request_id, errors } = serde_json::from_slice(body).ok()?;
    let code = Code::ALL.iter().find(|known| known.as_str() == code);
    let words = match code {
        Some(Code::Unauthorized) if !with_token => {
            "the server wants a token: LONGSHORE_TOKEN, `token` in longshore.toml, or --token"
                .to_owned()
        }
        Some(Code::Unauthorized) => format!("the server does not take the token: {detail}"),
        _ => detail,
    };
    let exit = code.map_or(Exit::Failed, |code| exit_of(*code));
    let index = errors.iter().find_map(place);
    // The place is told by whoever knows a better name for it.
    let words = match index {
        Some(index) => words.strip_prefix(&format!("job {index}: ")).unwrap_or(&words).to_owned(),
        None => words,
    };
    let mut failure = Failure { index, ..Failure::new(exit, words) };
    failure.passes = exit == Exit::Unreachable || code == Some(&Code::InProgress);
    // What the caller did wrong needs no look into the server's log.
    if matches!(exit, Exit::Failed | Exit::Unreachable | Exit::Denied)
        && let Some(id) = request_id
    {
        failure.below.push(format!("request {id}, in the server's log"));
    }
    Some(failure)
}

/// Which job of a batch is meant: `/jobs/3/priority`.
fn place(fault: &Fault) -> Option<usize> {
    let rest = fault.pointer.as_deref()?.strip_prefix("/jobs/")?;
    rest.split('/').next()?.parse().ok()
}

/// As the same mistake ends on the database.
fn exit_of(code: Code) -> Exit {
    match code {
        Code::BadJson
        | Code::BadParameter
        | Code::BadQuery
        | Code::BadCursor
        | Code::BadRequest
        | Code::TooLarge
        | Code::MediaType
        | Code::Invalid => Exit::Usage,
        Code::Unauthorized | Code::Forbidden => Exit::Denied,
        Code::NotFound | Code::NodeLost => Exit::NotFound,
        Code::Refused
        | Code::KeyHeld
        | Code::KeyReused
        | Code::Taken
        | Code::InProgress
        | Code::Changed => Exit::Conflict,
        Code::Timeout
        | Code::TooMany
        | Code::TooManyStreams
        | Code::Unavailable
        | Code::Draining => Exit::Unreachable,
        Code::MethodNotAllowed | Code::Internal => Exit::Failed,
    }
}

fn away(words: String) -> Failure {
    Failure { passes: true, ..Failure::new(Exit::Unreachable, words) }
}

/// No connection.
pub(super) fn unreached(address: &Address, error: &(dyn Error + 'static)) -> Failure {
    let causes = with_causes(error);
    if causes.contains("invalid peer certificate") {
        let words = format!("{address} cannot be trusted: {causes}");
        let mut failure = Failure::new(Exit::Unreachable, words);
        failure.below.push(
            "an authority of your own is named with remote.ca_file, LONGSHORE_REMOTE__CA_FILE"
                .to_owned(),
        );
        return failure;
    }
    away(format!("{address} cannot be reached: {causes}"))
}

/// It was sent, and no answer came back.
pub(super) fn lost(address: &Address, error: &(dyn Error + 'static)) -> Failure {
    let hyper = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    if hyper.is_some_and(hyper::Error::is_parse) {
        let causes = with_causes(error);
        let words = format!("{address} answers with what is no HTTP: {causes}");
        return Failure::failed(words);
    }
    away(format!("{address} broke off before it answered: {}", with_causes(error)))
}

/// It was sent, and for so long nothing came.
pub(super) fn silent(address: &Address, limit: Duration) -> Failure {
    let limit = Span(limit);
    away(format!(
        "{address} did not answer within {limit}; what was asked for may be done all the same"
    ))
}

/// The answer has an end that is none.
pub(super) fn broken_off(address: &Address, error: &(dyn Error + 'static)) -> Failure {
    away(format!("the answer of {address} broke off: {}", with_causes(error)))
}

/// Not one of our servers, or something between here and it.
pub(super) fn foreign(address: &Address, status: StatusCode, kind: &str) -> Failure {
    let status = status.as_u16();
    Failure::failed(format!(
        "{address} answers {status} with {kind}, as no Longshore server does: is it the right address?"
    ))
}

/// JSON, but not what this program knows.
pub(super) fn unreadable(address: &Address, error: &serde_json::Error) -> Failure {
    Failure::failed(format!(
        "the answer of {address} cannot be read: {error}; is the server of another version?"
    ))
}

/// More than anybody should have to keep.
pub(super) fn endless(address: &Address, most: usize) -> Failure {
    Failure::failed(format!("the answer of {address} has more than {most} bytes"))
}

/// Not followed: the token was meant for the first address.
pub(super) fn redirected(address: &Address, place: &str) -> Failure {
    let place: String = place.chars().take(200).collect();
    Failure::usage(format!(
        "{address} leads on to {place}, and a token is not carried there; name the right address as the url"
    ))
}
