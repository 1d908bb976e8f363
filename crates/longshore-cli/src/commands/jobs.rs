//! `jobs`: look at jobs, count, follow and export them, cancel and change them, run them again.

mod edit;
mod export;
mod list;
mod logs;
mod show;
mod watch;

use longshore::{JobId, State};

use super::operations::{matching, operation};
use super::{Context, user_name};
use crate::args::{CancelArgs, JobsCommand};
use crate::door::{Cancel, Door};
use crate::exit::{Exit, Failure};
use crate::print::{data, json};
use longshore_server::wire::OperationBody;

pub(super) async fn run(context: Context, command: JobsCommand) -> Result<Exit, Failure> {
    match command {
        JobsCommand::List(args) => list::page(&context, args).await,
        JobsCommand::Count(args) => list::count(&context, args).await,
        JobsCommand::Watch(args) => watch::run(&context, args).await,
        JobsCommand::Export(args) => export::run(&context, args).await,
        JobsCommand::Show { id, reveal } => show(&context, id, reveal).await,
        JobsCommand::Logs(args) => logs::run(&context, args).await,
        JobsCommand::Cancel(args) => cancel(&context, args).await,
        JobsCommand::RunNow { ids } => edit::run_now(&context, &ids).await,
        JobsCommand::Reschedule { ids, when } => edit::reschedule(&context, &ids, when).await,
        JobsCommand::Edit(args) => edit::edit(&context, args).await,
        JobsCommand::Delete(args) => edit::delete(&context, args).await,
        JobsCommand::Retry(args) => edit::retry(&context, args).await,
    }
}

async fn show(context: &Context, id: JobId, reveal: bool) -> Result<Exit, Failure> {
    let door = Door::existing(context).await?;
    let shown = if reveal { door.reveal(id).await? } else { door.job(id).await? };
    if context.json {
        json(&shown)?;
    } else {
        show::job(&shown)?;
    }
    Ok(Exit::Ok)
}

async fn cancel(context: &Context, args: CancelArgs) -> Result<Exit, Failure> {
    let CancelArgs { id, all, why, by } = args;
    let Some(id) = id else {
        let body = OperationBody { why, ..operation("cancel") };
        return matching(context, &all, body).await;
    };
    let ask = Cancel { by, why, user: user_name() };
    let state = Door::existing(context).await?.cancel(id, ask).await?;
    if context.json {
        json(&serde_json::json!({ "id": id, "state": state.as_str() }))?;
    } else if state == State::Cancelled {
        data(&format!("{id} is cancelled"))?;
    } else {
        data(&format!("{id} is running; its node was asked to stop it"))?;
    }
    Ok(Exit::Ok)
}
