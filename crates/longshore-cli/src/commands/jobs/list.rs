//! A page of jobs, and their number.

use longshore::store::{Cursor, Effort, ListQuery, Position, Relation};
use longshore::{StoreError, Timestamp};

use super::super::Context;
use crate::args::{CountArgs, ListArgs};
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, grouped, json, table};
use longshore_server::wire::{JobView, PageView};

/// How many pages of the library one list asks for when they come back short: some 100,000 rows, in
/// about a second.
const MOST_PAGES: usize = 20;

pub(super) async fn page(context: &Context, args: ListArgs) -> Result<Exit, Failure> {
    let filter = args.which.filter()?;
    let door = Door::existing(context).await?;
    let query =
        ListQuery { filter, at: args.position(), limit: args.limit, ..ListQuery::default() };
    let page = full(&door, query).await?;
    if context.json {
        json(&page)?;
        return Ok(Exit::Ok);
    }
    show(&page.jobs)?;
    let short = page.jobs.len() < args.limit as usize;
    let (further, flag) = match args.before {
        Some(_) => (&page.prev, "--before"),
        None => (&page.next, "--after"),
    };
    if let Some(cursor) = further {
        if short {
            eprintln!("looked at {} rows; there may be more", grouped(page.looked));
        }
        eprintln!("more: {flag} {cursor}");
    }
    Ok(Exit::Ok)
}

/// Goes on over short pages until the page is full, the jobs end, or it looked far enough.
async fn full(door: &Door, mut query: ListQuery) -> Result<PageView, Failure> {
    let limit = query.limit as usize;
    let mut page = door.list(&query).await?;
    for _ in 1..MOST_PAGES {
        let back = matches!(query.at, Position::Before(_));
        let further = if back { &page.prev } else { &page.next };
        let Some(cursor) = further.as_ref().filter(|_| page.jobs.len() < limit) else { break };
        let cursor: Cursor = cursor.parse().map_err(StoreError::from)?;
        query.at = if back { Position::Before(cursor) } else { Position::After(cursor) };
        query.limit = (limit - page.jobs.len()) as u32;
        let more = door.list(&query).await?;
        page.looked += more.looked;
        if back {
            page.prev = more.prev;
            page.jobs.splice(0..0, more.jobs);
        } else {
            page.next = more.next;
            page.jobs.extend(more.jobs);
        }
    }
    Ok(page)
}

/// Prints jobs as a table.
pub(super) fn show(jobs: &[JobView]) -> Result<(), Failure> {
    let now = Timestamp::now();
    let rows = jobs.iter().map(|job| row(job, now)).collect();
    table(["ID", "KIND", "QUEUE", "PRIORITY", "STATE", "ATTEMPT", "ENQUEUED", "DUE OR ENDED"], rows)
}

fn row(job: &JobView, now: Timestamp) -> [String; 8] {
    let then = job.finished_at.or(job.run_at).map(|at| distance(at, now));
    [
        job.id.to_string(),
        job.kind.clone(),
        job.queue.clone(),
        job.priority.to_string(),
        job.state.to_string(),
        format!("{}/{}", job.attempt, job.max_attempts),
        distance(job.created_at, now),
        then.unwrap_or_default(),
    ]
}

pub(super) async fn count(context: &Context, args: CountArgs) -> Result<Exit, Failure> {
    let filter = args.which.filter()?;
    let effort = if args.exact { Effort::Unbounded } else { Effort::Bounded };
    let count = Door::existing(context).await?.count(filter, effort).await?;
    let exact = count.relation == Relation::Exact;
    if context.json {
        let relation = if exact { "eq" } else { "gte" };
        json(&serde_json::json!({
            "count": count.value, "relation": relation, "looked": count.looked,
        }))?;
        return Ok(Exit::Ok);
    }
    data(&format!("{}{}", count.value, if exact { "" } else { "+" }))?;
    if !exact {
        eprintln!("looked at {} rows; --exact counts them all", grouped(count.looked));
    }
    Ok(Exit::Ok)
}
