//! `jobs`: look at jobs, cancel them, run them again.

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
        JobsCommand::Retry { ids, attempts } => retry(&context, &ids, attempts).await,
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

/// Does what it can: one that is refused does not keep the others back. Exits by the first refusal.
async fn retry(context: &Context, ids: &[JobId], attempts: u32) -> Result<Exit, Failure> {
    let client = open_now(&context.settings).await?;
    let (mut exit, mut answers) = (Exit::Ok, Vec::new());
    for id in ids {
        let refused = client.retry(*id, attempts).await.err().map(Failure::from);
        let words = refused.as_ref().map(|failure| failure.words.clone());
        answers.push(serde_json::json!({ "id": id, "retried": refused.is_none(), "error": words }));
        match refused {
            Some(failure) if exit == Exit::Ok => {
                failure.tell();
                exit = failure.exit;
            }
            Some(failure) => failure.tell(),
            None if context.json => {}
            None => data(&format!("{id} is queued"))?,
        }
    }
    if context.json {
        json(&serde_json::json!({ "jobs": answers }))?;
    }
    Ok(exit)
}

fn user_name() -> Option<String> {
    let named = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    named("USER").or_else(|| named("LOGNAME")).or_else(|| named("USERNAME"))
}
