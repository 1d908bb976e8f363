//! What lies in the store, past any faults.

use super::Kit;
use crate::handler;
use crate::job::{Job, JobRow, State};
use crate::query::{Filter, Test};
use crate::store::{Detail, ListQuery, MAX_PAGE, Position};

/// The states in which a job waits.
pub(super) const WAITING: [State; 4] =
    [State::Scheduled, State::Queued, State::Blocked, State::Retrying];

/// All jobs in these states, whole, oldest first.
pub(super) async fn jobs(kit: &Kit, states: &[State]) -> Result<Vec<JobRow>, String> {
    let filter = Filter::all().and(Test::State(states.to_vec()));
    let mut query =
        ListQuery { filter, limit: MAX_PAGE, detail: Detail::Revealed, ..Default::default() };
    let mut all = Vec::new();
    loop {
        let this = query.clone();
        let page = kit.call(move |store| async move { store.list(&this).await }).await?;
        all.extend(page.jobs);
        match page.next {
            Some(next) => query.at = Position::After(next),
            None => break,
        }
    }
    all.reverse();
    Ok(all)
}

/// All jobs of a type that wait.
pub(super) async fn decoded<J: Job>(kit: &Kit) -> Result<Vec<J>, String> {
    let rows = jobs(kit, &WAITING).await?;
    let of_kind = rows.iter().filter(|row| is_kind::<J>(row));
    of_kind.map(|row| decode(row).map_err(|fault| format!("job {}: {fault}", row.id))).collect()
}

/// Whether the handler of `J` runs this job.
pub(super) fn is_kind<J: Job>(row: &JobRow) -> bool {
    row.kind == J::KIND || J::ALIASES.contains(&row.kind.as_str())
}

/// The payload as a value, as a handler gets it; or what is wrong with it.
pub(super) fn decode<J: Job>(row: &JobRow) -> Result<J, String> {
    let read = handler::read(&row.payload, row.payload_version, !row.redacted.is_empty());
    read.map_err(|error| {
        let causes = error.chain().iter();
        causes.fold(error.message().to_owned(), |text, cause| format!("{text}: {cause}"))
    })
}
