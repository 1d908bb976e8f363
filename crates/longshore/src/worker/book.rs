//! What one run says, on its way into the database: bounded, and never waited for.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::job::JobId;
use crate::store::{
    Held, Level, LogLine, LogPart, MAX_LOG_BYTES, MAX_LOG_LINES, Progress, Said, Saying,
};

/// All books of a node hold no more than this.
pub(super) const MAX_ALL_BYTES: usize = 16 << 20;
/// From so many waiting lines or bytes on, they are written before their time.
const HALF_LINES: usize = MAX_LOG_LINES / 2;
const HALF_BYTES: usize = MAX_LOG_BYTES / 2;

/// Whom a book tells that it has something to write.
pub(super) trait Desk: Send + Sync {
    /// Bytes that wait in all books.
    fn bytes(&self) -> &AtomicUsize;
    /// There is something to write; with haste, if the book is half full.
    fn dirty(&self, book: Arc<Book>, haste: bool);
    /// The time, for log lines.
    fn now(&self) -> crate::Timestamp;
}

/// What one run says.
pub(crate) struct Book {
    id: JobId,
    /// Its claim's number, which changes if the job is claimed again while it runs here.
    lease: AtomicI64,
    kind: Box<str>,
    /// Tells this run's lines from those of all others.
    mark: i64,
    level: Level,
    /// Gone with its node; then nothing is written any more.
    desk: Weak<dyn Desk>,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    waiting: VecDeque<LogLine>,
    bytes: usize,
    /// The number of the first waiting line, from 0.
    nth: u64,
    /// Lines before that which gave way.
    left_out: u64,
    /// Taken, and not known to be written.
    unsent: VecDeque<LogPart>,
    progress: Option<Progress>,
    /// What was written or is being written.
    shown: Option<Progress>,
    /// The desk knows of it.
    told: bool,
    /// Not to be written just now: the run's own transaction holds the database.
    kept_back: bool,
    /// The run is over, or its lease is lost.
    closed: bool,
}

impl Pages {
    fn has_news(&self) -> bool {
        self.progress.is_some() || !self.unsent.is_empty() || !self.waiting.is_empty()
    }
}

impl Book {
    pub(super) fn new(held: Held, kind: &str, level: Level, desk: Weak<dyn Desk>) -> Book {
        Book {
            id: held.id,
            lease: AtomicI64::new(held.lease),
            kind: kind.into(),
            mark: fastrand::i64(..),
            level,
            desk,
            pages: Mutex::default(),
        }
    }

    pub(super) fn id(&self) -> JobId {
        self.id
    }

    /// The job's kind: what a line of its own is said to come from.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether lines of this level are kept.
    pub(crate) fn wants(&self, level: Level) -> bool {
        level <= self.level
    }

    pub(super) fn set_lease(&self, lease: i64) {
        self.lease.store(lease, Ordering::SeqCst);
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("nothing here panics")
    }

    /// Adds a line, if its level is wanted.
    pub(crate) fn line(
        self: &Arc<Self>,
        level: Level,
        target: &str,
        message: &str,
        fields: &serde_json::Map<String, serde_json::Value>,
    ) {
        if let Some(desk) = self.desk.upgrade().filter(|_| self.wants(level)) {
            self.add(&*desk, LogLine::new(desk.now(), level, target, message, fields));
        }
    }

    /// Where there is no room, the oldest lines of this run give way.
    fn add(self: &Arc<Self>, desk: &dyn Desk, line: LogLine) {
        let size = line.size_bytes();
        let all = desk.bytes();
        let mut pages = self.pages();
        if pages.closed {
            return;
        }
        while pages.waiting.len() >= MAX_LOG_LINES
            || pages.bytes + size > MAX_LOG_BYTES
            || all.load(Ordering::Relaxed) + size > MAX_ALL_BYTES
        {
            let oldest = pages.waiting.pop_front();
            pages.nth += 1;
            pages.left_out += 1;
            let Some(oldest) = oldest else { return };
            pages.bytes -= oldest.size_bytes();
            all.fetch_sub(oldest.size_bytes(), Ordering::Relaxed);
        }
        pages.bytes += size;
        all.fetch_add(size, Ordering::Relaxed);
        pages.waiting.push_back(line);
        let half = pages.waiting.len() >= HALF_LINES || pages.bytes >= HALF_BYTES;
        self.tell(pages, half);
    }

    /// How far the run is. Of several between two writes the last counts.
    pub(crate) fn show(self: &Arc<Self>, progress: Progress) {
        let mut pages = self.pages();
        if pages.closed {
            return;
        }
        if pages.shown.as_ref() == Some(&progress) {
            pages.progress = None;
            return;
        }
        pages.progress = Some(progress);
        self.tell(pages, false);
    }

    fn tell(self: &Arc<Self>, mut pages: MutexGuard<'_, Pages>, haste: bool) {
        let known = std::mem::replace(&mut pages.told, true);
        if !known || haste {
            drop(pages);
            if let Some(desk) = self.desk.upgrade() {
                desk.dirty(Arc::clone(self), haste);
            }
        }
    }

    /// From here on nothing is written until the run ends.
    pub(crate) fn keep_back(&self) {
        self.pages().kept_back = true;
    }

    /// What is to be written next, for the desk that goes round; nothing of a book that is kept back. `again`, in
    /// the same round: only as much as goes together anyway, or a run that never stops speaking would be
    /// written of without a pause.
    pub(super) fn take(&self, again: bool) -> Option<Saying> {
        let mut pages = self.pages();
        if pages.kept_back || pages.closed {
            return None;
        }
        if again && pages.unsent.is_empty() && !LogPart::is_full(pages.waiting.len(), pages.bytes) {
            return None;
        }
        self.next(&mut pages)
    }

    /// All that is left, at the end of the run: nothing can be added any more.
    pub(super) fn take_last(&self) -> Vec<Saying> {
        let mut pages = self.pages();
        pages.closed = true;
        std::iter::from_fn(|| self.next(&mut pages)).collect()
    }

    fn next(&self, pages: &mut Pages) -> Option<Saying> {
        if !pages.has_news() {
            pages.told = false;
            return None;
        }
        let log = pages.unsent.pop_front().or_else(|| {
            let part = LogPart::take(self.mark, pages.nth, pages.left_out, &mut pages.waiting)?;
            let after = pages.waiting.iter().map(LogLine::size_bytes).sum::<usize>();
            pages.nth += part.count();
            pages.left_out = 0;
            let before = std::mem::replace(&mut pages.bytes, after);
            self.room(before - after);
            Some(part)
        });
        let progress = pages.progress.take();
        if progress.is_some() {
            pages.shown.clone_from(&progress);
        }
        let held = Held { id: self.id, lease: self.lease.load(Ordering::SeqCst) };
        Some(Saying { held, progress, log })
    }

    /// So many bytes less wait.
    fn room(&self, bytes: usize) {
        if let Some(desk) = self.desk.upgrade() {
            desk.bytes().fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// What became of it.
    pub(super) fn answered(&self, saying: Saying, said: Option<Said>) {
        match said {
            Some(Said::Kept) => {}
            // Unless it is held under another number by now.
            Some(Said::LeaseLost) if saying.held.lease == self.lease.load(Ordering::SeqCst) => {
                self.drop_all();
            }
            Some(Said::LeaseLost) | None => self.put_back(saying),
        }
    }

    /// It could not be written, and comes first the next time.
    pub(super) fn put_back(&self, saying: Saying) {
        let mut pages = self.pages();
        if let Some(part) = saying.log {
            let at = pages.unsent.iter().position(|later| later.nth() > part.nth());
            let at = at.unwrap_or(pages.unsent.len());
            pages.unsent.insert(at, part);
        }
        if let Some(progress) = saying.progress {
            if pages.shown.as_ref() == Some(&progress) {
                pages.shown = None;
            }
            pages.progress.get_or_insert(progress);
        }
        // So that a database that is away for long does not fill the memory.
        let mut lines: u64 = pages.unsent.iter().map(LogPart::count).sum();
        while lines > MAX_LOG_LINES as u64 {
            let Some(oldest) = pages.unsent.pop_front() else { break };
            lines -= oldest.count();
            match pages.unsent.front_mut() {
                Some(next) => next.add_left_out(&oldest),
                None => pages.left_out += oldest.count() + oldest.left_out(),
            }
        }
    }

    /// Forgets what was not written; how many lines that were.
    pub(super) fn drop_all(&self) -> u64 {
        let mut pages = self.pages();
        pages.closed = true;
        self.room(pages.bytes);
        pages.bytes = 0;
        pages.progress = None;
        let unsent: u64 = pages.unsent.drain(..).map(|part| part.count()).sum();
        unsent + pages.waiting.drain(..).count() as u64
    }

    /// Whether there is something to write, for a desk that has just been round.
    pub(super) fn is_dirty(&self) -> bool {
        let pages = self.pages();
        pages.has_news() && !pages.closed && !pages.kept_back
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    /// A desk that only counts.
    #[derive(Default)]
    struct Heap {
        bytes: AtomicUsize,
        calls: AtomicUsize,
    }

    impl Desk for Heap {
        fn bytes(&self) -> &AtomicUsize {
            &self.bytes
        }

        fn dirty(&self, _: Arc<Book>, _: bool) {
            self.calls.fetch_add(1, Ordering::SeqCst);
        }

        fn now(&self) -> crate::Timestamp {
            crate::Timestamp::now()
        }
    }

    fn book() -> (Arc<Heap>, Arc<Book>) {
        let desk = Arc::new(Heap::default());
        let weak: Weak<Heap> = Arc::downgrade(&desk);
        let held = Held { id: JobId::new(), lease: 1 };
        (desk, Arc::new(Book::new(held, "k", Level::Info, weak)))
    }

    fn say(book: &Arc<Book>, message: &str) {
        book.line(Level::Info, "app", message, &Map::new());
    }

    /// The parts' first numbers, how many lines each has, and how many before it are missing.
    fn shape(said: &[Saying]) -> Vec<(i64, u64, u64)> {
        let parts = said.iter().filter_map(|saying| saying.log.as_ref());
        parts.map(|part| (part.nth(), part.count(), part.left_out())).collect()
    }

    #[test]
    fn the_desk_is_told_once_and_again_after_it_was_round() {
        let (desk, book) = book();
        (0..10).for_each(|_| say(&book, "line"));
        book.line(Level::Debug, "app", "unwanted", &Map::new());
        assert_eq!(desk.calls.load(Ordering::SeqCst), 1);
        assert_eq!(book.take(false).and_then(|saying| saying.log).unwrap().count(), 10);
        assert!(book.take(false).is_none());
        say(&book, "line");
        assert_eq!(desk.calls.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn what_could_not_be_written_comes_first_and_in_its_order() {
        let (desk, book) = book();
        (0..600).for_each(|_| say(&book, "line"));
        let taken: Vec<Saying> = std::iter::from_fn(|| book.take(true)).collect();
        assert_eq!(
            shape(&taken),
            [(0, 250, 0), (250, 250, 0)],
            "the rest waits for the next round"
        );
        taken.into_iter().for_each(|saying| book.put_back(saying));
        say(&book, "later");

        let last = book.take_last();

        assert_eq!(shape(&last), [(0, 250, 0), (250, 250, 0), (500, 101, 0)]);
        assert_eq!(desk.bytes.load(Ordering::SeqCst), 0);
        say(&book, "after the end");
        assert!(book.take_last().is_empty());
    }

    #[test]
    fn a_database_that_is_away_for_long_fills_no_memory() {
        let (desk, book) = book();
        for _ in 0..20 {
            (0..300).for_each(|_| say(&book, "line"));
            if let Some(saying) = book.take(false) {
                book.answered(saying, None);
            }
        }
        let last = book.take_last();
        let kept: u64 = shape(&last).iter().map(|(_, count, _)| count).sum();
        let missing: u64 = shape(&last).iter().map(|(.., left_out)| left_out).sum();
        assert!(kept <= 2 * MAX_LOG_LINES as u64, "{kept}");
        assert_eq!(kept + missing, 6_000, "every line is kept or counted");
        assert_eq!(desk.bytes.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn all_books_together_have_a_bound() {
        let (desk, book) = book();
        desk.bytes.store(MAX_ALL_BYTES - 100, Ordering::SeqCst);
        (0..50).for_each(|_| say(&book, "line"));
        let last = book.take_last();
        assert!(last.is_empty() || shape(&last)[0].2 >= 48, "{:?}", shape(&last));
        assert_eq!(desk.bytes.load(Ordering::SeqCst), MAX_ALL_BYTES - 100);
    }

    #[test]
    fn the_same_progress_is_written_once() {
        let (_desk, book) = book();
        let half = || Progress::new(0.5, "half").unwrap();
        book.show(half());
        let saying = book.take(false).unwrap();
        book.show(half());
        assert!(book.take(false).is_none());
        // Unless that write came to nothing.
        book.put_back(saying);
        assert_eq!(book.take(false).unwrap().progress, Some(half()));
        book.keep_back();
        book.show(Progress::new(0.6, "").unwrap());
        assert!(book.take(false).is_none() && !book.is_dirty());
        assert_eq!(book.take_last().len(), 1);
    }
}
