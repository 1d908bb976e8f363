//! A look at the database and at what it needs: what is well, what is not, and what to do about it.

use serde::Serialize;

/// How thorough a checkup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// SQLite: looks at every page, but does not compare indexes with their tables.
    Quick,
    /// SQLite: compares indexes with their tables too. Reads the whole file, about a second for 200 MB.
    Full,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and will not do so for ever or under every load.
    Warn,
    /// Jobs do not run, are lost, or may be.
    Fail,
}

/// One thing that was looked at. Holds no passwords.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// What was looked at: a stable word for scripts.
    pub name: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
    /// What to do; absent if nothing.
    pub advice: Option<String>,
}

impl Check {
    /// As it should be.
    pub fn ok(name: &'static str, detail: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Ok, detail: detail.into(), advice: None }
    }

    /// It works, for now.
    pub fn warn(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Check {
        let (detail, advice) = (detail.into(), Some(advice.into()));
        Check { name, verdict: Verdict::Warn, detail, advice }
    }

    /// It does not work.
    pub fn fail(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Check {
        let (detail, advice) = (detail.into(), Some(advice.into()));
        Check { name, verdict: Verdict::Fail, detail, advice }
    }

    /// The look itself failed.
    pub(crate) fn unseen(name: &'static str, error: impl std::fmt::Display) -> Check {
        Check::fail(name, format!("could not look: {error}"), "see what the database says of it")
    }
}

/// What both stores say of their schema.
pub(crate) fn schema(found: u32, needed: u32) -> Check {
    let detail = format!("version {found}, this program needs {needed}");
    match found.cmp(&needed) {
        std::cmp::Ordering::Equal => Check::ok("schema", detail),
        std::cmp::Ordering::Less => Check::fail("schema", detail, "run `longshore migrate up`"),
        std::cmp::Ordering::Greater => Check::fail("schema", detail, "upgrade this program"),
    }
}

/// What both say of running jobs that no live node holds, a minute after its lease ended or later.
pub(crate) fn orphans(jobs: i64) -> Check {
    if jobs == 0 {
        return Check::ok("orphans", "every running job has a live node");
    }
    Check::fail(
        "orphans",
        format!("{jobs} running jobs have no live node"),
        "run `longshore serve`: any node that takes part in upkeep rescues them, the leader within 10 minutes",
    )
}

/// What both say of logs and progress that outlived their jobs. Only a deletion by hand leaves any.
pub(crate) fn unowned(jobs: i64) -> Check {
    match jobs {
        0 => Check::ok("logs", "every log belongs to a job"),
        _ => Check::warn(
            "logs",
            format!("{jobs} jobs are gone and have left a log or a progress behind"),
            "delete jobs with `longshore jobs delete`, not by hand; what is left only takes room",
        ),
    }
}

/// How many nodes live.
pub(crate) fn nodes(live: i64) -> Check {
    match live {
        0 => Check::warn("nodes", "no live node", "run `longshore serve`, or no job will run"),
        _ => Check::ok("nodes", format!("{live} live")),
    }
}
