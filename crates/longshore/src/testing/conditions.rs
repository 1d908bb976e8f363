//! What a test wants of a job, and how far each job is from it.

use std::panic::Location;
use std::time::Duration;

use super::look::{decode, is_kind};
use super::spoken;
use crate::job::name::shown;
use crate::job::{Job, JobRow};
use crate::time::Timestamp;

/// What is asked of each job, beside its type.
pub(super) struct Conditions<'a, J> {
    these: Vec<Condition<'a, J>>,
}

/// One of them: what is wanted in words, and a look at a job that says what it found instead.
struct Condition<'a, J> {
    wanted: String,
    weight: usize,
    look: Look<'a, J>,
}

/// Says what it found instead, if it does not hold.
type Look<'a, J> = Box<dyn Fn(&Seen<'_, J>) -> Result<(), String> + Send + 'a>;

/// A job as conditions see it.
struct Seen<'a, J> {
    row: &'a JobRow,
    job: J,
    now: Timestamp,
}

/// How one job stands to all conditions.
pub(super) struct Fit(pub Vec<Found>);

/// How it stands to one.
pub(super) struct Found {
    /// In words.
    pub wanted: String,
    /// What is there instead, if it does not hold.
    pub instead: Result<(), String>,
    weight: usize,
}

/// What is in the payload says most about which job was meant.
const OF_PAYLOAD: usize = 2;

impl Fit {
    pub fn is_whole(&self) -> bool {
        self.0.iter().all(|one| one.instead.is_ok())
    }

    /// The greater, the nearer.
    pub fn nearness(&self) -> usize {
        self.0.iter().filter(|one| one.instead.is_ok()).map(|one| one.weight).sum()
    }
}

impl<'a, J: Job> Conditions<'a, J> {
    pub fn new() -> Self {
        Conditions { these: Vec::new() }
    }

    fn add(
        &mut self,
        wanted: String,
        look: impl Fn(&Seen<'_, J>) -> Result<(), String> + Send + 'a,
    ) {
        self.these.push(Condition { wanted, weight: 1, look: Box::new(look) });
    }

    pub fn with(&mut self, at: &Location<'_>, passes: impl Fn(&J) -> bool + Send + 'a) {
        let wanted = format!("`with` at {}:{}", at.file(), at.line());
        let look = move |seen: &Seen<'_, J>| {
            if passes(&seen.job) { Ok(()) } else { Err("it says no".to_owned()) }
        };
        self.these.push(Condition { wanted, weight: OF_PAYLOAD, look: Box::new(look) });
    }

    pub fn queue(&mut self, queue: String) {
        self.add(format!("queue `{}`", shown(&queue)), move |seen| {
            same(&queue, &seen.row.queue, |found| format!("it is `{}`", shown(found)))
        });
    }

    pub fn priority(&mut self, priority: u8) {
        self.add(format!("priority {priority}"), move |seen| {
            same(&priority, &seen.row.priority, |found| format!("it is {found}"))
        });
    }

    pub fn tag(&mut self, tag: String) {
        self.add(format!("tag `{}`", shown(&tag)), move |seen| {
            let tags = &seen.row.tags;
            if tags.contains(&tag) {
                return Ok(());
            }
            let has: Vec<_> = tags.iter().map(|tag| format!("`{}`", shown(tag))).collect();
            Err(if has.is_empty() {
                "it has none".into()
            } else {
                format!("it has {}", has.join(", "))
            })
        });
    }

    pub fn within(&mut self, span: Duration) {
        let wanted = match span {
            Duration::ZERO => "due now".to_owned(),
            span => format!("due within {}", spoken(span)),
        };
        self.add(wanted, move |seen| match seen.row.run_at {
            Some(at) if at <= seen.now.plus(span) => Ok(()),
            _ => Err(format!("it is due {}", due(seen.row, seen.now))),
        });
    }

    /// How far a job is from it. What cannot be asked of a job of another kind is left out.
    pub fn fit(&self, row: &JobRow, now: Timestamp) -> Fit {
        let found =
            |wanted: &str, weight, instead| Found { wanted: wanted.to_owned(), instead, weight };
        let kind = format!("kind `{}`", shown(J::KIND));
        if !is_kind::<J>(row) {
            return Fit(vec![found(&kind, 1, Err(format!("it is `{}`", shown(&row.kind))))]);
        }
        let mut all = vec![found(&kind, 1, Ok(()))];
        match decode(row) {
            Ok(job) => {
                let seen = Seen { row, job, now };
                let these = self.these.iter();
                all.extend(these.map(|one| found(&one.wanted, one.weight, (one.look)(&seen))));
            }
            Err(fault) => {
                all.push(found("a payload that can be read", OF_PAYLOAD, Err(fault)));
            }
        }
        Fit(all)
    }

    /// All that is wanted, in words.
    pub fn words(&self) -> String {
        let kind = format!("kind `{}`", shown(J::KIND));
        let these = self.these.iter().map(|one| one.wanted.clone());
        std::iter::once(kind).chain(these).collect::<Vec<_>>().join(", ")
    }
}

fn same<T: PartialEq>(
    wanted: &T,
    found: &T,
    words: impl FnOnce(&T) -> String,
) -> Result<(), String> {
    if wanted == found { Ok(()) } else { Err(words(found)) }
}

/// When a job is due, seen from `now`.
pub(super) fn due(row: &JobRow, now: Timestamp) -> String {
    match row.run_at {
        Some(at) if at > now => format!("in {}", spoken(at.since(now))),
        Some(_) => "now".to_owned(),
        None => "never".to_owned(),
    }
}
