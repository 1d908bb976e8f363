//! What may be done, and by whom: one table for the routes, the OpenAPI document and the command line.

use std::fmt;
use std::str::FromStr;

macro_rules! rights {
    ($($name:ident $word:literal $least:ident $text:literal)*) => {
        /// A right: what a route needs, and what credentials give.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Right {
            $(#[doc = $text] $name,)*
        }

        impl Right {
            /// All of them.
            pub const ALL: &[Right] = &[$(Right::$name),*];

            /// Its word.
            pub fn as_str(self) -> &'static str {
                match self { $(Right::$name => $word),* }
            }

            /// The least role that has it.
            pub fn least_role(self) -> Role {
                match self { $(Right::$name => Role::$least),* }
            }

            /// What it lets somebody do.
            pub fn explanation(self) -> &'static str {
                match self { $(Right::$name => $text),* }
            }
        }
    };
}

rights! {
    JobsRead       "jobs:read"       Viewer   "Look at jobs: lists, counts, single ones and how they ended."
    JobsExport     "jobs:export"     Viewer   "Write out all jobs that match."
    JobsEnqueue    "jobs:enqueue"    Operator "Add jobs, and run an old one anew."
    JobsRetry      "jobs:retry"      Operator "Retry jobs that failed or were cancelled."
    JobsCancel     "jobs:cancel"     Operator "Cancel jobs."
    JobsEdit       "jobs:edit"       Operator "Change waiting jobs: time, priority, queue, payload, tags."
    JobsDelete     "jobs:delete"     Admin    "Remove jobs with all that is known of them."
    JobsWork       "jobs:work"       Operator "Run jobs as a worker over HTTP: lease them, say how they ended."
    JobsBulk       "jobs:bulk"       Operator "Do to all jobs that match what one may do to a single one."
    JobsReveal     "jobs:reveal"     Admin    "See the fields of payloads that are hidden from others."
    JobsPrune      "jobs:prune"      Admin    "Remove ended jobs that are past their time, at once."
    QueuesRead     "queues:read"     Viewer   "Look at queues: how deep they are, what is paused."
    QueuesPause    "queues:pause"    Operator "Pause queues, and end their pauses."
    QueuesEmpty    "queues:empty"    Admin    "Delete all jobs that wait in a queue."
    NodesRead      "nodes:read"      Viewer   "Look at the processes that run jobs."
    NodesStop      "nodes:stop"      Operator "Make nodes quiet, let them go on, stop them."
    AuditRead      "audit:read"      Admin    "See who changed what."
    MetricsRead    "metrics:read"    Viewer   "Read what the process counts, at /metrics."
    UsersManage    "users:manage"    Admin    "Add, change and remove users, and end their sessions."
    TokensManage   "tokens:manage"   Admin    "Make, list and revoke API tokens."
    KindsRead      "kinds:read"      Viewer   "Look at the kinds that can be run."
    KindsPause     "kinds:pause"     Operator "Pause kinds, and end their pauses."
    RetentionRead  "retention:read"  Viewer   "Look at the rules of retention: how long ended jobs are kept."
    RetentionEdit  "retention:edit"  Admin    "Set and remove rules of retention."
    StatsRead      "stats:read"      Viewer   "Look at the numbers of now: what waits, what runs, who is there."
    EventsRead     "events:read"     Viewer   "Hear that something has changed; of a topic only with the right to look at it."
}

/// What somebody is trusted with. Each role has all that the one before it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Looks, and changes nothing.
    Viewer,
    /// Works with jobs.
    Operator,
    /// Everything.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }

    /// Whether it has this right.
    pub fn has(self, right: Right) -> bool {
        self >= right.least_role()
    }
}

/// What one set of credentials gives: a role, single rights, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    role: Option<Role>,
    rights: Vec<Right>,
}

impl Grant {
    /// All that this role has.
    pub fn of(role: Role) -> Grant {
        Grant { role: Some(role), rights: Vec::new() }
    }

    /// What these words give, as somebody writes them who makes credentials.
    pub fn read(role: Option<&str>, rights: &[String]) -> Result<Grant, UnknownWord> {
        Ok(Grant {
            role: role.map(str::parse).transpose()?,
            rights: rights.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        })
    }

    /// What these words give, as the database has them. One that this program does not know, such as a newer
    /// one's, gives nothing.
    pub(crate) fn kept(role: Option<&str>, rights: &[String]) -> Grant {
        Grant {
            role: role.and_then(|word| word.parse().ok()),
            rights: rights.iter().filter_map(|word| word.parse().ok()).collect(),
        }
    }

    /// Whether it gives all that the other gives: nobody may give away more than they have.
    pub fn covers(&self, other: &Grant) -> bool {
        Right::ALL.iter().all(|right| self.has(*right) || !other.has(*right))
    }

    /// Its role, if it has one.
    pub fn role(&self) -> Option<Role> {
        self.role
    }

    /// Its single rights.
    pub fn rights(&self) -> &[Right] {
        &self.rights
    }

    /// Whether it gives this right.
    pub fn has(&self, right: Right) -> bool {
        self.role.is_some_and(|role| role.has(right)) || self.rights.contains(&right)
    }
}

/// The word is no role, or no right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord(String);

impl UnknownWord {
    fn new(
        given: &str,
        what: &str,
        known: impl Iterator<Item = &'static str> + Clone,
    ) -> UnknownWord {
        let given: String = given.chars().take(64).collect();
        let near = |word: &&str| strsim::normalized_damerau_levenshtein(&given, word);
        let nearest = known.clone().max_by(|a, b| near(a).total_cmp(&near(b)));
        UnknownWord(match nearest.filter(|word| near(word) > 0.6) {
            Some(word) => format!("`{given}` is no {what}; did you mean `{word}`?"),
            None => format!(
                "`{given}` is no {what}; there are {}",
                known.collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownWord {}

impl FromStr for Right {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Right, UnknownWord> {
        let known = Right::ALL.iter().map(|right| right.as_str());
        let found = Right::ALL.iter().find(|right| right.as_str() == text);
        found.copied().ok_or_else(|| UnknownWord::new(text, "right", known))
    }
}

impl FromStr for Role {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Role, UnknownWord> {
        let known = Role::ALL.iter().map(|role| role.as_str());
        let found = Role::ALL.iter().find(|role| role.as_str() == text);
        found.copied().ok_or_else(|| UnknownWord::new(text, "role", known))
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_answered_with_what_was_meant() {
        let said = |role: Option<&str>, right: &str| {
            let rights: Vec<String> =
                Some(right.to_owned()).filter(|word| !word.is_empty()).into_iter().collect();
            Grant::read(role, &rights).unwrap_err().to_string()
        };
        assert_eq!(said(Some("admn"), ""), "`admn` is no role; did you mean `admin`?");
        assert_eq!(said(None, "jobs:raed"), "`jobs:raed` is no right; did you mean `jobs:read`?");
        assert!(said(None, "*").starts_with("`*` is no right; there are jobs:read, jobs:export"));
        assert!(said(Some(&"x".repeat(1_000)), "").len() < 200);
    }

    #[test]
    fn a_word_that_is_not_known_gives_nothing() {
        let grant = Grant::kept(Some("emperor"), &["jobs:read".into(), "moon:read".into()]);
        let has: Vec<_> = Right::ALL.iter().filter(|right| grant.has(**right)).collect();
        assert_eq!(has, [&Right::JobsRead]);
    }
}
