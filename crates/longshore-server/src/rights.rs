//! What may be done, and by whom: one table for the routes, the OpenAPI document and the command line.

use std::fmt;

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
    JobsReveal     "jobs:reveal"     Admin    "See the fields of payloads that are hidden from others."
    NodesRead      "nodes:read"      Viewer   "Look at the processes that run jobs."
    MetricsRead    "metrics:read"    Viewer   "Read what the process counts, at /metrics."
    KindsRead      "kinds:read"      Viewer   "Look at the kinds that can be run."
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
