//! What goes over the wire, in both directions: the same names in the API, in the command line's JSON and in
//! the lines that it reads.

mod access;
mod action;
mod answer;
mod audit;
mod edit;
mod export;
mod job;
mod kind;
mod log;
mod new_job;
mod operation;
mod queue;
mod retention;
mod span;
mod stats;
mod work;

pub use access::{
    ChangePasswordBody, ChangeUserBody, MadeTokenView, MeView, NewTokenBody, NewUserBody,
    PasswordText, SessionView, SessionsView, SignInBody, TokenView, TokensView, UserView,
    UsersView,
};
pub use action::{CancelBody, RerunBody, RescheduleBody, RetryBody};
pub use answer::{BatchAnswer, BatchResult, CountView, EnqueuedView, NodesView};
pub use audit::{AuditView, EntryView};
pub use edit::EditBody;
pub use export::{ExportFormat, json_line};
pub use job::{AttemptView, CancelView, JobView, PageView, ProgressView, ShownView, StateWord};
pub use kind::{KindView, KindsView};
pub use log::{LevelWord, LogsView};
pub use new_job::{
    BackoffBody, JobBody, MAX_ATTEMPTS, OnConflictWord, PRIORITIES, UniqueParts, VERSIONS, within,
};
pub use operation::{
    ArgumentsBody, DryRunView, OperationBody, OperationView, OperationsView, TotalView,
};
pub use queue::{
    EmptiedView, PauseBody, PauseView, QueueView, QueuesView, ResumedQueueView, ResumedView,
};
pub(crate) use retention::retention_change;
pub use retention::{
    PruneBody, PruneView, RemovedView, RetentionBody, RetentionParams, RetentionRuleView,
    RetentionView,
};
pub use span::{InvalidSpan, Kept, Span, Timeout};
pub use stats::StatsView;
pub use work::{
    EndAnswer, EndBody, EndWord, EndedView, EndsBody, ErrorBody, HeartbeatBody, HeartbeatView,
    JoinBody, JoinedView, LeaseBody, LeasedJobView, LeasedView, LimitBody, LineBody, NodeStateWord,
    SaidAnswer, SaidView, SayBody, SayProgressBody, SaysBody, SlotsBody, WishWord, WorkKindBody,
};
