//! What workers without a database call: a node like any other, whose process is somewhere else.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use longshore::store::{Ack, Held, KnownKind, Level, MAX_SCHEMA_BYTES, Progress, Said};
use longshore::work::{
    End, LONGEST_WAIT, Lease, LeasedJob, Line, MAX_JOBS, MAX_SLOTS, NewWorker, SHORTEST_LEASE, Say,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::BASE;
use crate::identity::Identity;
use crate::problem::{Problem, Result};
use crate::request::{Body, ThisNode, or_default, read};
use crate::server::App;
use crate::wire::{
    EndAnswer, EndBody, EndWord, EndedView, EndsBody, ErrorBody, HeartbeatBody, HeartbeatView,
    JoinBody, JoinedView, LeaseBody, LeasedJobView, LeasedView, LimitBody, LineBody, SaidAnswer,
    SaidView, SayBody, SayProgressBody, SaysBody, SlotsBody, VERSIONS, WorkKindBody,
};

const DEFAULT_LEASE: Duration = Duration::from_secs(60);
/// How often a worker beats in a lease.
const BEATS: u32 = 3;
/// The longest that a job may be put off: a year.
const LONGEST_DELAY_MS: i128 = 365 * 86_400_000;
const MAX_DESCRIPTION_BYTES: usize = 1_024;

/// Adds a worker: a node that leases jobs over HTTP.
///
/// Its lease starts now. A worker that does not hear the answer joins again: a node without jobs is gone with its
/// lease.
#[utoipa::path(post, path = "/work/nodes", tag = "work", operation_id = "work.join",
    request_body = JoinBody,
    responses((status = 201, description = "It has joined.", body = JoinedView,
        headers(("Location" = String, description = "Its address.")))))]
pub(crate) async fn join(State(app): State<App>, who: Identity, body: Body) -> Result<Response> {
    let body: JoinBody = body.read()?;
    let lease_ms = number("/lease_ms", body.lease_ms, Some(millis(DEFAULT_LEASE)), {
        (millis(SHORTEST_LEASE), millis(longshore::work::LONGEST_LEASE))
    })?;
    let queues = each("/queues", &body.queues, |place, queue: SlotsBody| {
        let most = (1, i128::from(MAX_SLOTS));
        Ok((queue.queue, number(&format!("{place}/slots"), queue.slots, None, most)? as u32))
    })?;
    let lease_for = Duration::from_millis(lease_ms);
    let worker = NewWorker {
        name: body.name.unwrap_or(who.name),
        version: body.version.unwrap_or_default(),
        queues,
        kinds: each("/kinds", &body.kinds, kind)?,
        lease_for,
    };
    let id = app.work.join(worker).await?;
    let heartbeat_ms = (lease_for / BEATS).as_millis() as u64;
    let location = HeaderValue::try_from(format!("{BASE}/work/nodes/{id}")).expect("an id");
    let view = JoinedView { id: id.to_string(), lease_ms, heartbeat_ms };
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(view)).into_response())
}

/// Hands jobs out to a worker: at once, or as soon as there are some.
///
/// First come those that the node holds and the worker does not list in `holds`, because an earlier answer was lost;
/// only without any are new ones claimed. A worker has one such call under way at a time. To a node that is asked to
/// be quiet or to stop no new jobs are given. A server that stops answers with 503 at once; ask again.
#[utoipa::path(post, path = "/work/nodes/{id}/lease", tag = "work", operation_id = "work.lease",
    params(ThisNode), request_body = LeaseBody,
    responses(
        (status = 200, description = "The jobs; none came in time if there are none.", body = LeasedView),
        (status = 404, description = "The node is lost or unknown.", body = Problem),
    ))]
pub(crate) async fn lease(
    State(app): State<App>,
    ThisNode(id): ThisNode,
    body: Body,
) -> Result<Json<LeasedView>> {
    let body: LeaseBody = body.read()?;
    let limits = |place: &str, queue: LimitBody| {
        let most = (1, i128::from(MAX_SLOTS));
        Ok((queue.queue, number(&format!("{place}/limit"), queue.limit, None, most)? as u32))
    };
    let ask = Lease {
        queues: body.queues.as_deref().map(|all| each("/queues", all, limits)).transpose()?,
        limit: number("/limit", body.limit, Some(1), (1, i128::from(MAX_JOBS)))? as u32,
        holds: body.holds,
        wait: wait(body.wait_ms)?,
    };
    let leased = app.work.lease(id, ask, app.readiness.drained()).await?;
    let jobs = leased.jobs.into_iter().map(LeasedJobView::from).collect();
    Ok(Json(LeasedView { jobs, wish: leased.wish }))
}

/// Renews the lease of all that a worker holds, and tells it what to cancel and what it is asked to be.
///
/// With `wait_ms` it answers as soon as there is news: a job that is asked to cancel, another wish than `state`.
#[utoipa::path(post, path = "/work/nodes/{id}/heartbeat", tag = "work", operation_id = "work.heartbeat",
    params(ThisNode), request_body(content = Option<HeartbeatBody>),
    responses(
        (status = 200, description = "The lease is renewed.", body = HeartbeatView),
        (status = 404, description = "The node is lost or unknown.", body = Problem),
    ))]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    ThisNode(id): ThisNode,
    body: Option<Body>,
) -> Result<Json<HeartbeatView>> {
    let body: HeartbeatBody = or_default(&body)?;
    let state = body.state.unwrap_or_default();
    let beaten = app.work.beat(id, state, wait(body.wait_ms)?, app.readiness.drained()).await?;
    let lease_ms = beaten.lease_for.as_millis() as u64;
    Ok(Json(HeartbeatView { cancel: beaten.cancel, wish: beaten.wish, lease_ms }))
}

/// Writes how runs ended, all of them in one transaction.
///
/// A job that was asked to cancel ends cancelled, whatever is said. A repeat after a lost answer is told the same as the
/// first time for what ended well and is kept; what is late or doubled writes nothing.
#[utoipa::path(post, path = "/work/nodes/{id}/end", tag = "work", operation_id = "work.end",
    params(ThisNode), request_body = EndsBody,
    responses(
        (status = 200, description = "What became of each, in order.", body = EndedView),
        (status = 404, description = "The node is lost or unknown.", body = Problem),
    ))]
pub(crate) async fn end(
    State(app): State<App>,
    ThisNode(id): ThisNode,
    body: Body,
) -> Result<Json<EndedView>> {
    let body: EndsBody = body.read()?;
    let ends = each("/ends", &body.ends, |place, end: EndBody| {
        let held = Held { id: end.job, lease: end.lease };
        Ok((held, ended(place, end)?))
    })?;
    let jobs: Vec<_> = ends.iter().map(|(held, _)| held.id).collect();
    let acks = app.work.end(id, ends).await?;
    let answer = |(job, ack)| match ack {
        Ack::Recorded(state) => EndAnswer { job, state: Some(state), lost: false },
        Ack::LeaseLost => EndAnswer { job, state: None, lost: true },
    };
    Ok(Json(EndedView { answers: jobs.into_iter().zip(acks).map(answer).collect() }))
}

/// Keeps what runs say: how far they are, and lines for their logs.
#[utoipa::path(post, path = "/work/nodes/{id}/say", tag = "work", operation_id = "work.say",
    params(ThisNode), request_body = SaysBody,
    responses(
        (status = 200, description = "What became of each, in order.", body = SaidView),
        (status = 404, description = "The node is lost or unknown.", body = Problem),
    ))]
pub(crate) async fn say(
    State(app): State<App>,
    ThisNode(id): ThisNode,
    body: Body,
) -> Result<Json<SaidView>> {
    let body: SaysBody = body.read()?;
    let says = each("/says", &body.says, said)?;
    let jobs: Vec<_> = says.iter().map(|say| say.held.id).collect();
    let kept = app.work.say(id, says).await?;
    let answer = |(job, said)| SaidAnswer { job, lost: said == Said::LeaseLost };
    Ok(Json(SaidView { answers: jobs.into_iter().zip(kept).map(answer).collect() }))
}

/// Removes a worker. What it still holds is given to others at once, as if it were lost.
#[utoipa::path(delete, path = "/work/nodes/{id}", tag = "work", operation_id = "work.leave",
    params(ThisNode),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "The node is lost or unknown.", body = Problem),
    ))]
pub(crate) async fn leave(State(app): State<App>, ThisNode(id): ThisNode) -> Result<StatusCode> {
    app.work.leave(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<LeasedJob> for LeasedJobView {
    fn from(leased: LeasedJob) -> LeasedJobView {
        let traceparent = leased.traceparent();
        let LeasedJob { job, again } = leased;
        // What the store has was checked when it came; a payload that somebody took away by hand is null.
        let raw = |text: Box<str>| RawValue::from_string(text.into_string()).ok();
        LeasedJobView {
            id: job.id,
            lease: job.lease,
            kind: job.kind,
            queue: job.queue,
            priority: job.priority,
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            run_at: job.run_at,
            timeout_ms: job.timeout_ms,
            payload: raw(job.payload).unwrap_or_else(|| RawValue::NULL.to_owned()),
            payload_version: job.payload_version,
            meta: job.meta.and_then(raw),
            traceparent,
            again,
        }
    }
}

fn kind(place: &str, body: WorkKindBody<'_>) -> Result<KnownKind> {
    let version = body.version.map(|version| {
        let (least, most) = VERSIONS;
        let range = (i128::from(least), i128::from(most));
        number(&format!("{place}/version"), Some(version), None, range)
    });
    let description = body.description.unwrap_or_default();
    if description.len() > MAX_DESCRIPTION_BYTES {
        let size = description.len();
        let detail = format!("description has {size} bytes; the limit is {MAX_DESCRIPTION_BYTES}");
        return Err(Problem::value(&format!("{place}/description"), detail));
    }
    let schema = body.schema.map(RawValue::get).filter(|schema| *schema != "null");
    if schema.is_some_and(|schema| !schema.starts_with('{')) {
        let detail = "schema is not a JSON object";
        return Err(Problem::value(&format!("{place}/schema"), detail));
    }
    let schema = described(schema, &description);
    if let Some(size) = schema.as_ref().map(String::len).filter(|size| *size > MAX_SCHEMA_BYTES) {
        let detail = format!("schema has {size} bytes; the limit is {MAX_SCHEMA_BYTES}");
        return Err(Problem::value(&format!("{place}/schema"), detail));
    }
    let version = version.transpose()?.map(|version| version as u32);
    Ok(KnownKind { name: body.kind, version, schema })
}

/// The schema with the description in it, if it has none of its own.
fn described(schema: Option<&str>, description: &str) -> Option<String> {
    if description.is_empty() {
        return schema.map(str::to_owned);
    }
    let mut fields = match schema.map(serde_json::from_str) {
        None => serde_json::Map::new(),
        Some(Ok(serde_json::Value::Object(fields))) => fields,
        Some(_) => return schema.map(str::to_owned),
    };
    fields.entry("description").or_insert_with(|| description.into());
    Some(serde_json::Value::Object(fields).to_string())
}

/// What one run's end says; whatever belongs to another end is refused.
fn ended(place: &str, body: EndBody<'_>) -> Result<End> {
    let word = body.end;
    let belongs = [
        ("output", body.output.is_some(), word == EndWord::Complete),
        ("error", body.error.is_some(), word == EndWord::Fail),
        ("retry_in_ms", body.retry_in_ms.is_some(), word == EndWord::Fail),
        ("dead", body.dead.is_some(), word == EndWord::Fail),
        ("delay_ms", body.delay_ms.is_some(), {
            matches!(word, EndWord::Snooze | EndWord::Throttle)
        }),
        ("reason", body.reason.is_some(), word == EndWord::Cancel),
    ];
    if let Some((field, ..)) = belongs.iter().find(|(_, said, belongs)| *said && !belongs) {
        let detail = format!("{field} does not belong to this end");
        return Err(Problem::value(&format!("{place}/{field}"), detail));
    }
    let delay = |field: &str, value, default| {
        let ms = number(&format!("{place}/{field}"), value, default, (0, LONGEST_DELAY_MS))?;
        Ok::<_, Problem>(Duration::from_millis(ms))
    };
    Ok(match word {
        EndWord::Complete => End::Complete { output: body.output.map(|json| json.get().into()) },
        EndWord::Fail => {
            let at = format!("{place}/error");
            let Some(error) = body.error else {
                return Err(Problem::value(&at, "error is missing; it says what went wrong"));
            };
            let error: ErrorBody = read(error.get()).map_err(|problem| problem.inside(&at))?;
            let dead = body.dead.unwrap_or(false);
            if dead && body.retry_in_ms.is_some() {
                let detail = "retry_in_ms is said, but with dead there is no next attempt";
                return Err(Problem::value(&format!("{place}/retry_in_ms"), detail));
            }
            let own = body.retry_in_ms.map(|ms| delay("retry_in_ms", Some(ms), None));
            let retry_in = own.transpose()?;
            End::Fail { message: error.message, chain: error.chain, retry_in, dead }
        }
        EndWord::Snooze => End::Snooze(delay("delay_ms", body.delay_ms, None)?),
        EndWord::Throttle => End::Throttle(delay("delay_ms", body.delay_ms, None)?),
        EndWord::Cancel => End::Cancel { why: body.reason.unwrap_or_default() },
        EndWord::GiveBack => End::GiveBack,
    })
}

fn said(place: &str, body: SayBody<'_>) -> Result<Say> {
    let at = format!("{place}/progress");
    let progress = body.progress.map(|progress| {
        let progress: SayProgressBody =
            read(progress.get()).map_err(|problem| problem.inside(&at))?;
        Progress::new(progress.fraction, &progress.text)
            .map_err(|invalid| Problem::value(&format!("{at}/fraction"), invalid.to_string()))
    });
    if body.first.is_some_and(|first| first >= 1 << 53) {
        let detail = "first is too large; it may be 0 to 9007199254740991";
        return Err(Problem::value(&format!("{place}/first"), detail));
    }
    let lines = each(&format!("{place}/lines"), &body.lines, |place, line: LineBody| {
        if line.at.is_some_and(|at| !at.in_range()) {
            let detail = "at is outside 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z";
            return Err(Problem::value(&format!("{place}/at"), detail));
        }
        let level = line.level.unwrap_or(Level::Info);
        let LineBody { message, target, fields, at, .. } = line;
        Ok(Line { level, message, target, fields, at })
    })?;
    let held = Held { id: body.job, lease: body.lease };
    Ok(Say { held, progress: progress.transpose()?, first: body.first, lines })
}

/// Reads the entries of a list, each by itself.
fn each<'a, T: Deserialize<'a>, U>(
    at: &str,
    entries: &[&'a RawValue],
    take: impl Fn(&str, T) -> Result<U>,
) -> Result<Vec<U>> {
    let entry = |(index, entry): (usize, &&'a RawValue)| {
        let place = format!("{at}/{index}");
        let body = read(entry.get()).map_err(|problem| problem.inside(&place))?;
        take(&place, body)
    };
    entries.iter().enumerate().map(entry).collect()
}

/// A number, if it is in its range. `at` ends with its field.
fn number(
    at: &str,
    value: Option<i128>,
    default: Option<i128>,
    (least, most): (i128, i128),
) -> Result<u64> {
    let field = at.rsplit('/').next().unwrap_or(at);
    let Some(value) = value.or(default) else {
        let detail = format!("{field} is missing; it may be {least} to {most}");
        return Err(Problem::value(at, detail));
    };
    if (least..=most).contains(&value) {
        return Ok(value as u64);
    }
    let detail = format!("{field} is {value}; it may be {least} to {most}");
    Err(Problem::value(at, detail))
}

fn millis(span: Duration) -> i128 {
    span.as_millis() as i128
}

fn wait(ms: Option<i128>) -> Result<Duration> {
    number("/wait_ms", ms, Some(0), (0, millis(LONGEST_WAIT))).map(Duration::from_millis)
}
