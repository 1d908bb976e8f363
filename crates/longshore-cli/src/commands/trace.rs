//! Commands that change something leave an entry in the audit log, begun before and ended after.

use longshore::access::TokenId;
use longshore::audit::{EntryEnd, EntryId, NewEntry};
use longshore::{Client, JobId};

use super::{Context, user_name};
use crate::args::{
    CancelArgs, Command, JobsCommand, KindsCommand, NodesCommand, OperationsCommand, PauseArgs,
    QueuesCommand, RetentionCommand, ScopeArgs, TokenCommand, UserCommand, WhichArgs,
};
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::settings::Way;

/// An entry that was begun.
pub(super) struct Trace {
    client: Client,
    id: EntryId,
    end: EntryEnd,
}

/// What a command is about to change.
struct Change {
    action: &'static str,
    target: String,
    count: Option<u64>,
    why: Option<String>,
}

/// Begins an entry, if the command changes something; then it is not run when that fails.
pub(super) async fn begin(context: &Context, command: &Command) -> Result<Option<Trace>, Failure> {
    // A server writes its own, in the name of the token.
    if context.way != Way::Database {
        return Ok(None);
    }
    let Some(change) = change(command) else { return Ok(None) };
    // What cannot be opened cannot be changed either; the command says so itself.
    let Ok(client) = open_existing(&context.settings).await else { return Ok(None) };
    let entry = NewEntry::new(change.action, &actor(), "cli").target(&change.target);
    let id = client.begin_audit(entry).await?;
    let end = EntryEnd { count: change.count, why: change.why, ..EntryEnd::default() };
    Ok(Some(Trace { client, id, end }))
}

/// Ends it. That this fails changes nothing about what was done.
pub(super) async fn end(trace: Option<Trace>, done: &Result<Exit, Failure>) {
    let Some(Trace { client, id, end }) = trace else { return };
    let exit = match done {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    };
    if let Err(error) = client.end_audit(id, EntryEnd { status: status(exit), ..end }).await {
        tracing::warn!("an entry of the audit log stays without its end: {error}");
    }
}

/// Who works on the command line.
pub(super) fn actor() -> String {
    format!("cli:{}", user_name().unwrap_or_else(|| "unknown".to_owned()))
}

/// As the API would have answered.
fn status(exit: Exit) -> u16 {
    match exit {
        Exit::Ok => 200,
        Exit::Usage => 422,
        Exit::NotFound => 404,
        Exit::Conflict => 409,
        Exit::Denied => 403,
        Exit::Unreachable => 503,
        Exit::TimedOut => 504,
        Exit::Failed | Exit::JobFailed => 500,
    }
}

impl Change {
    fn of(action: &'static str, target: impl Into<String>) -> Option<Change> {
        Some(Change { action, target: target.into(), count: None, why: None })
    }

    fn jobs(action: &'static str, ids: &[JobId]) -> Option<Change> {
        let target = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        Some(Change { action, target, count: Some(ids.len() as u64), why: None })
    }

    fn pause(action: &'static str, args: &PauseArgs) -> Option<Change> {
        Some(Change { why: args.why.clone(), ..Change::of(action, &args.name)? })
    }

    /// Without `--yes` nothing is changed.
    fn which(action: &'static str, which: &WhichArgs) -> Option<Change> {
        match &which.all.matching {
            Some(query) => which.all.yes.then(|| Change::of(action, query))?,
            None => Change::jobs(action, &which.ids),
        }
    }

    fn cancel(args: &CancelArgs) -> Option<Change> {
        let change = match (&args.all.matching, &args.id) {
            (Some(query), _) => args.all.yes.then(|| Change::of("jobs.cancel", query))?,
            (None, Some(id)) => Change::jobs("jobs.cancel", std::slice::from_ref(id)),
            (None, None) => None,
        };
        Some(Change { why: args.why.clone(), ..change? })
    }
}

/// Enqueues are not among them, here as over HTTP: each job says itself what it is.
fn change(command: &Command) -> Option<Change> {
    match command {
        Command::Jobs(command) => of_jobs(command),
        Command::Operations(command) => of_operations(command),
        Command::Queues(command) => of_queues(command),
        Command::Kinds(KindsCommand::Pause(args)) => Change::pause("kinds.pause", args),
        Command::Kinds(KindsCommand::Resume { name }) => Change::of("kinds.resume", name),
        Command::Nodes(command) => of_nodes(command),
        Command::Retention(RetentionCommand::Set { scope, .. }) => {
            Change::of("retention.set", scope_words(scope))
        }
        Command::Retention(RetentionCommand::Remove { scope }) => {
            Change::of("retention.remove", scope_words(scope))
        }
        Command::Prune(args) if !args.dry_run => Change::of("jobs.prune", ""),
        Command::Token(TokenCommand::Create(args)) => Change::of("tokens.create", &args.name),
        // Anything else may be the secret, given by mistake.
        Command::Token(TokenCommand::Revoke { id }) => {
            Change::of("tokens.revoke", id.parse::<TokenId>().ok()?.to_string())
        }
        Command::User(UserCommand::Create(args)) => Change::of("users.create", &args.name),
        Command::User(UserCommand::Change(args)) => Change::of("users.change", &args.name),
        Command::User(UserCommand::Remove { name }) => Change::of("users.remove", name),
        _ => None,
    }
}

fn of_queues(command: &QueuesCommand) -> Option<Change> {
    match command {
        QueuesCommand::Pause(args) => Change::pause("queues.pause", args),
        QueuesCommand::Resume { name } => Change::of("queues.resume", name),
        QueuesCommand::Empty { name, yes: true } => Change::of("queues.empty", name),
        QueuesCommand::List | QueuesCommand::Empty { yes: false, .. } => None,
    }
}

fn of_nodes(command: &NodesCommand) -> Option<Change> {
    match command {
        NodesCommand::List => None,
        NodesCommand::Quiet { id } => Change::of("nodes.quiet", id.to_string()),
        NodesCommand::Resume { id } => Change::of("nodes.resume", id.to_string()),
        NodesCommand::Stop { id } => Change::of("nodes.stop", id.to_string()),
    }
}

fn of_jobs(command: &JobsCommand) -> Option<Change> {
    match command {
        JobsCommand::Cancel(args) => Change::cancel(args),
        JobsCommand::RunNow { ids } => Change::jobs("jobs.run_now", ids),
        JobsCommand::Reschedule { ids, .. } => Change::jobs("jobs.reschedule", ids),
        JobsCommand::Edit(args) => Change::jobs("jobs.edit", std::slice::from_ref(&args.id)),
        JobsCommand::Delete(which) => Change::which("jobs.delete", which),
        JobsCommand::Retry(args) => Change::which("jobs.retry", &args.which),
        JobsCommand::Show { id, reveal: true } => {
            Change::jobs("jobs.reveal", std::slice::from_ref(id))
        }
        _ => None,
    }
}

fn of_operations(command: &OperationsCommand) -> Option<Change> {
    match command {
        OperationsCommand::Start(args) if !args.dry_run => {
            let query = args.matching.clone().unwrap_or_default();
            Some(Change { why: args.why.clone(), ..Change::of("operations.start", query)? })
        }
        OperationsCommand::Pause { id } => Change::of("operations.pause", id.to_string()),
        OperationsCommand::Resume { id } => Change::of("operations.resume", id.to_string()),
        OperationsCommand::Cancel { id } => Change::of("operations.cancel", id.to_string()),
        _ => None,
    }
}

fn scope_words(scope: &ScopeArgs) -> String {
    let state = scope.state.map(|state| format!("{state:?}").to_lowercase());
    let words = [("state", &state), ("queue", &scope.queue), ("kind", &scope.kind)];
    let named =
        words.into_iter().filter_map(|(word, value)| Some(format!("{word}:{}", value.as_ref()?)));
    named.collect::<Vec<_>>().join(" ")
}
