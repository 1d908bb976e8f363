//! Events: that something has changed, as it happens.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;

use crate::events::{LOOK_EVERY, Listener, Seen, Topic};
use crate::health::Readiness;
use crate::identity::Identity;
use crate::problem::{Code, Problem, Result};
use crate::request::{Params, shown};
use crate::server::App;

/// When a listener comes back after its stream broke off.
const RETRY: Duration = Duration::from_secs(2);
/// So often there is a comment, so that nobody between takes the connection for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A stream is not longer: then the listener comes back, and its right is looked at again.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// What to listen to.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsParams {
    /// Topics, with commas between: `jobs`, `queues`, `nodes`, `stats`.
    #[param(example = "jobs,queues")]
    topics: String,
}

/// Tells, as Server-Sent Events, *that* something of a topic may have changed, at most twice a second for each topic.
///
/// The event's name is the topic; look at what you are interested in. A stream begins with `hello`, or with `reset` if
/// it cannot be told what was missed since `Last-Event-ID`: then look at everything. It ends with `bye` when this
/// server stops, and after 15 minutes; come back with `Last-Event-ID`. Each topic needs the right to look at it.
#[utoipa::path(get, path = "/events", tag = "stats", operation_id = "events.listen",
    params(
        EventsParams,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received."),
    ),
    responses(
        (status = 200, description = "Events, without end.", body = String, content_type = "text/event-stream"),
        (status = 403, description = "The right to look at a topic is missing.", body = Problem),
        (status = 429, description = "This server has as many streams open as it may.", body = Problem),
    ))]
pub(crate) async fn listen(
    State(app): State<App>,
    who: Identity,
    Params(params): Params<EventsParams>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let topics = topics(&params.topics)?;
    for topic in &topics {
        who.check(topic.right())?;
    }
    let listener = app.events.listen(&app.client).ok_or_else(|| {
        let detail = format!(
            "this server has {} event streams open, as many as it may; poll instead, or come back later",
            app.config.streams
        );
        Problem::new(Code::TooManyStreams, detail).header(header::RETRY_AFTER, 30)
    })?;
    let last = headers.get("last-event-id").map(|id| Seen::read(id.to_str().unwrap_or_default()));
    let stream = Events::begin(listener, topics, last, app.readiness.clone());
    let events = futures_util::stream::unfold(stream, Events::next);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

fn topics(text: &str) -> Result<Vec<Topic>> {
    let mut topics = Vec::new();
    for word in text.split(',') {
        let topic = Topic::ALL.into_iter().find(|topic| topic.as_str() == word.trim());
        let topic = topic.ok_or_else(|| {
            let shown = shown(word);
            let detail = format!("`{shown}` is no topic; there are jobs, queues, nodes, stats");
            Problem::parameter("topics", detail)
        })?;
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    Ok(topics)
}

/// One stream. It holds what its listener has seen, and at most an event for each topic.
struct Events {
    listener: Listener,
    topics: Vec<Topic>,
    seen: Seen,
    ready: VecDeque<Event>,
    readiness: Readiness,
    /// Not before this anything more is told.
    next_at: Instant,
    ends_at: Instant,
    over: bool,
}

impl Events {
    fn begin(
        mut listener: Listener,
        topics: Vec<Topic>,
        last: Option<Seen>,
        readiness: Readiness,
    ) -> Events {
        let now = Instant::now();
        let seen = *listener.seen.borrow_and_update();
        let mut ready = VecDeque::new();
        match last.map(|last| seen.since(&last, &topics)) {
            None => ready.push_back(event("hello", &seen).retry(RETRY)),
            Some(None) => ready.push_back(event("reset", &seen).retry(RETRY)),
            Some(Some(missed)) => {
                ready.push_back(event("hello", &seen).retry(RETRY));
                ready.extend(missed.iter().map(|topic| event(topic.as_str(), &seen)));
            }
        }
        let (next_at, ends_at) = (now + LOOK_EVERY, now + LONGEST);
        Events { listener, topics, seen, ready, readiness, next_at, ends_at, over: false }
    }

    /// The next event. Asked for only when the one before has gone out, so a slow listener makes nothing pile up.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Events)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((Ok(event), self));
            }
            if self.over {
                return None;
            }
            tokio::select! {
                () = self.readiness.drained() => {
                    self.over = true;
                    self.ready.push_back(event("bye", &self.seen));
                }
                () = tokio::time::sleep_until(self.ends_at) => self.over = true,
                () = news(&mut self.listener, self.next_at) => self.gather(),
            }
        }
    }

    fn gather(&mut self) {
        let now = *self.listener.seen.borrow_and_update();
        match now.since(&self.seen, &self.topics) {
            Some(changed) => {
                self.ready.extend(changed.iter().map(|topic| event(topic.as_str(), &now)));
            }
            None => self.ready.push_back(event("reset", &now)),
        }
        if !self.ready.is_empty() {
            self.next_at = Instant::now() + LOOK_EVERY;
        }
        self.seen = now;
    }
}

/// Waits for a change, and until there may be more to tell.
async fn news(listener: &mut Listener, not_before: Instant) {
    tokio::time::sleep_until(not_before).await;
    if listener.seen.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn event(name: &str, seen: &Seen) -> Event {
    Event::default().event(name).id(seen.to_string()).data("{}")
}
