//! How a list and a count look at jobs: the one algorithm over both tables, for both backends.
//!
//! Ids are walked in order, newest first or back, a bounded number of rows at a time; or, where an
//! index knows the few jobs that can pass, only those. Everything happens in one snapshot, so a job
//! that moves between the tables meanwhile is seen once.

use std::time::Instant;

use async_trait::async_trait;
use uuid::Uuid;

use super::query::{
    Count, Cursor, Detail, Effort, ListQuery, MAX_COUNT, MAX_LOOK, MAX_WHOLE_BYTES, Page, Position,
    Relation,
};
use crate::job::{JobRow, State};
use crate::query::wanted::Wanted;
use crate::time::Timestamp;

/// Which of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// `job`
    Hot,
    /// `history`
    Cold,
}

/// Which rows a look takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows<'a> {
    /// So many, from this id on to smaller ones.
    Down(Uuid, u64),
    /// So many, from this id on to greater ones.
    Up(Uuid, u64),
    /// These.
    Ids(&'a [Uuid]),
}

/// A row that passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub id: Uuid,
    /// In history on PostgreSQL, where it names the partition.
    pub finished_at: Option<Timestamp>,
}

/// What one look saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub looked: u64,
    pub found: u64,
    /// Those found, unless only their number was asked for.
    pub these: Vec<Found>,
    /// The last row looked at, if any.
    pub last: Option<Uuid>,
}

/// What a look is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    Rows,
    Number,
}

/// An index that may know the few jobs of `job` that can pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Probe<'a> {
    /// Running jobs, of these nodes if any are named.
    Running(Option<&'a [Uuid]>),
    Dead,
    /// Jobs with one of these unique keys.
    Keys(&'a [String]),
    /// Jobs of these queues, those in these states at least.
    Queues(&'a [String], &'a [State]),
}

/// One snapshot of a database.
#[async_trait]
pub(crate) trait Snapshot: Send {
    type Fault: Send;

    /// Whether the index of queues knows blocked jobs too.
    const QUEUES_KNOW_BLOCKED: bool;

    /// Rows that a bounded count walks over, at most: as many as the dearest filters let through in
    /// well under 100 ms. More than 10,000, or small databases would not be counted exactly.
    const COUNT_LOOK: u64;

    /// At most `most` ids, in any order, perhaps some twice; `None` if there are more.
    async fn probe(
        &mut self,
        probe: Probe<'_>,
        most: u64,
    ) -> Result<Option<Vec<Uuid>>, Self::Fault>;

    async fn look(
        &mut self,
        table: Table,
        rows: Rows<'_>,
        wanted: &Wanted,
        purpose: For,
    ) -> Result<Seen, Self::Fault>;

    /// Their jobs, in any order.
    async fn jobs(
        &mut self,
        table: Table,
        found: &[Found],
        detail: Detail,
        now: Timestamp,
    ) -> Result<Vec<JobRow>, Self::Fault>;
}

/// The ids that an index gives, if one does and they are at most `most`.
async fn candidates<S: Snapshot>(
    snapshot: &mut S,
    wanted: &Wanted,
    most: u64,
) -> Result<Option<Vec<Uuid>>, S::Fault> {
    let states = wanted.hot_states();
    let mut ways: Vec<Vec<Probe<'_>>> = Vec::new();
    if let Some(ids) = &wanted.ids.these {
        return Ok(Some(ids.clone()));
    }
    if let Some(keys) = &wanted.key.these {
        ways.push(vec![Probe::Keys(keys)]);
    }
    if let Some(nodes) = &wanted.nodes.these {
        ways.push(vec![Probe::Running(Some(nodes))]);
    } else if states.iter().all(|state| matches!(state, State::Running | State::Dead)) {
        ways.push(
            states
                .iter()
                .map(|state| match state {
                    State::Dead => Probe::Dead,
                    _ => Probe::Running(None),
                })
                .collect(),
        );
    }
    if let Some(queues) = &wanted.queue.these
        && (S::QUEUES_KNOW_BLOCKED || !states.contains(&State::Blocked))
    {
        ways.push(vec![Probe::Queues(queues, &states)]);
    }
    'ways: for way in ways {
        let mut ids = Vec::new();
        for probe in way {
            match snapshot.probe(probe, most).await? {
                Some(some) => ids.extend(some),
                None => continue 'ways,
            }
        }
        ids.sort_unstable();
        ids.dedup();
        if ids.len() as u64 <= most {
            return Ok(Some(ids));
        }
    }
    Ok(None)
}

/// A place on the way, growing in the direction of the walk.
type Step = u128;

/// The direction of a walk.
#[derive(Clone, Copy)]
enum Way {
    Older,
    Newer,
}

impl Way {
    fn step(self, id: Uuid) -> Step {
        match self {
            Way::Older => !id.as_u128(),
            Way::Newer => id.as_u128(),
        }
    }

    fn id(self, step: Step) -> Uuid {
        match self {
            Way::Older => Uuid::from_u128(!step),
            Way::Newer => Uuid::from_u128(step),
        }
    }

    fn rows<'a>(self, from: Step, count: u64) -> Rows<'a> {
        match self {
            Way::Older => Rows::Down(self.id(from), count),
            Way::Newer => Rows::Up(self.id(from), count),
        }
    }
}

/// How far one table was looked at.
struct Side {
    table: Table,
    found: Vec<(Step, Found)>,
    /// The first place not looked at; `None`: there is nothing further.
    next: Option<Step>,
    looked: u64,
}

impl Side {
    async fn start<S: Snapshot>(
        table: Table,
        snapshot: &mut S,
        wanted: &Wanted,
        way: Way,
        from: Step,
    ) -> Result<Side, S::Fault> {
        let mut side = Side { table, found: Vec::new(), next: None, looked: 0 };
        let states = match table {
            Table::Hot => wanted.hot_states(),
            Table::Cold => wanted.cold_states(),
        };
        if states.is_empty() || wanted.is_impossible() {
            return Ok(side);
        }
        let ids = match table {
            Table::Hot => candidates(snapshot, wanted, MAX_LOOK).await?,
            Table::Cold => wanted.ids.these.clone(),
        };
        match ids {
            Some(ids) => {
                let seen = snapshot.look(table, Rows::Ids(&ids), wanted, For::Rows).await?;
                side.looked = seen.looked;
                side.add(seen.these, way);
                side.found.retain(|(step, _)| *step >= from);
            }
            None => side.next = Some(from),
        }
        Ok(side)
    }

    fn add(&mut self, these: Vec<Found>, way: Way) {
        self.found.extend(these.into_iter().map(|found| (way.step(found.id), found)));
    }

    async fn go_on<S: Snapshot>(
        &mut self,
        snapshot: &mut S,
        wanted: &Wanted,
        way: Way,
        rows: u64,
    ) -> Result<(), S::Fault> {
        let Some(from) = self.next else { return Ok(()) };
        let seen = snapshot.look(self.table, way.rows(from, rows), wanted, For::Rows).await?;
        self.looked += seen.looked;
        self.add(seen.these, way);
        self.next = match seen.last {
            Some(last) if seen.looked >= rows => way.step(last).checked_add(1),
            _ => None,
        };
        Ok(())
    }
}

/// One page. The cursor has been checked.
pub(crate) async fn page<S: Snapshot>(
    snapshot: &mut S,
    query: &ListQuery,
    now: Timestamp,
) -> Result<Page, S::Fault> {
    let wanted = query.filter.wanted(now);
    let (way, from) = match query.at {
        Position::First => (Way::Older, 0),
        // A cursor at 0 has nothing before it; none is given out.
        Position::After(cursor) => (Way::Older, (!cursor.at.as_u128()).saturating_add(1)),
        Position::Before(cursor) => (Way::Newer, cursor.at.as_u128()),
    };
    let size = query.page_size();
    let mut sides = [
        Side::start(Table::Hot, snapshot, &wanted, way, from).await?,
        Side::start(Table::Cold, snapshot, &wanted, way, from).await?,
    ];
    let mut rows = (size as u64 + 1).max(64);
    // Where one side stopped, nothing further may be shown from the other, or a later page would have
    // to go back.
    let border = loop {
        let border = sides.iter().filter_map(|side| side.next).min();
        let shown = sides.iter().flat_map(|side| &side.found);
        let shown = shown.filter(|(step, _)| border.is_none_or(|border| *step < border)).count();
        let behind = sides.iter_mut().find(|side| side.next.is_some() && side.next == border);
        match behind {
            Some(side) if shown <= size && side.looked < MAX_LOOK => {
                let rows = rows.min(MAX_LOOK - side.looked);
                side.go_on(snapshot, &wanted, way, rows).await?;
            }
            _ => break border,
        }
        rows *= 4;
    };

    let mut found: Vec<(Step, Table, Found)> = sides
        .iter()
        .flat_map(|side| side.found.iter().map(|(step, found)| (*step, side.table, *found)))
        .filter(|(step, ..)| border.is_none_or(|border| *step < border))
        .collect();
    found.sort_unstable_by_key(|(step, ..)| *step);
    let mut end = border;
    if found.len() > size {
        found.truncate(size);
        end = found.last().and_then(|(step, ..)| step.checked_add(1));
    }
    let (mut jobs, whole_to) = fetch(snapshot, &found, query.detail, now).await?;
    if let Some(step) = whole_to {
        end = step.checked_add(1);
    }
    jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.id));

    let cursor = |at: Uuid| Some(Cursor::new(at, &query.filter));
    // The page covers the ids from one cursor to the other; pages join there without gap or overlap.
    let (next, prev) = match (way, query.at) {
        (Way::Older, at) => (
            end.and_then(|end| cursor(way.id(end - 1))),
            match at {
                Position::After(start) => Some(start),
                _ => None,
            },
        ),
        (Way::Newer, _) => (cursor(way.id(from)), end.and_then(|end| cursor(way.id(end)))),
    };
    let looked = sides.iter().map(|side| side.looked).sum();
    Ok(Page { jobs, next, prev, looked })
}

/// Some jobs for an operation, in the order of their ids.
#[derive(Debug)]
pub(crate) struct Batch {
    pub found: Vec<(Table, Found)>,
    /// Every job up to this id was looked at; `None`: all there are.
    pub to: Option<Uuid>,
}

/// The next `most` jobs that pass, of those behind `after`, up to `last`. Looks at a bounded number of rows, so
/// it may be fewer, even none, before the end.
pub(crate) async fn batch<S: Snapshot>(
    snapshot: &mut S,
    wanted: &Wanted,
    (after, last): (Option<Uuid>, Uuid),
    most: usize,
) -> Result<Batch, S::Fault> {
    let way = Way::Newer;
    let Some(from) = after.map_or(Some(0), |after| way.step(after).checked_add(1)) else {
        return Ok(Batch { found: Vec::new(), to: None });
    };
    let mut sides = [
        Side::start(Table::Hot, snapshot, wanted, way, from).await?,
        Side::start(Table::Cold, snapshot, wanted, way, from).await?,
    ];
    let mut rows = (most as u64 + 1).max(64);
    let last = way.step(last);
    let border = loop {
        for side in &mut sides {
            side.next = side.next.filter(|next| *next <= last);
        }
        let border = sides.iter().filter_map(|side| side.next).min();
        let before = |step: Step| border.is_none_or(|border| step < border);
        let found = sides.iter().flat_map(|side| &side.found).filter(|(step, _)| before(*step));
        let enough = found.count() > most;
        let behind = sides.iter_mut().find(|side| side.next.is_some() && side.next == border);
        match behind {
            Some(side) if !enough && side.looked < MAX_LOOK => {
                let rows = rows.min(MAX_LOOK - side.looked);
                side.go_on(snapshot, wanted, way, rows).await?;
            }
            _ => break border,
        }
        rows *= 4;
    };
    let mut found: Vec<(Step, Table, Found)> = sides
        .iter()
        .flat_map(|side| side.found.iter().map(|(step, found)| (*step, side.table, *found)))
        .filter(|(step, ..)| *step <= last && border.is_none_or(|border| *step < border))
        .collect();
    found.sort_unstable_by_key(|(step, ..)| *step);
    let mut to = border.map(|border| way.id(border - 1));
    if found.len() > most {
        found.truncate(most);
        to = found.last().map(|(step, ..)| way.id(*step));
    }
    Ok(Batch { found: found.into_iter().map(|(_, table, found)| (table, found)).collect(), to })
}

/// Few at a time, so that a page of large jobs can end early; then with its last step.
async fn fetch<S: Snapshot>(
    snapshot: &mut S,
    found: &[(Step, Table, Found)],
    detail: Detail,
    now: Timestamp,
) -> Result<(Vec<JobRow>, Option<Step>), S::Fault> {
    let at_once = match detail {
        Detail::Preview => found.len().max(1),
        Detail::Whole | Detail::Revealed => 16,
    };
    let (mut jobs, mut bytes) = (Vec::with_capacity(found.len()), 0);
    let parts = found.chunks(at_once);
    let mut left = parts.len();
    for part in parts {
        for table in [Table::Hot, Table::Cold] {
            let of = part.iter().filter(|(_, place, _)| *place == table);
            let these: Vec<Found> = of.map(|(.., found)| *found).collect();
            if !these.is_empty() {
                jobs.extend(snapshot.jobs(table, &these, detail, now).await?);
            }
        }
        left -= 1;
        if detail != Detail::Preview && left > 0 {
            let fresh = &jobs[jobs.len().saturating_sub(part.len())..];
            bytes += fresh.iter().map(weight).sum::<usize>();
            if bytes > MAX_WHOLE_BYTES {
                return Ok((jobs, part.last().map(|(step, ..)| *step)));
            }
        }
    }
    Ok((jobs, None))
}

fn weight(job: &JobRow) -> usize {
    let errors = job.errors.iter().map(|error| error.message.len()).sum::<usize>();
    job.payload.len() + job.output.as_ref().map_or(0, |output| output.len()) + errors
}

/// Counts, table by table.
pub(crate) async fn count<S: Snapshot>(
    snapshot: &mut S,
    wanted: &Wanted,
    effort: Effort,
) -> Result<Count, S::Fault> {
    let mut count = Count { value: 0, relation: Relation::Exact, looked: 0 };
    if wanted.is_impossible() {
        return Ok(count);
    }
    let give_up = match effort {
        Effort::Within(span) => Some(Instant::now() + span),
        Effort::Bounded | Effort::Unbounded => None,
    };
    // Rows that may still be looked at. The jobs that have not ended get half at most, or as many as
    // there are to count exactly.
    let mut budget = S::COUNT_LOOK;
    for table in [Table::Hot, Table::Cold] {
        let share = match table {
            Table::Hot => (budget / 2).max(MAX_COUNT + 1),
            Table::Cold => budget,
        };
        let (states, ids) = match table {
            Table::Hot => (wanted.hot_states(), candidates(snapshot, wanted, MAX_COUNT).await?),
            Table::Cold => (wanted.cold_states(), wanted.ids.these.clone()),
        };
        if states.is_empty() {
            continue;
        }
        if let Some(ids) = ids {
            let seen = snapshot.look(table, Rows::Ids(&ids), wanted, For::Number).await?;
            count.value += seen.found;
            count.looked += seen.looked;
            continue;
        }
        let (mut from, mut looked) = (Uuid::max(), 0);
        // At first so many that all jobs together are counted in one look.
        let mut rows = MAX_COUNT + 1;
        loop {
            if effort == Effort::Bounded {
                if count.value > MAX_COUNT {
                    return Ok(Count { value: MAX_COUNT, relation: Relation::AtLeast, ..count });
                }
                rows = rows.min(share - looked);
                if rows == 0 {
                    count.relation = Relation::AtLeast;
                    break;
                }
            }
            let seen = snapshot.look(table, Rows::Down(from, rows), wanted, For::Number).await?;
            count.value += seen.found;
            count.looked += seen.looked;
            looked += seen.looked;
            let further = seen.last.and_then(|last| last.as_u128().checked_sub(1));
            match further {
                Some(further) if seen.looked >= rows => from = Uuid::from_u128(further),
                _ => break,
            }
            rows = 50_000;
            if give_up.is_some_and(|give_up| Instant::now() >= give_up) {
                return Ok(Count { relation: Relation::AtLeast, ..count });
            }
        }
        budget = budget.saturating_sub(looked);
    }
    if effort == Effort::Bounded && count.value > MAX_COUNT {
        return Ok(Count { value: MAX_COUNT, relation: Relation::AtLeast, ..count });
    }
    Ok(count)
}
