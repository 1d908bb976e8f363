//! The words of commands that take a query.

use std::path::PathBuf;

use clap::ValueEnum;
use longshore::store::{Cursor, Position};
use longshore::{Filter, State};

use crate::exit::Failure;
use longshore_server::wire::{ExportFormat, Span};

/// What stands below the help of each of them.
pub(super) const QUERY: &str = "\
A query is terms; a job must pass each: state:dead kind:email.* queue:mail,bulk -tag:test created:>-2h
  fields   state kind queue tag node id key priority attempt created due finished
  names    a * stands for any characters; quote what has blanks, commas or a star of its own
  numbers  3  >3  >=3  <3  <=3  1..5
  times    >-2h  <+1d12h  2026-03-01  >=2026-03-01T12:00:00Z  -2d..-1d
  ,        one of them is enough        -  jobs that do not pass; write -- before a query that begins so";

/// Which jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    /// Which jobs; all if nothing is said
    #[arg(value_name = "QUERY")]
    pub query: Vec<String>,
    /// Only in this state; repeatable: one of them
    #[arg(long = "state", value_name = "STATE")]
    pub states: Vec<StateArg>,
    /// Only of this kind
    #[arg(long)]
    pub kind: Option<String>,
    /// Only of this queue
    #[arg(long)]
    pub queue: Option<String>,
}

impl QueryArgs {
    /// The query and the shorthands together.
    pub fn filter(&self) -> Result<Filter, Failure> {
        let mut filter = Filter::parse(&self.query.join(" "))?;
        if !self.states.is_empty() {
            let states = self.states.iter().copied().map(State::from).collect();
            filter = filter.and(longshore::query::Test::State(states));
        }
        if let Some(kind) = &self.kind {
            filter = filter.kind(kind);
        }
        if let Some(queue) = &self.queue {
            filter = filter.queue(queue);
        }
        Ok(filter)
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub which: QueryArgs,
    /// At most this many, 1 to 200
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Go on to older jobs, from the cursor that a page gave
    #[arg(long, value_name = "CURSOR", conflicts_with = "before")]
    pub after: Option<Cursor>,
    /// Go back to newer jobs, from the cursor that a page gave
    #[arg(long, value_name = "CURSOR")]
    pub before: Option<Cursor>,
}

impl ListArgs {
    pub fn position(&self) -> Position {
        match (self.after, self.before) {
            (Some(cursor), _) => Position::After(cursor),
            (None, Some(cursor)) => Position::Before(cursor),
            (None, None) => Position::First,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckDeployArgs {
    #[command(flatten)]
    pub which: QueryArgs,
    /// Also dead jobs, as if they were to run again
    #[arg(long)]
    pub dead: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub which: QueryArgs,
    /// Count them all, however long it takes
    #[arg(long)]
    pub exact: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub which: QueryArgs,
    /// How often to look
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    pub every: Span,
    /// Of a list, at most this many, 1 to 200
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub which: QueryArgs,
    /// How
    #[arg(long, value_name = "FORMAT")]
    pub format: ExportFormatArg,
    /// Where to; a file that is there is not touched [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// With the redacted fields of payloads
    #[arg(long)]
    pub reveal: bool,
}

/// How jobs are written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormatArg {
    /// A header and a row for each job; cells hold the stored text as it is
    Csv,
    /// A JSON object on each line; numbers keep every digit
    Jsonl,
}

impl From<ExportFormatArg> for ExportFormat {
    fn from(format: ExportFormatArg) -> ExportFormat {
        match format {
            ExportFormatArg::Csv => ExportFormat::Csv,
            ExportFormatArg::Jsonl => ExportFormat::Jsonl,
        }
    }
}

/// The states by their words.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StateArg {
    Scheduled,
    Queued,
    Blocked,
    Running,
    Retrying,
    Succeeded,
    Dead,
    Cancelled,
}

impl From<StateArg> for longshore::State {
    fn from(state: StateArg) -> longshore::State {
        use longshore::State;
        match state {
            StateArg::Scheduled => State::Scheduled,
            StateArg::Queued => State::Queued,
            StateArg::Blocked => State::Blocked,
            StateArg::Running => State::Running,
            StateArg::Retrying => State::Retrying,
            StateArg::Succeeded => State::Succeeded,
            StateArg::Dead => State::Dead,
            StateArg::Cancelled => State::Cancelled,
        }
    }
}
