//! Jobs with unique keys: who gets the key, and what becomes of who does not.

use std::collections::{HashMap, HashSet};

use sqlx::{Executor, PgConnection, Row};
use uuid::Uuid;

use crate::job::unique::{Hold, callers, scope};
use crate::job::{JobId, NewJob, OnConflict, Unique};
use crate::store::keys::HeldKey;
use crate::store::{Edit, Enqueued, Lead, Repeat, StoreError};
use crate::time::Timestamp;

use super::PostgresStore;
use super::edit::edit_waiting;
use super::enqueue::{Added, Call, How, add_all, add_batch, due_of};
use super::error::Fault;

const FORGET: &str = include_str!("forget_keys.sql");
const HOLDERS: &str = include_str!("unique_holders.sql");
const KNOWN: &str = include_str!("unique_known.sql");
const LOCK: &str = include_str!("unique_lock.sql");
const MOVE: &str = include_str!("unique_move.sql");
const RETAKE: &str = include_str!("unique_retake.sql");
const TAKE: &str = include_str!("unique_take.sql");

/// A call that was overtaken by another with the same keys starts again this often.
pub(super) const MAX_OVERTAKEN: u32 = 50;
/// Old keys that go in one statement: some milliseconds.
const MOST_FORGOTTEN: i64 = 1_000;
/// The most keys of one statement.
const MAX_KEYS: usize = 500;

impl PostgresStore {
    pub(super) async fn forget_old_keys(&self, lead: Lead) -> Result<bool, StoreError> {
        self.repeated("forget old unique keys", || self.try_forget_keys(lead)).await
    }

    async fn try_forget_keys(&self, lead: Lead) -> Result<bool, Fault> {
        let mut session = self.lead_session(&self.pools.chores, lead).await?;
        let query = session.query(FORGET).bind(MOST_FORGOTTEN).bind(self.clock.fixed());
        let gone: i64 = query.fetch_one(session.conn()).await?.try_get(0)?;
        session.done().await?;
        Ok(gone == MOST_FORGOTTEN)
    }
}

/// The jobs of one call that have a key, in rounds: one statement cannot take a key twice, so of
/// jobs that share one each goes in a round of its own.
pub(super) struct Keyed<'a> {
    rounds: Vec<Vec<Asked<'a>>>,
    /// Jobs that get the answer of an earlier one, since nothing could lie between: (job, earlier).
    echoes: Vec<(JobId, JobId)>,
}

/// One job that wants a key.
struct Asked<'a> {
    job: &'a NewJob,
    unique: &'a Unique,
    key: String,
    /// Its place in the call, if that has several.
    index: Option<usize>,
}

impl<'a> Keyed<'a> {
    /// `None` if no job has a key.
    pub(super) fn of(jobs: &'a [NewJob]) -> Option<Keyed<'a>> {
        let mut keyed = Keyed { rounds: Vec::new(), echoes: Vec::new() };
        let mut by_key: HashMap<(&str, String), Vec<&NewJob>> = HashMap::new();
        for (index, job) in jobs.iter().enumerate() {
            let Some(unique) = &job.unique else { continue };
            let key = unique.text(&job.payload);
            let earlier = by_key.entry((&job.kind, key.clone())).or_default();
            if let Some(first) = earlier.iter().find(|first| echoes(job, first)) {
                keyed.echoes.push((job.id, first.id));
                continue;
            }
            if keyed.rounds.len() == earlier.len() {
                keyed.rounds.push(Vec::new());
            }
            let index = (jobs.len() > 1).then_some(index);
            keyed.rounds[earlier.len()].push(Asked { job, unique, key, index });
            earlier.push(job);
        }
        // In one order in every call, over all its statements, as far as that can be known here.
        for round in &mut keyed.rounds {
            round.sort_by(|a, b| (&a.job.kind, &a.key).cmp(&(&b.job.kind, &b.key)));
        }
        (!keyed.rounds.is_empty()).then_some(keyed)
    }

    pub(super) async fn add(
        &self,
        conn: &mut PgConnection,
        how: How,
        added: &mut Added,
    ) -> Result<(), Fault> {
        let (mut locked, replacing) = self.own_and_replacing();
        locked.extend(lock_holders(conn, replacing, how).await?);
        for round in &self.rounds {
            for some in round.chunks(MAX_KEYS) {
                add_round(conn, some, how, &locked, added).await?;
            }
        }
        for (job, first) in &self.echoes {
            let holder = added.instead.get(&first.as_uuid()).map_or(*first, |answer| answer.id);
            added.instead.insert(job.as_uuid(), Enqueued::duplicate(holder));
        }
        Ok(())
    }
}

impl Keyed<'_> {
    /// The call's own jobs; and the keys of those that replace what others have.
    fn own_and_replacing(&self) -> (HashSet<Uuid>, Columns<'_>) {
        let all = || self.rounds.iter().flatten();
        let replacing = all().filter(|asked| asked.unique.on_conflict == OnConflict::Replace);
        (all().map(|asked| asked.job.id.as_uuid()).collect(), Columns::of(replacing))
    }
}

/// Whether `job`, coming right after `first` with the same key, can only be its duplicate.
fn echoes(job: &NewJob, first: &NewJob) -> bool {
    let (Some(unique), Some(earlier)) = (&job.unique, &first.unique) else { return false };
    let same_window = !matches!(unique.hold(), Hold::Window(_)) || job.due == first.due;
    unique.on_conflict == OnConflict::Keep
        && !unique.same_payload
        && unique.hold() == earlier.hold()
        && same_window
        && job.id != first.id
}

/// A call in the caller's transaction: when it is refused, what it did before must not stay.
pub(super) async fn all_or_none(
    conn: &mut PgConnection,
    call: &Call<'_>,
    how: How,
) -> Result<Added, Fault> {
    if call.unique.is_none() {
        return add_all(conn, call, how).await;
    }
    for last in (0..MAX_OVERTAKEN).map(|n| n + 1 == MAX_OVERTAKEN) {
        conn.execute("SAVEPOINT longshore_enqueue").await?;
        let added = add_all(conn, call, how).await;
        let ended = conn.execute(match added {
            Ok(_) => "RELEASE SAVEPOINT longshore_enqueue",
            Err(_) => "ROLLBACK TO SAVEPOINT longshore_enqueue",
        });
        let ended = ended.await;
        match added {
            Err(Fault::Known(StoreError::KeyBusy)) if !last => ended.map(|_| ())?,
            // What went wrong first is what the caller should hear.
            Err(fault) => return Err(fault),
            Ok(added) => return ended.map(|_| added).map_err(Fault::Db),
        }
    }
    unreachable!("the last try returns")
}

/// Keys of one statement, one array for each column.
#[derive(Default)]
struct Columns<'a> {
    ids: Vec<Uuid>,
    scopes: Vec<String>,
    keys: Vec<&'a str>,
    spans: Vec<Option<i64>>,
    for_good: Vec<bool>,
    run_ats: Vec<Option<Timestamp>>,
    delays: Vec<i64>,
    fingerprints: Vec<Option<Vec<u8>>>,
}

impl<'a> Columns<'a> {
    fn of(asked: impl Iterator<Item = &'a Asked<'a>>) -> Columns<'a> {
        let mut columns = Columns::default();
        for Asked { job, unique, key, .. } in asked {
            let (run_at, delay) = due_of(job.due);
            columns.ids.push(job.id.as_uuid());
            columns.scopes.push(scope(&job.kind));
            columns.keys.push(key);
            columns.spans.push(unique.span_ms());
            columns.for_good.push(unique.is_for_good());
            columns.run_ats.push(run_at);
            columns.delays.push(delay);
            columns.fingerprints.push(unique.fingerprint(&job.payload));
        }
        columns
    }
}

/// Who holds a key after it was asked for.
struct Held<'a> {
    asked: &'a Asked<'a>,
    /// As it is stored.
    key: String,
    holder: Uuid,
    while_active: bool,
    fingerprint: Option<Vec<u8>>,
}

async fn add_round(
    conn: &mut PgConnection,
    round: &[Asked<'_>],
    how: How,
    locked: &HashSet<Uuid>,
    added: &mut Added,
) -> Result<(), Fault> {
    let known = known(conn, round, how).await?;
    let asked: Vec<&Asked> =
        round.iter().filter(|asked| !known.contains(&asked.job.id.as_uuid())).collect();
    let held = take(conn, &asked, how).await?;
    let (mine, others): (Vec<Held>, Vec<Held>) =
        held.into_iter().partition(|held| held.holder == held.asked.job.id.as_uuid());
    let mut mine: Vec<(&NewJob, String)> =
        mine.into_iter().map(|held| (held.asked.job, held.key)).collect();
    if !others.is_empty() {
        mine.extend(settle(conn, others, how, locked, added).await?);
    }
    if mine.is_empty() {
        return Ok(());
    }
    let jobs: Vec<&NewJob> = mine.iter().map(|(job, _)| *job).collect();
    let keys = mine.iter().map(|(_, key)| key.as_str()).collect();
    Ok(add_batch(conn, &jobs, Some(keys), how, added).await?)
}

/// Jobs of a repeat that are there already keep the answer they had, whoever holds their key now.
async fn known(
    conn: &mut PgConnection,
    round: &[Asked<'_>],
    how: How,
) -> Result<Vec<Uuid>, sqlx::Error> {
    let repeats = round.iter().filter(|asked| how.may_have_ended(asked.job));
    let ids: Vec<Uuid> = repeats.map(|asked| asked.job.id.as_uuid()).collect();
    if ids.is_empty() {
        return Ok(ids);
    }
    let rows = how.query(KNOWN).bind(ids).fetch_all(conn).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Locks the holders that may be replaced, before the keys: jobs first, then keys, everywhere.
async fn lock_holders(
    conn: &mut PgConnection,
    columns: Columns<'_>,
    how: How,
) -> Result<Vec<Uuid>, sqlx::Error> {
    if columns.ids.is_empty() {
        return Ok(Vec::new());
    }
    let lock = how
        .query(LOCK)
        .bind(columns.scopes)
        .bind(columns.keys)
        .bind(columns.spans)
        .bind(columns.for_good)
        .bind(columns.run_ats)
        .bind(columns.delays)
        .bind(how.now);
    lock.fetch_all(conn).await?.iter().map(|row| row.try_get(0)).collect()
}

async fn take<'a>(
    conn: &mut PgConnection,
    asked: &[&'a Asked<'a>],
    how: How,
) -> Result<Vec<Held<'a>>, sqlx::Error> {
    let columns = Columns::of(asked.iter().copied());
    if columns.ids.is_empty() {
        return Ok(Vec::new());
    }
    let take = how
        .query(TAKE)
        .bind(columns.ids)
        .bind(columns.scopes)
        .bind(columns.keys)
        .bind(columns.spans)
        .bind(columns.for_good)
        .bind(columns.run_ats)
        .bind(columns.delays)
        .bind(columns.fingerprints)
        .bind(how.now);
    let by_id: HashMap<Uuid, &Asked> =
        asked.iter().map(|asked| (asked.job.id.as_uuid(), *asked)).collect();
    let mut held = Vec::with_capacity(asked.len());
    for row in take.fetch_all(conn).await? {
        let id: Uuid = row.try_get(0)?;
        held.push(Held {
            asked: by_id[&id],
            key: row.try_get(1)?,
            holder: row.try_get(2)?,
            while_active: row.try_get(3)?,
            fingerprint: row.try_get(4)?,
        });
    }
    // In the order given, so that a refusal names the first.
    held.sort_by_key(|held| held.asked.index);
    Ok(held)
}

/// What becomes of jobs whose key another job holds: by each one's rule a duplicate, a replacement
/// of what the holder has, or a refusal of the whole call. Answers those that get their key after
/// all: from a holder that is gone without having given it back (a row deleted by hand, or ended by
/// a node of an older version), or that runs and is to be replaced.
async fn settle<'a>(
    conn: &mut PgConnection,
    others: Vec<Held<'a>>,
    how: How,
    locked: &HashSet<Uuid>,
    added: &mut Added,
) -> Result<Vec<(&'a NewJob, String)>, Fault> {
    let ids: Vec<Uuid> = others.iter().map(|held| held.holder).collect();
    let mut alive: HashSet<Uuid> = HashSet::new();
    for row in how.query(HOLDERS).bind(ids).fetch_all(&mut *conn).await? {
        alive.insert(row.try_get(0)?);
    }
    let mut moved = Vec::new();
    for held in others {
        let job = held.asked.job;
        let is_alive = alive.contains(&held.holder);
        if !is_alive && held.while_active {
            moved.push(held);
            continue;
        }
        let holder = JobId::from_uuid(held.holder);
        let fingerprint = held.fingerprint.as_deref();
        HeldKey { stored: &held.key, holder, fingerprint }.refuse(
            job,
            held.asked.unique,
            held.asked.index,
        )?;
        let answer = match held.asked.unique.on_conflict {
            // It got its key after we locked: once more from the start, with it locked as well.
            OnConflict::Replace if is_alive && !locked.contains(&held.holder) => {
                return Err(StoreError::KeyBusy.into());
            }
            OnConflict::Replace if is_alive => {
                let edit = Edit::replacement(job);
                let found = edit_waiting(conn, holder, &edit, how.now).await?;
                if !found.is_some_and(|found| found.changed) {
                    // It runs, or has just ended.
                    moved.push(held);
                    continue;
                }
                added.early = true;
                Enqueued::replaced(holder)
            }
            _ => Enqueued::duplicate(holder),
        };
        added.instead.insert(job.id.as_uuid(), answer);
    }
    if !moved.is_empty() {
        hand_over(conn, &moved, how).await?;
    }
    Ok(moved.into_iter().map(|held| (held.asked.job, held.key)).collect())
}

async fn hand_over(
    conn: &mut PgConnection,
    moved: &[Held<'_>],
    how: How,
) -> Result<(), sqlx::Error> {
    let scopes: Vec<String> = moved.iter().map(|held| scope(&held.asked.job.kind)).collect();
    let keys: Vec<&str> = moved.iter().map(|held| held.key.as_str()).collect();
    let ids: Vec<Uuid> = moved.iter().map(|held| held.asked.job.id.as_uuid()).collect();
    let holders: Vec<Uuid> = moved.iter().map(|held| held.holder).collect();
    let fingerprints: Vec<Option<Vec<u8>>> =
        moved.iter().map(|held| held.asked.unique.fingerprint(&held.asked.job.payload)).collect();
    let query = how.query(MOVE).bind(scopes).bind(keys).bind(ids).bind(holders);
    query.bind(fingerprints).execute(conn).await.map(|_| ())
}

/// Takes the key of a job that is to run again; refused if another job has it by now.
pub(super) async fn retake(
    conn: &mut PgConnection,
    id: JobId,
    now: Option<Timestamp>,
) -> Result<(), Fault> {
    let how = How::silent(false, now, Repeat::No);
    let row = how.query(RETAKE).bind(id.as_uuid()).bind(now).fetch_optional(&mut *conn).await?;
    let Some(row) = row else { return Ok(()) };
    let holder: Uuid = row.try_get("holder")?;
    if holder == id.as_uuid() {
        return Ok(());
    }
    let (scope, key): (String, String) = (row.try_get("scope")?, row.try_get("key")?);
    let alive = is_alive(conn, holder, now).await?;
    if alive || !row.try_get::<bool, _>("while_active")? {
        let (key, holder) = (callers(&key).to_owned(), JobId::from_uuid(holder));
        return Err(StoreError::KeyHeld { key, holder, index: None }.into());
    }
    // The holder is gone without having given it back.
    Ok(hand_to(conn, &(scope, key), (id.as_uuid(), holder), now).await?)
}

/// Whether the holder of a key waits or runs.
pub(super) async fn is_alive(
    conn: &mut PgConnection,
    holder: Uuid,
    now: Option<Timestamp>,
) -> Result<bool, sqlx::Error> {
    let how = How::silent(false, now, Repeat::No);
    Ok(how.query(HOLDERS).bind([holder]).fetch_optional(conn).await?.is_some())
}

/// Gives a key, which this transaction has locked, to a job in place of the one that held it.
pub(super) async fn hand_to(
    conn: &mut PgConnection,
    (scope, key): &(String, String),
    (id, holder): (Uuid, Uuid),
    now: Option<Timestamp>,
) -> Result<(), sqlx::Error> {
    let how = How::silent(false, now, Repeat::No);
    let query =
        how.query(MOVE).bind([scope.as_str()]).bind([key.as_str()]).bind([id]).bind([holder]);
    query.bind([None::<Vec<u8>>]).execute(conn).await.map(|_| ())
}
