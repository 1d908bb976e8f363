//! `jobs`: look at jobs, cancel them, change them, run them again.

mod edit;
mod show;

use longshore::store::{AskCancel, ListQuery};
use longshore::{JobId, JobRow, State, Timestamp};

use super::Context;
use crate::args::{JobsCommand, ListArgs};
use crate::connect::open_now;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, json, table};
use crate::view::{JobView, PageView};

pub(super) async fn run(context: Context, command: JobsCommand) -> Result<Exit, Failure> {
    match command {
        JobsCommand::List(args) => list(&context, args).await,
        JobsCommand::Show { id } => show(&context, id).await,
        JobsCommand::Cancel { id, why, by } => {
            let by = by.or_else(user_name);
            cancel(&context, id, AskCancel { by, why }).await
        }
        JobsCommand::RunNow { ids } => edit::run_now(&context, &ids).await,
        JobsCommand::Reschedule { ids, when } => edit::reschedule(&context, &ids, when).await,
        JobsCommand::Edit(args) => edit::edit(&context, args).await,
        JobsCommand::Delete { ids } => edit::delete(&context, &ids).await,
        JobsCommand::Retry { ids, attempts } => edit::retry(&context, &ids, attempts).await,
    }
}

async fn list(context: &Context, args: ListArgs) -> Result<Exit, Failure> {
    let client = open_now(&context.settings).await?;
    let query = ListQuery {
        states: args.states.into_iter().map(State::from).collect(),
        kind: args.kind,
        queue: args.queue,
        after: args.after,
        limit: args.limit,
    };
    let page = client.list(query).await?;
    let next = page.next.map(|cursor| cursor.to_string());
    if context.json {
        let jobs = page.jobs.iter().map(JobView::new).collect();
        json(&PageView { jobs, next })?;
        return Ok(Exit::Ok);
    }
    let now = Timestamp::now();
    let rows = page.jobs.iter().map(|job| row(job, now)).collect();
    table(
        ["ID", "KIND", "QUEUE", "PRIORITY", "STATE", "ATTEMPT", "ENQUEUED", "DUE OR ENDED"],
        rows,
    )?;
    if let Some(cursor) = next {
        eprintln!("more: --after {cursor}");
    }
    Ok(Exit::Ok)
}

fn row(job: &JobRow, now: Timestamp) -> [String; 8] {
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

async fn show(context: &Context, id: JobId) -> Result<Exit, Failure> {
    let job = open_now(&context.settings).await?.get(id).await?;
    if context.json {
        json(&JobView::new(&job))?;
    } else {
        show::job(&job)?;
    }
    Ok(Exit::Ok)
}

async fn cancel(context: &Context, id: JobId, ask: AskCancel) -> Result<Exit, Failure> {
    let state = open_now(&context.settings).await?.cancel(id, ask).await?;
    if context.json {
        json(&serde_json::json!({ "id": id, "state": state.as_str() }))?;
    } else if state == State::Cancelled {
        data(&format!("{id} is cancelled"))?;
    } else {
        data(&format!("{id} is running; its node was asked to stop it"))?;
    }
    Ok(Exit::Ok)
}

fn user_name() -> Option<String> {
    let named = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    named("USER").or_else(|| named("LOGNAME")).or_else(|| named("USERNAME"))
}
