//! One run of one job, by a node that lives as long as that takes.

use std::sync::Arc;

use super::{Kit, Ran, with_causes};
use crate::job::name::shown;
use crate::job::{JobId, JobRow};
use crate::store::{ClaimedJob, Edit, KindAsk};
use crate::worker::once::{Hands, NotRun, Once};

/// Others of the same kind and queue that may be due before the one that is meant. Those are claimed with it
/// and given back, which leaves them as they were.
const MOST_BEFORE: u32 = 10_000;

/// Runs a job that the node holds.
pub(super) async fn run(kit: &Kit, node: &mut Once, job: Arc<ClaimedJob>) -> Result<Ran, String> {
    match node.run(Arc::clone(&job)).await {
        Ok(ran) => Ok(Ran::of(&job, &ran)),
        Err(NotRun::Store(_)) if kit.faults.is_gone(node.id()) => Ok(Ran::crashed(&job)),
        Err(NotRun::Store(error)) => Err(format!(
            "job {} of kind `{}` ran, but how it ended could not be written: {}",
            job.id,
            shown(&job.kind),
            with_causes(&error)
        )),
        Err(NotRun::Hangs(after)) => Err(format!(
            "the handler of `{}` did not come back within {after:?} of the real time; in a test it should wait \
             for nothing that only the clock brings, nor for a job that has not run yet",
            shown(&job.kind)
        )),
    }
}

/// Runs just this job, which is queued.
pub(super) async fn run_exactly(kit: &Kit, hands: &Hands, row: &JobRow) -> Result<Ran, String> {
    let store = Arc::clone(kit.client.store());
    let mut node = join(hands, store).await?;
    let ran = match claim(&mut node, row).await? {
        Some(job) => run(kit, &mut node, job).await?,
        None if kit.faults.is_gone(node.id()) => Ran::crashed_before(row),
        None => return Err(taken(row.id)),
    };
    node.leave().await.map_err(|error| with_causes(&error))?;
    Ok(ran)
}

/// Lets attempts of a queued job fail, without running it, until the next one is number `attempt`.
pub(super) async fn fail_until(
    kit: &Kit,
    hands: &Hands,
    row: &JobRow,
    attempt: u32,
) -> Result<(), String> {
    // Past the faults: those are meant for the attempt that runs.
    let mut node = join(hands, Arc::clone(&kit.inner)).await?;
    for _ in 1..attempt {
        let job = claim(&mut node, row).await?.ok_or_else(|| taken(row.id))?;
        let failed = node.fail(&job, "an earlier attempt, which the test only counted").await;
        failed.map_err(|error| with_causes(&error))?;
        let id = row.id;
        kit.call(move |store| async move { store.retry(id, 1, &Edit::new()).await }).await?;
    }
    node.leave().await.map_err(|error| with_causes(&error))
}

pub(super) async fn join(
    hands: &Hands,
    store: Arc<dyn crate::store::Store>,
) -> Result<Once, String> {
    Once::join(hands, store).await.map_err(|error| with_causes(&error))
}

async fn claim(node: &mut Once, row: &JobRow) -> Result<Option<Arc<ClaimedJob>>, String> {
    let kinds = [KindAsk { kind: row.kind.clone(), version: row.payload_version }];
    let claimed = node.claim(&row.queue, &kinds, MOST_BEFORE).await;
    let mut jobs = claimed.map_err(|error| with_causes(&error))?;
    let ours = jobs.iter().position(|job| job.id == row.id).map(|at| jobs.swap_remove(at));
    node.give_back(&jobs).await.map_err(|error| with_causes(&error))?;
    Ok(ours)
}

fn taken(id: JobId) -> String {
    format!("job {id} is queued but was not to be had; does a worker run beside this test?")
}
