//! One condition of a filter.

use std::fmt;

use uuid::Uuid;

use super::{Moment, Pattern, Range};
use crate::job::{JobId, State};

/// What a term looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Where the job stands.
    State,
    /// Its kind.
    Kind,
    /// Its queue.
    Queue,
    /// Any of its tags.
    Tag,
    /// The node that runs it, or ran it last if it ended.
    Node,
    /// Its id.
    Id,
    /// Its unique key.
    Key,
    /// Its priority.
    Priority,
    /// Attempts counted so far.
    Attempt,
    /// When it was enqueued.
    Created,
    /// When it is, or was, due.
    Due,
    /// When it ended.
    Finished,
}

impl Field {
    /// Every field, in the order of a canonical query.
    pub const ALL: [Field; 12] = {
        use Field::*;
        [State, Kind, Queue, Tag, Node, Id, Key, Priority, Attempt, Created, Due, Finished]
    };

    /// The word before the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Field::State => "state",
            Field::Kind => "kind",
            Field::Queue => "queue",
            Field::Tag => "tag",
            Field::Node => "node",
            Field::Id => "id",
            Field::Key => "key",
            Field::Priority => "priority",
            Field::Attempt => "attempt",
            Field::Created => "created",
            Field::Due => "due",
            Field::Finished => "finished",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition, or its opposite. A job without the thing looked at (no key, not ended) fails the
/// condition and so passes its opposite.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// What is looked at, and the values one of which it must be.
    pub test: Test,
    /// Only jobs that fail the test.
    pub negated: bool,
}

/// A field and its values; one of them must fit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the fields' words stand at `Field`")]
pub enum Test {
    State(Vec<State>),
    Kind(Vec<Pattern>),
    Queue(Vec<Pattern>),
    Tag(Vec<Pattern>),
    Node(Vec<Uuid>),
    Id(Vec<JobId>),
    Key(Vec<Pattern>),
    Priority(Vec<Range<u32>>),
    Attempt(Vec<Range<u32>>),
    Created(Vec<Range<Moment>>),
    Due(Vec<Range<Moment>>),
    Finished(Vec<Range<Moment>>),
}

impl Test {
    /// What it looks at.
    pub fn field(&self) -> Field {
        match self {
            Test::State(_) => Field::State,
            Test::Kind(_) => Field::Kind,
            Test::Queue(_) => Field::Queue,
            Test::Tag(_) => Field::Tag,
            Test::Node(_) => Field::Node,
            Test::Id(_) => Field::Id,
            Test::Key(_) => Field::Key,
            Test::Priority(_) => Field::Priority,
            Test::Attempt(_) => Field::Attempt,
            Test::Created(_) => Field::Created,
            Test::Due(_) => Field::Due,
            Test::Finished(_) => Field::Finished,
        }
    }

    /// Puts the values in order, each once.
    pub(super) fn sort(&mut self) {
        fn sort<T: Ord>(values: &mut Vec<T>) {
            values.sort();
            values.dedup();
        }
        match self {
            Test::State(values) => sort(values),
            Test::Kind(values) | Test::Queue(values) | Test::Tag(values) | Test::Key(values) => {
                sort(values);
            }
            Test::Node(values) => sort(values),
            Test::Id(values) => sort(values),
            Test::Priority(values) | Test::Attempt(values) => sort(values),
            Test::Created(values) | Test::Due(values) | Test::Finished(values) => sort(values),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, values: &[T]) -> fmt::Result {
            for (n, value) in values.iter().enumerate() {
                write!(f, "{}{value}", if n == 0 { "" } else { "," })?;
            }
            Ok(())
        }
        write!(f, "{}{}:", if self.negated { "-" } else { "" }, self.test.field())?;
        match &self.test {
            Test::State(values) => list(f, values),
            Test::Kind(values) | Test::Queue(values) | Test::Tag(values) | Test::Key(values) => {
                list(f, values)
            }
            Test::Node(values) => list(f, values),
            Test::Id(values) => list(f, values),
            Test::Priority(values) | Test::Attempt(values) => list(f, values),
            Test::Created(values) | Test::Due(values) | Test::Finished(values) => list(f, values),
        }
    }
}
