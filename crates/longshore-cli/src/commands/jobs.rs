//! `jobs`: look at jobs, count, follow and export them, cancel them, run them again.

mod export;
mod list;
mod show;
mod watch;

use longshore::store::AskCancel;
use longshore::{JobId, State};

use super::Context;
use crate::args::JobsCommand;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, json};
use crate::view::JobView;

pub(super) async fn run(context: Context, command: JobsCommand) -> Result<Exit, Failure> {
    match command {
        JobsCommand::List(args) => list::page(&context, args).await,
        JobsCommand::Count(args) => list::count(&context, args).await,
        JobsCommand::Watch(args) => watch::run(&context, args).await,
        JobsCommand::Export(args) => export::run(&context, args).await,
        JobsCommand::Show { id } => show(&context, id).await,
        JobsCommand::Cancel { id, why, by } => {
            let by = by.or_else(user_name);
            cancel(&context, id, AskCancel { by, why }).await
        }
        JobsCommand::Retry { ids, attempts } => retry(&context, &ids, attempts).await,
    }
}

async fn show(context: &Context, id: JobId) -> Result<Exit, Failure> {
    let job = open_existing(&context.settings).await?.get(id).await?;
    if context.json {
        json(&JobView::new(&job))?;
    } else {
        show::job(&job)?;
    }
    Ok(Exit::Ok)
}

async fn cancel(context: &Context, id: JobId, ask: AskCancel) -> Result<Exit, Failure> {
    let state = open_existing(&context.settings).await?.cancel(id, ask).await?;
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
    let client = open_existing(&context.settings).await?;
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
