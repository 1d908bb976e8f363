//! What handlers say while they run, as people then read it.

use longshore::extract::{Attempt, Enqueue, Log, Progress, State as Shared, Tx};
use longshore::store::{Level, LogPage, LogQuery};
use longshore::{Job, JobError};
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Serialize, Deserialize)]
struct Resize {
    pages: u32,
}

impl Job for Resize {
    const KIND: &'static str = "resize";
    type Output = ();
}

async fn log(d: &Desk, id: JobId) -> LogPage {
    let query = LogQuery { limit: 1_000, ..LogQuery::default() };
    d.client.logs(id, query).await.expect("a log")
}

async fn messages(d: &Desk, id: JobId) -> Vec<String> {
    log(d, id).await.lines.into_iter().map(|line| line.message).collect()
}

async fn fraction(d: &Desk, id: JobId) -> Option<f64> {
    d.client.progress(id).await.expect("a look").map(|said| said.fraction)
}

pub async fn progress_and_lines_are_seen_while_it_runs(d: Arc<Desk>) {
    async fn resize(job: Resize, progress: Progress, log: Log, Shared(gate): Shared<Gate>) {
        progress.set(0.4, format!("page 4 of {}", job.pages));
        log.with(Level::Warn, "a large page", [("page", 4)]);
        log.debug("nobody wants to know");
        gate.pass().await;
        log.info("the rest was quick");
        progress.set(1.0, "done");
    }
    let gate = Gate::default();
    let worker = d.worker().state(gate.clone()).job(resize).start().expect("it starts");
    let id = d.enqueue(Resize { pages: 10 }.new_job()).await;

    until("the run is heard", async || !messages(&d, id).await.is_empty()).await;
    let said = d.client.progress(id).await.unwrap().expect("progress");
    assert_eq!((said.attempt, said.fraction, &*said.text), (1, 0.4, "page 4 of 10"));
    let page = log(&d, id).await;
    let line = &page.lines[0];
    assert_eq!(
        (line.level, &*line.target, &*line.message),
        (Level::Warn, "resize", "a large page")
    );
    assert_eq!(line.fields.as_ref().unwrap().get(), r#"{"page":4}"#);
    assert_eq!(d.t.state(id).await, State::Running);

    gate.open();
    d.comes_to(id, State::Succeeded).await;
    // At its end all of it is there at once.
    assert_eq!(messages(&d, id).await, ["a large page", "the rest was quick"]);
    assert_eq!(fraction(&d, id).await, Some(1.0));
    worker.stop().await;
}

pub async fn short_runs_leave_all_they_said(d: Arc<Desk>) {
    async fn quick(job: Resize, progress: Progress, log: Log) {
        for page in 1..=job.pages {
            log.info(format!("page {page}"));
            progress.set(f64::from(page) / f64::from(job.pages), "");
        }
    }
    let worker = d.worker().job(quick).start().expect("it starts");
    let jobs = (0..200).map(|_| Resize { pages: 3 }.new_job()).collect();
    let ids = d.enqueue_many(jobs).await;
    until("all ran", async || d.count(State::Succeeded).await == 200).await;
    for id in ids {
        assert_eq!(messages(&d, id).await, ["page 1", "page 2", "page 3"]);
        assert_eq!(fraction(&d, id).await, Some(1.0));
    }
    worker.stop().await;
}

pub async fn much_progress_is_few_writes(d: Arc<Desk>) {
    async fn busy(_: Resize, progress: Progress) {
        let until = Instant::now() + 2500 * MILLI;
        let mut n = 0.0;
        while Instant::now() < until {
            n += 1.0;
            progress.set(1.0 - 1.0 / n, "on");
            tokio::time::sleep(MILLI).await;
        }
        progress.set(1.0, "all");
    }
    // Every write of a progress is counted by a trigger.
    d.t.execute(format!("CREATE TABLE {} (n INTEGER)", d.t.table("counted"))).await;
    let (counted, progress) = (d.t.table("counted"), d.t.table("progress"));
    if d.t.is_sqlite() {
        for when in ["INSERT", "UPDATE"] {
            d.t.execute(format!(
                "CREATE TRIGGER count_{when} AFTER {when} ON {progress} BEGIN INSERT INTO {counted} VALUES (1); END"
            ))
            .await;
        }
    } else {
        d.t.execute(format!(
            "CREATE FUNCTION longshore.count_it() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO {counted} VALUES (1); RETURN NEW; END $$;
             CREATE TRIGGER count_it AFTER INSERT OR UPDATE ON {progress}
                FOR EACH ROW EXECUTE FUNCTION longshore.count_it()"
        ))
        .await;
    }
    let worker = d.worker().job(busy).start().expect("it starts");
    let id = d.enqueue(Resize { pages: 1 }.new_job()).await;
    d.comes_to(id, State::Succeeded).await;
    let writes = d.t.count("counted").await;
    assert!((2..=5).contains(&writes), "{writes} writes in 2.5 s");
    assert_eq!(fraction(&d, id).await, Some(1.0), "the last one counts");
    worker.stop().await;
}

pub async fn whatever_ends_a_run_its_words_stay(d: Arc<Desk>) {
    async fn ends(job: Resize, log: Log, attempt: Attempt) -> Result<(), JobError> {
        log.info(format!("attempt {}", attempt.number));
        match (job.pages, attempt.number) {
            (1, 1) => Err(JobError::new("it broke")),
            (2, 1) => panic!("it panicked"),
            (3, 1) => std::future::pending().await,
            (4, _) => Err(JobError::dead("it is hopeless")),
            _ => Ok(()),
        }
    }
    let worker = d.worker().job(ends).start().expect("it starts");
    let mut ids = Vec::new();
    for pages in 1..=4 {
        let job = Resize { pages }.new_job().timeout(300 * MILLI);
        let job = job.backoff(longshore::Backoff::fixed(10 * MILLI));
        ids.push(d.enqueue(job).await);
    }
    for id in &ids[..3] {
        d.comes_to(*id, State::Succeeded).await;
        assert_eq!(messages(&d, *id).await, ["attempt 1", "attempt 2"]);
        let attempts =
            log(&d, *id).await.lines.iter().map(|line| line.place.attempt).collect::<Vec<_>>();
        assert_eq!(attempts, [1, 2]);
    }
    d.comes_to(ids[3], State::Dead).await;
    assert_eq!(messages(&d, ids[3]).await, ["attempt 1"]);
    worker.stop().await;
}

pub async fn what_a_stop_gives_back_has_its_words(d: Arc<Desk>) {
    async fn waits(_: Resize, log: Log, Shared(begun): Shared<Tally>) {
        log.info("begun");
        begun.add();
        std::future::pending::<()>().await;
    }
    let begun = Tally::default();
    let config = WorkerConfig { drain_for: 50 * MILLI, ..short() };
    let worker = d.worker().config(config).state(begun.clone()).job(waits).start().unwrap();
    let id = d.enqueue(Resize { pages: 1 }.new_job()).await;
    until("it runs", async || begun.get() == 1).await;

    worker.stop().await;

    assert_eq!(d.t.state(id).await, State::Queued);
    assert_eq!(messages(&d, id).await, ["begun"]);
}

pub async fn a_flood_of_lines_keeps_the_newest_and_blocks_nobody(d: Arc<Desk>) {
    async fn flood(_: Resize, log: Log) {
        for n in 0..50_000 {
            log.info(format!("line {n}"));
        }
    }
    let worker = d.worker().job(flood).start().expect("it starts");
    let id = d.enqueue(Resize { pages: 1 }.new_job()).await;
    d.comes_to(id, State::Succeeded).await;

    let page = log(&d, id).await;
    assert!(page.lines.len() <= 1_000);
    assert_eq!(page.lines.last().unwrap().message, "line 49999");
    let left_out: u64 = page.lines.iter().map(|line| line.left_out).sum();
    assert_eq!(left_out + page.lines.len() as u64, 50_000, "all others are counted");
    worker.stop().await;
}

pub async fn no_fraction_fails_a_handler(d: Arc<Desk>) {
    async fn odd(_: Resize, progress: Progress) {
        progress.set(f64::NAN, "nothing of nothing");
        progress.set(0.5, "half");
        progress.set(7.0, "seven");
    }
    let worker = d.worker().job(odd).start().expect("it starts");
    let id = d.enqueue(Resize { pages: 1 }.new_job()).await;
    d.comes_to(id, State::Succeeded).await;
    assert_eq!(fraction(&d, id).await, Some(0.5));
    let said = messages(&d, id).await;
    assert_eq!(said, ["progress is NaN; it may be 0 to 1", "progress is 7; it may be 0 to 1"]);
    worker.stop().await;
}

pub async fn a_log_that_cannot_be_kept_costs_no_run(d: Arc<Desk>) {
    async fn says(_: Resize, log: Log) {
        log.info("nobody will know");
    }
    let log = d.t.table("log");
    d.t.execute(match d.t.is_sqlite() {
        true => format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON {log} BEGIN SELECT RAISE(ABORT, 'no more logs'); END"
        ),
        false => format!(
            "CREATE FUNCTION longshore.refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'no more logs'; END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON {log} FOR EACH ROW EXECUTE FUNCTION longshore.refuse()"
        ),
    })
    .await;
    let worker = d.worker().job(says).start().expect("it starts");
    let id = d.enqueue(Resize { pages: 1 }.new_job()).await;
    let row = d.comes_to(id, State::Succeeded).await;
    assert!(row.errors.is_empty());
    worker.stop().await;
}

macro_rules! in_its_transaction {
    ($name:ident, $db:ty) => {
        async fn $name(
            job: Resize,
            mut tx: Tx<$db>,
            log: Log,
            enqueue: Enqueue,
        ) -> Result<(), JobError> {
            log.info("before it began");
            enqueue.add_in(tx.conn().await?, NewJob::new("after")).await?;
            // Long enough for a round of writes.
            tokio::time::sleep(1500 * MILLI).await;
            log.info("while it was open");
            if job.pages == 0 { Err(JobError::dead("no pages")) } else { Ok(()) }
        }
    };
}
in_its_transaction!(in_sqlite, sqlx::Sqlite);
#[cfg(feature = "postgres")]
in_its_transaction!(in_postgres, sqlx::Postgres);

pub async fn words_are_kept_with_a_handlers_own_transaction(d: Arc<Desk>) {
    let worker = d.worker();
    let worker = if d.t.is_sqlite() { worker.job(in_sqlite) } else { in_server(worker) };
    let worker = worker.start().expect("it starts");
    let began = Instant::now();
    let done = d.enqueue(Resize { pages: 1 }.new_job()).await;
    d.comes_to(done, State::Succeeded).await;
    let failed = d.enqueue(Resize { pages: 0 }.new_job()).await;
    d.comes_to(failed, State::Dead).await;

    for id in [done, failed] {
        assert_eq!(messages(&d, id).await, ["before it began", "while it was open"]);
    }
    assert!(began.elapsed() < 8 * SECOND, "nobody waited for his own lock: {:?}", began.elapsed());
    let after = longshore::Filter::parse("kind:after").unwrap();
    let count = d.client.count(after, longshore::store::Effort::Unbounded).await.unwrap().value;
    assert_eq!(count, 1, "the failed one's follow-up was rolled back");
    worker.stop().await;
}

#[cfg(feature = "postgres")]
fn in_server(worker: Worker) -> Worker {
    worker.job(in_postgres)
}

#[cfg(not(feature = "postgres"))]
fn in_server(_: Worker) -> Worker {
    unreachable!("there is no server")
}

pub async fn follow_ups_of_a_repeated_run_are_there_once(d: Arc<Desk>) {
    async fn album(job: Resize, enqueue: Enqueue, attempt: Attempt) -> Result<(), JobError> {
        for page in 0..job.pages {
            let added = enqueue.add(NewJob::new("thumbnail").payload(page.to_string())).await?;
            assert_eq!(added.is_duplicate(), attempt.number > 1);
        }
        // In another order each time, so by name.
        let mut names = ["a", "b"];
        names.rotate_left(attempt.number as usize % 2);
        for name in names {
            enqueue.add_as(name, NewJob::new("named").payload(format!("\"{name}\""))).await?;
        }
        if attempt.is_last() { Ok(()) } else { Err(JobError::new("again")) }
    }
    let worker = d.worker().job(album).start().expect("it starts");
    let backoff = longshore::Backoff::fixed(10 * MILLI);
    let job = |pages| Resize { pages }.new_job().max_attempts(3).backoff(backoff.clone());
    let one = d.enqueue(job(5)).await;
    let two = d.enqueue(job(4)).await;
    for id in [one, two] {
        let row = d.comes_to(id, State::Succeeded).await;
        assert_eq!((row.attempt, row.errors.len()), (3, 2));
    }

    let count = async |query: &str| {
        let filter = longshore::Filter::parse(query).unwrap();
        d.client.count(filter, longshore::store::Effort::Unbounded).await.unwrap().value
    };
    assert_eq!(count("kind:thumbnail").await, 9);
    assert_eq!(count("kind:named").await, 4);
    worker.stop().await;
}
