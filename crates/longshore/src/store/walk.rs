//! What a prune remembers between its steps: for each chunk of history, when anything in it can be
//! past its time. Pure; the stores read and write.
//!
//! No index tells which rows of history are old, since each finish would pay for it. So history is
//! walked once, in chunks, and a chunk is looked at again when its earliest row is due, or when new
//! rows may have come into it. Times are in microseconds, by the store's clock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use uuid::Uuid;

use super::retention::{DEFAULT_KEEP, Keep, Pruner, RetentionRule};
use crate::job::State;
use crate::time::Timestamp;

const SECOND: i64 = 1_000_000;
/// A chunk into which new rows may come is looked at again after an eighth of the shortest span that
/// anything is kept, or a quarter if none came since the last time, within these bounds.
const SOONEST: i64 = SECOND;
const LATEST: i64 = 600 * SECOND;
/// The end of what grows is looked at this often, so that a kept span never seen before shows soon.
const TAIL: i64 = 30 * SECOND;
/// Nothing is believed for longer, whatever may have been done to the table by hand.
const STALE: i64 = 6 * 3_600 * SECOND;
/// A day's table that could not be taken away just now is left alone for this long.
const AGAIN: i64 = 60 * SECOND;
/// The sizes of things are asked for again after this long at the latest.
const MAP_FOR: Duration = Duration::from_secs(5);
/// A day with no more rows than this, and less than one a page, is written anew for its space; that
/// takes as long as readers of that day may be held up, a tenth of a second.
const FEW_ROWS: u64 = 20_000;
/// And only if it gives back something, and stays for a while.
const MANY_CHUNKS: usize = 16;
const A_DAY: i64 = 86_400 * SECOND;

/// Whoever prunes by hand and comes again after this long begins anew: in a chunk that had its turn, more may be past
/// its time by now.
const ONE_GO: Duration = Duration::from_secs(60);

/// One part of history that is walked in chunks: a day's table, or all of it on SQLite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Its name among the others, in the order they are walked.
    pub key: i64,
    /// How many chunks it has now.
    pub chunks: usize,
    /// New rows may come into this chunk and those after it.
    pub hot_from: usize,
    /// Nothing comes into it any more; it may be taken away as a whole.
    pub closed: bool,
}

/// What a look at one chunk told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Rows that are left in it.
    pub rows: u64,
    /// When the first of these is due; `None` if none ever is.
    pub earliest: Option<i64>,
    /// When the last of these is due; `None` if there is none, or one that stays for ever.
    pub latest: Option<i64>,
    /// Rows that are past their time, and whose payload lies aside.
    pub aside: u64,
    /// When the youngest row ended.
    pub newest: Option<i64>,
    /// The shortest span that one of its rows is kept.
    pub shortest: Option<i64>,
    /// When the first row that was past its time was due.
    pub found: Option<i64>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Look at a chunk, and remove nothing yet.
    Look(i64, usize),
    /// Remove what is past its time in a chunk.
    Remove(i64, usize),
    /// The same, but only rows whose payload lies aside: the rest goes with its table.
    RemoveAside(i64, usize),
    /// Take a whole day away.
    Leave(i64),
    /// Write a day anew, of which little is left.
    Compact(i64),
}

/// Where to go on among the dead jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeadAsk {
    pub after: (i64, Uuid),
    /// Who died later than this cannot be due yet.
    pub until: i64,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    seen: Seen,
    seen_at: i64,
    wait: i64,
    round: u64,
}

/// For what is asked.
struct Turn {
    now: i64,
    round: u64,
    whole: bool,
    look: bool,
}

#[derive(Debug)]
struct Known {
    place: Place,
    chunks: Vec<Option<Chunk>>,
    not_before: i64,
}

/// A memory for each of those who may prune beside each other in one process: one that forgot whenever another had a
/// turn would never come to its end.
#[derive(Debug, Default)]
pub(crate) struct Memories<M> {
    leader: Mutex<M>,
    hand: Mutex<M>,
    look: Mutex<M>,
}

impl<M> Memories<M> {
    pub fn of(&self, pruner: Pruner) -> &Mutex<M> {
        match pruner {
            Pruner::Leader(_) => &self.leader,
            Pruner::Hand => &self.hand,
            Pruner::Look(_) => &self.look,
        }
    }
}

/// The memory of one pruner.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pruner: Option<Pruner>,
    /// When its last step began.
    stepped: Option<Instant>,
    rules: Vec<RetentionRule>,
    places: BTreeMap<i64, Known>,
    cursor: (i64, usize),
    /// Each chunk has its turn once a round, so that rows that fall due one by one go together.
    round: u64,
    mapped: Option<Instant>,
    shortest: i64,
    found: Option<i64>,
    dead: Dead,
}

#[derive(Debug, Default)]
struct Dead {
    after: Option<(i64, Uuid)>,
    next_at: i64,
    /// The first expiry that this walk came across and could not remove yet.
    earliest: Option<i64>,
}

impl Walk {
    /// Everything is unknown again.
    pub fn reset(&mut self) {
        *self = Walk::default();
    }

    /// Before each step. Another pruner, or other rules, and everything is unknown again.
    pub fn begin(&mut self, pruner: Pruner, rules: Vec<RetentionRule>) {
        let is_old = pruner == Pruner::Hand && self.stepped.is_some_and(|at| at.elapsed() > ONE_GO);
        if self.pruner != Some(pruner) || self.rules != rules || is_old {
            self.reset();
            self.pruner = Some(pruner);
            self.rules = rules;
        }
        self.stepped = Some(Instant::now());
        if self.chunks().all(|(chunk, ..)| chunk.is_some()) {
            self.found = None;
        }
    }

    /// The shortest span that a rule says or a row was seen with.
    fn shortest(&self) -> i64 {
        let rules = [State::Succeeded, State::Cancelled].map(|state| shortest(&self.rules, state));
        let rows = self.chunks().filter_map(|(chunk, ..)| chunk.as_ref()?.seen.shortest);
        let spans = rules.into_iter().flatten().chain(rows);
        spans.fold(DEFAULT_KEEP.as_micros() as i64, i64::min).max(0)
    }

    /// Whether the sizes of things should be asked for.
    pub fn wants_map(&self) -> bool {
        self.mapped.is_none_or(|at| at.elapsed() > MAP_FOR)
    }

    /// The sizes of things now.
    pub fn map(&mut self, places: &[Place]) {
        self.mapped = Some(Instant::now());
        self.places.retain(|key, _| places.iter().any(|place| place.key == *key));
        for place in places {
            let known = self.places.entry(place.key).or_insert_with(|| Known {
                place: *place,
                chunks: Vec::new(),
                not_before: i64::MIN,
            });
            let before = known.chunks.len();
            known.chunks.resize(place.chunks, None);
            if place.chunks > before
                && let Some(edge) = before.checked_sub(1)
            {
                // The last one has grown.
                known.chunks[edge] = None;
            }
            if place.hot_from < known.place.hot_from {
                // The end came back: what lies between may be new.
                let from = place.hot_from.min(known.chunks.len());
                known.chunks[from..].fill(None);
            }
            known.place = *place;
        }
        self.shortest = self.shortest();
    }

    /// The next thing to do among the ended jobs; `None` until later, or when the round is over.
    pub fn next(&mut self, now: i64) -> Option<Task> {
        let (from, chunk) = self.cursor;
        let whole = matches!(self.pruner, Some(Pruner::Leader(_)));
        let look = matches!(self.pruner, Some(Pruner::Look(_)));
        let turn = Turn { now, round: self.round, whole, look };
        let find = |known: &Known, first| known.next(&turn, first);
        let task = self
            .places
            .range(from..)
            .find_map(|(key, known)| find(known, if *key == from { chunk } else { 0 }))
            .or_else(|| self.places.range(..=from).find_map(|(_, known)| find(known, 0)));
        match task {
            Some(Task::Look(key, at) | Task::Remove(key, at) | Task::RemoveAside(key, at)) => {
                self.cursor = (key, at);
            }
            Some(Task::Leave(_) | Task::Compact(_)) => {}
            None => (self.mapped, self.round) = (None, self.round + 1),
        }
        task
    }

    /// What a look at a chunk told.
    pub fn seen(&mut self, key: i64, at: usize, now: i64, seen: Seen) {
        self.shortest = seen.shortest.map_or(self.shortest, |span| self.shortest.min(span.max(0)));
        self.found = [self.found, seen.found].into_iter().flatten().min();
        let base = (self.shortest / 8).clamp(SOONEST, LATEST);
        let round = self.round;
        let Some(known) = self.places.get_mut(&key) else { return };
        let Some(chunk) = known.chunks.get_mut(at) else { return };
        let quiet = chunk.filter(|before| before.seen.newest == seen.newest);
        let wait = quiet.map_or(base, |_| (2 * base).min(LATEST));
        *chunk = Some(Chunk { seen, seen_at: now, wait, round });
    }

    /// The place is gone, or another one by now.
    pub fn forget(&mut self, key: i64) {
        self.places.remove(&key);
        self.mapped = None;
    }

    /// Nothing can be done about the place just now.
    pub fn put_off(&mut self, key: i64, now: i64) {
        if let Some(known) = self.places.get_mut(&key) {
            known.not_before = now + AGAIN;
        }
    }

    /// Where to look among the dead; `None` until later, or for good if no rule is for them.
    pub fn next_dead(&self, now: i64) -> Option<DeadAsk> {
        let keep = shortest(&self.rules, State::Dead)?;
        let after = match self.dead.after {
            Some(after) => after,
            None if now >= self.dead.next_at => (i64::MIN, Uuid::nil()),
            None => return None,
        };
        Some(DeadAsk { after, until: now.saturating_sub(keep) })
    }

    /// What a look at some of the dead told: the last of them, `None` at the end, and when the first of
    /// those that stay is due.
    pub fn seen_dead(&mut self, now: i64, last: Option<(i64, Uuid)>, earliest: Option<i64>) {
        let dead = &mut self.dead;
        dead.earliest = [dead.earliest, earliest].into_iter().flatten().min();
        dead.after = last;
        if last.is_none() {
            let keep = shortest(&self.rules, State::Dead).unwrap_or(LATEST);
            let soon = now + (keep / 8).clamp(SOONEST, LATEST);
            dead.next_at = dead.earliest.take().map_or(soon, |at| at.clamp(now + SOONEST, soon));
        }
    }

    /// How far behind.
    pub fn lag(&self, now: i64) -> Duration {
        let due = self.chunks().filter_map(|(chunk, ..)| chunk.as_ref()?.seen.earliest);
        let oldest = due.chain(self.found).min().unwrap_or(now);
        Duration::from_micros(now.saturating_sub(oldest).max(0) as u64)
    }

    /// When there is something to do again.
    pub fn next_in(&self, now: i64) -> Duration {
        let chunks = self.chunks().map(|(chunk, hot, tail)| match chunk {
            Some(chunk) => chunk.due_at(hot, tail),
            None => now,
        });
        let dead = self.next_dead(i64::MAX).map(|_| self.dead.next_at);
        let next_at = chunks.chain(dead).min().unwrap_or(now + LATEST);
        Timestamp::from_micros(next_at).since(Timestamp::from_micros(now))
    }

    fn chunks(&self) -> impl Iterator<Item = (&Option<Chunk>, bool, bool)> {
        self.places.values().flat_map(|known| {
            known
                .chunks
                .iter()
                .enumerate()
                .map(|(at, chunk)| (chunk, known.hot(at), known.tail(at)))
        })
    }
}

impl Known {
    fn hot(&self, at: usize) -> bool {
        at >= self.place.hot_from
    }

    fn tail(&self, at: usize) -> bool {
        self.hot(at) && at + 2 >= self.chunks.len()
    }

    fn next(&self, turn: &Turn, first: usize) -> Option<Task> {
        let Turn { now, round, whole, look } = *turn;
        let key = self.place.key;
        if now < self.not_before {
            return None;
        }
        let unknown = || self.chunks.iter().position(Option::is_none);
        if look {
            return unknown().map(|at| Task::Look(key, at));
        }
        if whole && self.place.closed {
            // All of it is looked at before anything is removed: perhaps it goes as a whole.
            if let Some(at) = unknown() {
                return Some(Task::Look(key, at));
            }
            if let Some(task) = self.as_a_whole(now) {
                return Some(task);
            }
        }
        let due = |at: usize| match &self.chunks[at] {
            Some(chunk) => {
                let had_its_turn = chunk.round == round && !chunk.left_over();
                !had_its_turn && chunk.due_at(self.hot(at), self.tail(at)) <= now
            }
            None => true,
        };
        let mut order = (first..self.chunks.len()).chain(0..first.min(self.chunks.len()));
        order.find(|at| due(*at)).map(|at| Task::Remove(key, at))
    }

    /// What can be done to a day of which every chunk is known.
    fn as_a_whole(&self, now: i64) -> Option<Task> {
        let key = self.place.key;
        let seen = || self.chunks.iter().flatten().map(|chunk| &chunk.seen);
        let past = |seen: &Seen| seen.rows == 0 || seen.latest.is_some_and(|at| at <= now);
        if seen().all(past) {
            let aside = seen().position(|seen| seen.aside > 0);
            return Some(aside.map_or(Task::Leave(key), |at| Task::RemoveAside(key, at)));
        }
        let rows: u64 = seen().map(|seen| seen.rows).sum();
        let sparse = rows <= FEW_ROWS && rows < self.chunks.len() as u64 * PAGES;
        let stays = seen().any(|seen| {
            seen.rows > 0 && seen.latest.is_none_or(|at| at > now.saturating_add(A_DAY))
        });
        let settled = seen().all(|seen| seen.earliest.is_none_or(|at| at > now));
        (self.chunks.len() >= MANY_CHUNKS && sparse && stays && settled)
            .then_some(Task::Compact(key))
    }
}

impl Chunk {
    /// More was past its time than could go at once.
    fn left_over(&self) -> bool {
        self.seen.earliest.is_some_and(|at| at <= self.seen_at)
    }

    fn due_at(&self, hot: bool, tail: bool) -> i64 {
        let wait = match (hot, tail) {
            (_, true) => self.wait.min(TAIL),
            (true, false) => self.wait,
            (false, false) => STALE,
        };
        (self.seen_at + wait).min(self.seen.earliest.unwrap_or(i64::MAX))
    }
}

/// Pages of a chunk, where a chunk is counted in pages: some 1,000 rows. A look at 128 took 33 ms on a busy
/// machine, and 87 at most.
pub(crate) const PAGES: u64 = 32;

/// The shortest span that some rule keeps jobs of this state.
fn shortest(rules: &[RetentionRule], state: State) -> Option<i64> {
    let spans =
        rules.iter().filter(|rule| rule.may_fit(state)).filter_map(|rule| match rule.keep {
            Keep::For(_) => rule.keep.as_ms().map(|ms| ms.saturating_mul(1_000)),
            Keep::Forever => None,
        });
    spans.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Lead, NodeId, RetentionScope};

    const NOW: i64 = 1_000_000 * SECOND;

    fn leader() -> Pruner {
        Pruner::Leader(Lead { node: NodeId::new(), term: 1 })
    }

    fn walk(place: Place) -> Walk {
        let mut walk = Walk::default();
        walk.begin(leader(), Vec::new());
        walk.map(&[place]);
        walk
    }

    const OPEN: Place = Place { key: 1, chunks: 3, hot_from: 0, closed: false };
    const CLOSED: Place = Place { key: 1, chunks: 3, hot_from: usize::MAX, closed: true };

    fn rows(due_in: i64) -> Seen {
        let at = Some(NOW + due_in);
        Seen { rows: 9, earliest: at, latest: at, newest: Some(0), ..Seen::default() }
    }

    #[test]
    fn each_chunk_is_looked_at_once_and_then_when_it_is_due() {
        let mut walk = walk(Place { hot_from: usize::MAX, ..OPEN });
        for at in 0..3 {
            assert_eq!(walk.next(NOW), Some(Task::Remove(1, at)));
            walk.seen(1, at, NOW, rows((at as i64 + 1) * SECOND));
        }
        assert_eq!(walk.next(NOW), None);
        assert_eq!(walk.next_in(NOW), Duration::from_secs(1));
        assert_eq!(walk.next(NOW + SECOND), Some(Task::Remove(1, 0)));
        walk.seen(1, 0, NOW + SECOND, Seen::default());
        assert_eq!(walk.next(NOW + SECOND), None);
        assert_eq!(walk.lag(NOW + 5 * SECOND), Duration::from_secs(3));
        assert_eq!(
            walk.next(NOW + STALE),
            Some(Task::Remove(1, 1)),
            "nothing is believed for ever"
        );
    }

    #[test]
    fn where_rows_may_come_it_looks_again_less_and_less_often() {
        let mut walk = walk(OPEN);
        walk.begin(leader(), Vec::new());
        walk.map(&[OPEN]);
        for at in 0..3 {
            walk.seen(1, at, NOW, Seen { shortest: Some(80 * SECOND), ..rows(LATEST * 9) });
        }
        assert_eq!(walk.next(NOW + 9 * SECOND), None);
        assert_eq!(walk.next(NOW + 10 * SECOND), Some(Task::Remove(1, 0)));
        let still = Seen { shortest: Some(80 * SECOND), ..rows(LATEST * 9) };
        walk.seen(1, 0, NOW + 10 * SECOND, still);
        walk.seen(1, 1, NOW + 10 * SECOND, Seen { newest: Some(5), ..still });
        walk.seen(1, 2, NOW + 10 * SECOND, still);
        assert_eq!(walk.next(NOW + 20 * SECOND), None, "each once a round");
        assert_eq!(walk.next(NOW + 20 * SECOND), Some(Task::Remove(1, 1)), "rows came into it");
        walk.seen(1, 1, NOW + 20 * SECOND, still);
        assert_eq!(walk.next(NOW + 29 * SECOND), None);
        assert_eq!(walk.next(NOW + 29 * SECOND), None, "none came into the others");
        assert_eq!(walk.next(NOW + 30 * SECOND), Some(Task::Remove(1, 1)), "but they may");
    }

    #[test]
    fn a_day_that_is_past_goes_as_a_whole_and_its_payloads_before_it() {
        let mut walk = walk(CLOSED);
        for at in 0..3 {
            assert_eq!(walk.next(NOW), Some(Task::Look(1, at)));
            walk.seen(1, at, NOW, Seen { aside: u64::from(at == 1), ..rows(-SECOND) });
        }
        assert_eq!(walk.next(NOW), Some(Task::RemoveAside(1, 1)));
        walk.seen(1, 1, NOW, rows(-SECOND));
        assert_eq!(walk.next(NOW), Some(Task::Leave(1)));
        walk.put_off(1, NOW);
        assert_eq!(walk.next(NOW), None);
        assert_eq!(walk.next(NOW + AGAIN), Some(Task::Leave(1)));
        walk.forget(1);
        assert_eq!(walk.next(NOW + AGAIN), None);
    }

    #[test]
    fn a_day_of_which_little_stays_is_written_anew() {
        let place = Place { chunks: 17, ..CLOSED };
        let mut walk = walk(place);
        for at in 0..17 {
            assert_eq!(walk.next(NOW), Some(Task::Look(1, at)));
            let seen = if at == 16 { rows(9 * A_DAY) } else { rows(-1) };
            walk.seen(1, at, NOW, seen);
        }
        for at in 0..16 {
            assert_eq!(walk.next(NOW), Some(Task::Remove(1, at)));
            walk.seen(1, at, NOW, Seen::default());
        }
        assert_eq!(walk.next(NOW), Some(Task::Compact(1)));
        walk.forget(1);
        walk.map(&[Place { chunks: 1, ..place }]);
        assert_eq!(walk.next(NOW), Some(Task::Look(1, 0)));
        walk.seen(1, 0, NOW, rows(9 * A_DAY));
        assert_eq!(walk.next(NOW), None);
    }

    #[test]
    fn other_rules_or_another_leader_and_all_is_unknown_again() {
        let mut walk = walk(Place { chunks: 1, ..OPEN });
        let pruner = leader();
        let rule = RetentionRule { scope: RetentionScope::default(), keep: Keep::Forever };
        for (pruner, rules) in
            [(pruner, vec![]), (pruner, vec![rule.clone()]), (leader(), vec![rule])]
        {
            walk.begin(pruner, rules.clone());
            walk.map(&[OPEN]);
            assert_eq!(walk.next(NOW), Some(Task::Remove(1, 0)));
            for at in 0..3 {
                walk.seen(1, at, NOW, rows_for_ever());
            }
            walk.begin(pruner, rules);
            assert_eq!(walk.next(NOW), None);
        }
    }

    #[test]
    fn by_hand_it_goes_on_for_a_while_and_later_begins_anew() {
        let mut walk = Walk::default();
        let mut step = |ago: Duration| {
            walk.stepped = Instant::now().checked_sub(ago);
            walk.begin(Pruner::Hand, Vec::new());
            walk.map(&[OPEN]);
            let task = walk.next(NOW);
            if let Some(Task::Remove(key, at)) = task {
                walk.seen(key, at, NOW, rows_for_ever());
            }
            task
        };
        assert_eq!(step(Duration::ZERO), Some(Task::Remove(1, 0)));
        assert_eq!(step(ONE_GO / 2), Some(Task::Remove(1, 1)));
        assert_eq!(step(ONE_GO + Duration::from_secs(1)), Some(Task::Remove(1, 0)));
    }

    fn rows_for_ever() -> Seen {
        Seen { rows: 1, newest: Some(0), ..Seen::default() }
    }

    #[test]
    fn an_end_that_came_back_is_looked_at_again() {
        let place = Place { chunks: 5, hot_from: 3, ..OPEN };
        let mut walk = walk(place);
        for at in 0..5 {
            walk.seen(1, at, NOW, rows_for_ever());
        }
        assert_eq!(walk.next(NOW), None);
        walk.map(&[Place { chunks: 3, hot_from: 1, ..place }]);
        assert_eq!(walk.next(NOW), Some(Task::Remove(1, 1)));
        walk.seen(1, 1, NOW, rows_for_ever());
        walk.seen(1, 2, NOW, rows_for_ever());
        walk.map(&[Place { chunks: 4, hot_from: 2, ..place }]);
        assert_eq!(walk.next(NOW), Some(Task::Remove(1, 2)), "it has grown");
    }

    #[test]
    fn the_dead_are_walked_only_if_a_rule_is_for_them() {
        let mut walk = walk(OPEN);
        assert_eq!(walk.next_dead(NOW), None);
        let scope = RetentionScope { state: Some(State::Dead), ..RetentionScope::default() };
        let keep = Keep::For(Duration::from_secs(80));
        walk.begin(leader(), vec![RetentionRule { scope, keep }]);
        let ask = walk.next_dead(NOW).expect("a look");
        assert_eq!((ask.after.0, ask.until), (i64::MIN, NOW - 80 * SECOND));
        walk.seen_dead(NOW, Some((7, Uuid::max())), Some(NOW + 4 * SECOND));
        assert_eq!(walk.next_dead(NOW).expect("it goes on").after, (7, Uuid::max()));
        walk.seen_dead(NOW, None, None);
        assert_eq!(walk.next_dead(NOW + 3 * SECOND), None);
        assert!(walk.next_dead(NOW + 4 * SECOND).is_some());
    }
}
