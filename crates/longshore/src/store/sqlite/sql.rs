//! The statements: each file holds one or several, every one under its `-- step: name`.

use std::sync::LazyLock;

/// The statements of one file.
pub(super) struct Steps(Vec<(&'static str, &'static str)>);

impl Steps {
    pub fn parse(file: &'static str) -> Steps {
        let steps = file.split("-- step: ").skip(1);
        Steps(steps.map(|step| step.split_once('\n').expect("a step has a body")).collect())
    }

    /// The statement of this name.
    pub fn step(&self, name: &str) -> &'static str {
        let found = self.0.iter().find(|(step, _)| *step == name);
        found.expect("every step that is asked for is in its file; a test walks them").1
    }
}

macro_rules! steps {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) static $name: LazyLock<Steps> =
            LazyLock::new(|| Steps::parse(include_str!($file)));)*
    };
}

steps! {
    AUDIT = "audit.sql";
    CANCEL = "cancel.sql";
    CHECKUP = "checkup.sql";
    CLAIM = "claim.sql";
    EDIT = "edit.sql";
    EMPTY = "empty.sql";
    ENQUEUE = "enqueue.sql";
    FINISH = "finish.sql";
    HOST = "host.sql";
    KINDS = "kinds.sql";
    LEADER = "leader.sql";
    LIST = "list.sql";
    LOOK = "look.sql";
    NODE = "node.sql";
    OPERATION = "operation.sql";
    PAUSE = "pause.sql";
    PROBE = "probe.sql";
    PRUNE = "prune.sql";
    QUEUE_COUNTS = "queue_counts.sql";
    RELEASE = "release.sql";
    REQUEST = "request.sql";
    RESCUE = "rescue.sql";
    RETENTION = "retention.sql";
    RETRY = "retry.sql";
    SAY = "say.sql";
    SESSION = "session.sql";
    TOKEN = "token.sql";
    UNIQUE = "unique.sql";
    USER = "user.sql";
}

pub(super) const GET: &str = include_str!("get.sql");
pub(super) const LOG: &str = include_str!("log.sql");
pub(super) const PROGRESS: &str = include_str!("progress.sql");
