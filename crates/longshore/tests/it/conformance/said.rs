//! What runs say while they run: kept under the lease, bounded, in order, and gone with the job.

use std::collections::VecDeque;
use std::time::Duration;

use longshore::store::{
    Ending, Level, LogLine, LogPage, LogPart, LogPlace, LogQuery, MAX_LINE_BYTES, MAX_LOG_BYTES,
    MAX_LOG_LINES, MAX_PROGRESS_BYTES, NodeId, Progress, Said, Saying,
};
use longshore::{JobId, State};
use serde_json::{Map, Value, json};

use super::retention::{leader, prune};
use crate::harness::*;

fn progress(fraction: f64, text: &str) -> Progress {
    Progress::new(fraction, text).expect("a fraction")
}

fn fields(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("an object") };
    map
}

pub fn line(level: Level, message: &str) -> LogLine {
    LogLine::new(longshore::Timestamp::now(), level, "app::part", message, &Map::new())
}

/// Lines that go together, as the run of this mark says them from its `nth` on.
pub fn part(run: i64, nth: u64, left_out: u64, messages: &[&str]) -> LogPart {
    let mut waiting = messages.iter().map(|message| line(Level::Info, message)).collect();
    let part = LogPart::take(run, nth, left_out, &mut waiting).expect("there are lines");
    assert!(waiting.is_empty(), "all go together");
    part
}

pub fn saying(run: &Run, progress: Option<Progress>, log: Option<LogPart>) -> Saying {
    Saying { held: run.held(), progress, log }
}

async fn say(t: &Harness, run: &Run, progress: Option<Progress>, log: Option<LogPart>) -> Said {
    let said = t.store.say(run.node, &[saying(run, progress, log)]).await;
    said.expect("what a run said is kept")[0]
}

async fn log(t: &Harness, id: JobId, query: LogQuery) -> LogPage {
    t.store.log(id, &query).await.expect("a log is read")
}

async fn all(t: &Harness, id: JobId) -> LogPage {
    log(t, id, LogQuery { limit: 1_000, ..LogQuery::default() }).await
}

fn messages(page: &LogPage) -> Vec<&str> {
    page.lines.iter().map(|line| &*line.message).collect()
}

async fn rows(t: &Harness) -> (i64, i64) {
    (t.count("progress").await, t.count("log").await)
}

pub async fn what_a_run_says_is_read_back(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    assert_eq!(t.store.progress(id).await.unwrap(), None);
    let at = longshore::Timestamp::now();
    let values = fields(json!({"page": 4, "of": {"ten": 10}}));
    let mut lines = VecDeque::from([
        LogLine::new(at, Level::Warn, "app::resize", "slow", &values),
        line(Level::Info, "next"),
    ]);
    let part = LogPart::take(7, 0, 0, &mut lines);

    assert_eq!(say(&t, &run, Some(progress(0.4, "page 4 of 10")), part).await, Said::Kept);

    let shown = t.store.progress(id).await.unwrap().expect("it said so");
    assert_eq!((shown.attempt, shown.fraction, &*shown.text), (1, 0.4, "page 4 of 10"));
    assert_eq!(shown.at, t.now().await);
    let page = all(&t, id).await;
    let first = &page.lines[0];
    assert_eq!(first.place, LogPlace { attempt: 1, line: 1 });
    assert_eq!((first.at, first.level, &*first.target), (at, Level::Warn, "app::resize"));
    assert_eq!((&*first.message, first.left_out), ("slow", 0));
    let read: Value = serde_json::from_str(first.fields.as_ref().unwrap().get()).unwrap();
    assert_eq!(read, Value::Object(values));
    assert!(page.lines[1].fields.is_none());
    assert_eq!(page.next, LogPlace { attempt: 1, line: 2 });
    assert!(!page.more);
    // The job itself has not moved.
    assert_eq!(t.state(id).await, State::Running);
}

pub async fn many_runs_are_kept_in_one_call(t: Harness) {
    t.enqueue_all(&jobs(40)).await;
    let node = t.node().await;
    let mut runs = node.claim(40).await;
    runs.reverse();
    let said: Vec<Saying> = runs
        .iter()
        .enumerate()
        .map(|(n, run)| match n % 3 {
            0 => saying(run, Some(progress(n as f64 / 40.0, "")), None),
            1 => saying(run, None, Some(part(n as i64, 0, 0, &["a"]))),
            _ => saying(run, Some(progress(1.0, "all")), Some(part(n as i64, 0, 0, &["b", "c"]))),
        })
        .collect();

    let answers = t.store.say(node.id, &said).await.unwrap();

    assert_eq!(answers, vec![Said::Kept; 40]);
    for (n, run) in runs.iter().enumerate() {
        let shown = t.store.progress(run.id).await.unwrap();
        assert_eq!(shown.is_some(), n % 3 != 1, "{n}");
        let lines = all(&t, run.id).await.lines.len();
        assert_eq!(lines, n % 3, "{n}");
    }
    assert_eq!(t.store.say(node.id, &[]).await.unwrap(), []);
}

pub async fn the_last_progress_counts(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    for share in [0.1, 0.9, 0.2] {
        say(&t, &run, Some(progress(share, "")), None).await;
    }
    // A line alone leaves it as it is.
    say(&t, &run, None, Some(part(1, 0, 0, &["line"]))).await;

    assert_eq!(t.store.progress(id).await.unwrap().unwrap().fraction, 0.2);
    assert_eq!(t.count("progress").await, 1);
    t.finish(&run, done()).await;
    assert_eq!(t.store.progress(id).await.unwrap().unwrap().fraction, 0.2, "it stays to be seen");
}

pub async fn a_run_that_lost_its_lease_writes_nothing(t: Harness) {
    let id = t.enqueue(job().max_attempts(5)).await;
    let late = t.claim_one().await;
    assert_eq!(say(&t, &late, Some(progress(0.5, "")), None).await, Said::Kept);
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    let nobody = say(&t, &late, Some(progress(0.6, "late")), Some(part(1, 0, 0, &["late"]))).await;
    let current = t.claim_one().await;
    let other = say(&t, &late, Some(progress(0.7, "late")), Some(part(1, 0, 0, &["late"]))).await;
    say(&t, &current, None, Some(part(2, 0, 0, &["mine"]))).await;

    assert_eq!((nobody, other), (Said::LeaseLost, Said::LeaseLost));
    assert_eq!(t.store.progress(id).await.unwrap().unwrap().fraction, 0.5);
    let page = all(&t, id).await;
    assert_eq!(messages(&page), ["mine"]);
    assert_eq!(page.lines[0].place.attempt, 2);

    // Another lease of the same node, another node with the same number, and a job that is over.
    let mut older = current.clone();
    older.job.lease += 1;
    assert_eq!(say(&t, &older, Some(progress(0.8, "")), None).await, Said::LeaseLost);
    let stranger = Run { node: NodeId::new(), ..current.clone() };
    assert_eq!(say(&t, &stranger, Some(progress(0.8, "")), None).await, Said::LeaseLost);
    t.finish(&current, done()).await;
    let after = say(&t, &current, Some(progress(1.0, "")), Some(part(2, 1, 0, &["after"]))).await;
    assert_eq!(after, Said::LeaseLost);
    assert_eq!(t.store.progress(id).await.unwrap().unwrap().fraction, 0.5);
    assert_eq!(all(&t, id).await.lines.len(), 1);
}

pub async fn one_lost_lease_keeps_nothing_from_its_neighbours(t: Harness) {
    t.enqueue_all(&jobs(3)).await;
    let node = t.node().await;
    let runs = node.claim(3).await;
    t.finish(&runs[1], done()).await;

    let said: Vec<Saying> =
        runs.iter().map(|run| saying(run, Some(progress(0.5, "")), None)).collect();
    let answers = t.store.say(node.id, &said).await.unwrap();

    assert_eq!(answers, [Said::Kept, Said::LeaseLost, Said::Kept]);
    assert_eq!(t.count("progress").await, 2);
}

pub async fn each_attempt_has_its_own_log(t: Harness) {
    let id = t.enqueue(job().max_attempts(5)).await;
    for attempt in 1..=3 {
        let run = t.claim_one().await;
        assert_eq!(run.attempt, attempt);
        let said = format!("in attempt {attempt}");
        say(
            &t,
            &run,
            Some(progress(0.1, &said)),
            Some(part(attempt.into(), 0, 0, &[&*said, "end"])),
        )
        .await;
        t.finish(&run, failed(SECOND)).await;
        t.advance(MINUTE);
    }

    let second = log(&t, id, LogQuery { attempt: Some(2), ..LogQuery::default() }).await;
    assert_eq!(messages(&second), ["in attempt 2", "end"]);
    let page = all(&t, id).await;
    let places: Vec<(u32, u64)> =
        page.lines.iter().map(|line| (line.place.attempt, line.place.line)).collect();
    assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]);
    assert!(page.lines.iter().all(|line| line.left_out == 0));
    assert_eq!(t.store.progress(id).await.unwrap().unwrap().attempt, 3);
    let none = log(&t, id, LogQuery { attempt: Some(9), ..LogQuery::default() }).await;
    assert!(none.lines.is_empty() && !none.more);
}

pub async fn a_run_that_is_given_back_goes_on_with_its_log(t: Harness) {
    let id = t.enqueue(job()).await;
    for (n, ending) in [Ending::GivenBack, snoozed(SECOND), failed(SECOND)].into_iter().enumerate()
    {
        let run = t.claim_one().await;
        assert_eq!(run.attempt, 1);
        // Each run has a mark of its own, though the numbers of leases repeat.
        say(&t, &run, None, Some(part(100 + n as i64, 0, 0, &[&format!("run {n}")]))).await;
        t.finish(&run, ending).await;
        t.advance(MINUTE);
    }

    let page = all(&t, id).await;
    assert_eq!(messages(&page), ["run 0", "run 1", "run 2"]);
    assert_eq!(page.next, LogPlace { attempt: 1, line: 3 });
}

pub async fn a_repeat_adds_nothing(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    for (nth, text) in [(0, "a"), (0, "a"), (1, "b"), (1, "b"), (0, "a")] {
        assert_eq!(say(&t, &run, None, Some(part(5, nth, 0, &[text]))).await, Said::Kept);
    }

    assert_eq!(messages(&all(&t, id).await), ["a", "b"]);
}

pub async fn lines_that_were_left_out_are_counted(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    say(&t, &run, None, Some(part(5, 3, 3, &["a"]))).await;
    say(&t, &run, None, Some(part(5, 4, 0, &["b"]))).await;
    say(&t, &run, None, Some(part(5, 9, 4, &["c"]))).await;

    let page = all(&t, id).await;
    let seen: Vec<(u64, u64)> =
        page.lines.iter().map(|line| (line.place.line, line.left_out)).collect();
    assert_eq!(seen, [(4, 3), (5, 0), (10, 4)]);
    let after = LogPlace { attempt: 1, line: 5 };
    let rest = log(&t, id, LogQuery { after, ..LogQuery::default() }).await;
    assert_eq!((rest.lines.len(), rest.lines[0].left_out), (1, 4));
}

/// Lines of one attempt, in calls as large as they may be.
async fn say_many(t: &Harness, run: &Run, count: usize, message: &str) {
    let mut waiting: VecDeque<LogLine> =
        (0..count).map(|n| line(Level::Info, &format!("{n} {message}"))).collect();
    let mut nth = 0;
    while let Some(part) = LogPart::take(1, nth, 0, &mut waiting) {
        nth += part.count();
        assert_eq!(say(t, run, None, Some(part)).await, Said::Kept);
    }
}

pub async fn of_an_attempt_the_newest_thousand_lines_are_kept(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    say_many(&t, &run, 2_600, "short").await;

    let page = all(&t, id).await;
    assert!(page.lines.len() <= MAX_LOG_LINES, "{}", page.lines.len());
    assert!(page.lines.len() > MAX_LOG_LINES - 250, "{}", page.lines.len());
    let first = &page.lines[0];
    assert_eq!(first.left_out, first.place.line - 1, "and it says how many are missing");
    assert_eq!(page.lines.last().unwrap().message, "2599 short");
    assert_eq!(page.next.line, 2_600);
}

pub async fn of_an_attempt_the_newest_bytes_are_kept(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    say_many(&t, &run, 200, &"x".repeat(7_000)).await;

    let sum = "CAST(sum(octet_length(lines)) AS bigint)";
    let bytes = t.number(format!("SELECT {sum} FROM {}", t.table("log"))).await;
    assert!(bytes as usize <= MAX_LOG_BYTES, "{bytes}");
    assert!(bytes as usize > MAX_LOG_BYTES / 2, "{bytes}");
    let page = all(&t, id).await;
    assert_eq!(page.lines[0].left_out + page.lines.len() as u64, 200);
    assert!(page.lines.last().unwrap().message.starts_with("199 "));
}

pub async fn of_a_job_the_newest_ten_attempts_are_kept(t: Harness) {
    let id = t.enqueue(job().max_attempts(20)).await;
    for _ in 0..13 {
        let run = t.claim_one().await;
        say(&t, &run, None, Some(part(run.attempt.into(), 0, 0, &["line"]))).await;
        t.finish(&run, failed(SECOND)).await;
        t.advance(HOUR);
    }

    let page = all(&t, id).await;
    let attempts: Vec<u32> = page.lines.iter().map(|line| line.place.attempt).collect();
    assert_eq!(attempts, (4..=13).collect::<Vec<_>>());
}

pub async fn pages_of_a_log_join(t: Harness) {
    let id = t.enqueue(job().max_attempts(5)).await;
    for attempt in 1..=2 {
        let run = t.claim_one().await;
        let mut nth = 0;
        for n in 0..40 {
            let some: Vec<String> = (0..n % 4 + 1).map(|m| format!("{attempt}.{n}.{m}")).collect();
            let some: Vec<&str> = some.iter().map(|text| &**text).collect();
            say(&t, &run, None, Some(part(attempt, nth, 0, &some))).await;
            nth += some.len() as u64;
        }
        t.finish(&run, failed(SECOND)).await;
        t.advance(MINUTE);
    }
    let whole = all(&t, id).await;
    assert_eq!((whole.lines.len(), whole.more), (200, false));

    for limit in [1, 7, 199, 200, 201] {
        let mut joined = Vec::new();
        let mut query = LogQuery { limit, ..LogQuery::default() };
        loop {
            let page = log(&t, id, query.clone()).await;
            assert!(page.lines.len() <= limit as usize);
            joined.extend(page.lines.into_iter().map(|line| (line.message, line.left_out)));
            query.after = page.next;
            if !page.more {
                break;
            }
        }
        let expected: Vec<_> = whole.lines.iter().map(|line| (line.message.clone(), 0)).collect();
        assert_eq!(joined, expected, "limit {limit}");
    }
    // What comes later is found from where the last page ended.
    let run = t.claim_one().await;
    say(&t, &run, None, Some(part(3, 0, 0, &["news"]))).await;
    let news = log(&t, id, LogQuery { after: whole.next, ..LogQuery::default() }).await;
    assert_eq!(messages(&news), ["news"]);
}

pub async fn only_lines_that_are_grave_enough_are_shown(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    let levels = [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error];
    let mut lines = levels.iter().map(|level| line(*level, level.as_str())).collect();
    say(&t, &run, None, LogPart::take(1, 0, 0, &mut lines)).await;

    let page = log(&t, id, LogQuery { level: Level::Warn, ..LogQuery::default() }).await;

    assert_eq!(messages(&page), ["warn", "error"]);
    assert_eq!(page.lines[0].left_out, 0, "what is hidden is not left out");
    assert_eq!(page.next.line, 5);
    let none = LogQuery { level: Level::Error, after: page.next, ..LogQuery::default() };
    assert!(log(&t, id, none).await.lines.is_empty());
}

pub async fn hostile_lines_are_kept_within_bounds(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    let odd = [
        "nul \0 here",
        "\u{1b}[31mred\u{7}\r\n",
        "\u{202e}turned \u{feff}",
        "'; drop table longshore.log; --",
        "\"quoted\" \\ back",
        "ä€𝄞\u{10ffff}",
        "",
    ];
    let long = "y".repeat(1 << 20);
    let controls = "\u{1}".repeat(1 << 20);
    let mut lines: VecDeque<LogLine> = odd.iter().map(|text| line(Level::Info, text)).collect();
    let huge = fields(json!({"body": long}));
    for text in [&long, &controls, &"ä".repeat(100_000)] {
        let target = text;
        let made = LogLine::new(t.now().await, Level::Info, target, text, &huge);
        assert!(made.size_bytes() <= MAX_LINE_BYTES, "{}", made.size_bytes());
        assert!(made.size_bytes() > MAX_LINE_BYTES / 3, "as much as fits: {}", made.size_bytes());
        lines.push_back(made);
    }

    say(&t, &run, None, LogPart::take(1, 0, 0, &mut lines)).await;

    let page = all(&t, id).await;
    assert_eq!(page.lines.len(), odd.len() + 3);
    for (line, text) in page.lines.iter().zip(odd) {
        assert_eq!(line.message, text.replace('\0', "\u{fffd}"));
    }
    assert!(page.lines[odd.len()].message.ends_with("(cut)"));
    let fields = page.lines[odd.len()].fields.as_ref().expect("it says what is missing").get();
    assert!(fields.contains("left out"), "{fields}");
}

pub async fn odd_progress_is_refused_or_cut(t: Harness) {
    for bad in [f64::NAN, -0.1, 1.000_001, f64::INFINITY, f64::NEG_INFINITY] {
        let error = Progress::new(bad, "").expect_err("no fraction").to_string();
        assert!(error.contains("it may be 0 to 1"), "{error}");
    }
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    for (text, starts) in [
        ("a\0b\u{1b}[2Jc\nd", "a\u{fffd}b [2Jc d"),
        (&*"ä".repeat(1_000), "ääää"),
        ("'; --", "'; --"),
    ] {
        for fraction in [0.0, -0.0, 1.0, f64::MIN_POSITIVE] {
            assert_eq!(say(&t, &run, Some(progress(fraction, text)), None).await, Said::Kept);
            let shown = t.store.progress(id).await.unwrap().unwrap();
            assert_eq!(shown.fraction, fraction);
            assert!(shown.text.starts_with(starts), "{:?}", shown.text);
            assert!(shown.text.len() <= MAX_PROGRESS_BYTES);
        }
    }
}

pub async fn a_line_of_another_program_hides_no_other(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    for (n, text) in ["a", "b", "c"].iter().enumerate() {
        say(&t, &run, None, Some(part(1, n as u64, 0, &[text]))).await;
    }
    t.execute(format!("UPDATE {} SET lines = '[[1]]' WHERE first = 2", t.table("log"))).await;
    let page = all(&t, id).await;
    assert_eq!((messages(&page), page.lines[1].left_out), (vec!["a", "c"], 1));
    t.execute(format!("UPDATE {} SET lines = 'x' WHERE first = 2", t.table("log"))).await;
    let page = all(&t, id).await;
    assert_eq!((messages(&page), page.lines[1].left_out), (vec!["a", "c"], 1));
}

/// A job that has said something in its run.
async fn spoken(t: &Harness, job: longshore::NewJob) -> Run {
    t.enqueue(job).await;
    let run = t.claim_one().await;
    say(t, &run, Some(progress(0.5, "half")), Some(part(1, 0, 0, &["line"]))).await;
    run
}

pub async fn what_was_said_goes_with_a_deleted_job(t: Harness) {
    let done_one = spoken(&t, job()).await;
    t.finish(&done_one, done()).await;
    let dead_one = spoken(&t, job()).await;
    t.finish(&dead_one, dead()).await;
    let waiting = spoken(&t, job()).await;
    t.finish(&waiting, failed(HOUR)).await;
    assert_eq!(rows(&t).await, (3, 3));

    for (n, run) in [done_one, dead_one, waiting].iter().enumerate() {
        t.store.delete(run.id).await.expect("it is deleted");
        assert_eq!(rows(&t).await, (2 - n as i64, 2 - n as i64));
        assert!(all(&t, run.id).await.lines.is_empty());
        assert_eq!(t.store.progress(run.id).await.unwrap(), None);
    }
}

pub async fn what_was_said_goes_with_a_job_that_keeps_nothing(t: Harness) {
    let forgotten = || job().retain(Duration::ZERO);
    let other = spoken(&t, job()).await;
    for (n, ending) in [done(), cancelled()].into_iter().enumerate() {
        let run = spoken(&t, forgotten()).await;
        t.finish(&run, ending).await;
        assert_eq!(rows(&t).await, (1, 1), "ending {n}");
    }
    // Cancelled while it waits again.
    let run = spoken(&t, forgotten()).await;
    t.finish(&run, failed(HOUR)).await;
    assert_eq!(rows(&t).await, (2, 2));
    assert_eq!(t.cancel(run.id).await, State::Cancelled);
    assert_eq!(rows(&t).await, (1, 1));
    // Cancelled, and its node is lost.
    let run = spoken(&t, forgotten()).await;
    t.cancel(run.id).await;
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    assert!(t.find(run.id).await.is_none());
    assert_eq!(rows(&t).await, (1, 1));
    assert_eq!(all(&t, other.id).await.lines.len(), 1);
}

pub async fn what_was_said_goes_with_a_job_that_is_pruned(t: Harness) {
    let succeeded = spoken(&t, job()).await;
    t.finish(&succeeded, done()).await;
    let cancelled_one = spoken(&t, job()).await;
    t.finish(&cancelled_one, cancelled()).await;
    let dead_one = spoken(&t, job()).await;
    t.finish(&dead_one, dead()).await;
    let stays = spoken(&t, job().retain(30 * super::retention::DAY)).await;
    t.finish(&stays, done()).await;
    let rule = longshore::RetentionRule {
        scope: longshore::RetentionScope { state: Some(State::Dead), queue: None, kind: None },
        keep: longshore::Keep::For(HOUR),
    };
    t.store.set_retention(&rule).await.expect("a rule");
    let leader = leader(&t).await;

    t.advance(2 * HOUR);
    assert_eq!(prune(&t, leader).await.dead, 1);
    assert_eq!(rows(&t).await, (3, 3));
    t.advance(8 * super::retention::DAY);
    let removed = prune(&t, leader).await;

    assert_eq!((removed.succeeded, removed.cancelled), (1, 1));
    assert_eq!(rows(&t).await, (1, 1));
    assert_eq!(messages(&all(&t, stays.id).await), ["line"]);
}

pub async fn what_was_said_outlives_a_retry(t: Harness) {
    let run = spoken(&t, job()).await;
    t.cancel(run.id).await;
    t.finish(&run, failed(SECOND)).await;
    assert_eq!(t.state(run.id).await, State::Cancelled);

    t.retry(run.id).await;

    let again = t.claim_one().await;
    say(&t, &again, None, Some(part(2, 0, 0, &["again"]))).await;
    assert_eq!(messages(&all(&t, run.id).await), ["line", "again"]);
    assert_eq!(t.store.progress(run.id).await.unwrap().unwrap().text, "half");
}

pub async fn saying_beside_ends_and_rescues_never_deadlocks(t: Harness) {
    let node = t.node().await;
    t.enqueue_all(&jobs(200)).await;
    let runs = node.claim(200).await;
    let ends = {
        let (t, runs) = (t.clone(), runs.clone());
        tokio::spawn(async move {
            for some in runs.chunks(20) {
                let ended: Vec<_> =
                    some.iter().rev().map(|run| (run.held(), failed(SECOND))).collect();
                t.finish_all(some[0].node, &ended).await;
            }
        })
    };
    for round in 0..10 {
        let said: Vec<Saying> = runs
            .iter()
            .rev()
            .map(|run| saying(run, Some(progress(0.5, "")), Some(part(1, round, 0, &["x"]))))
            .collect();
        t.store.say(node.id, &said).await.expect("no deadlock");
    }
    ends.await.expect("no deadlock");

    // Of each what was kept is what was said before its end, without a gap.
    for run in &runs {
        let page = all(&t, run.id).await;
        assert!(page.lines.iter().all(|line| line.left_out == 0));
    }
    assert!(
        t.store
            .say(node.id, &[saying(&runs[0], None, Some(part(1, 99, 0, &["x"])))])
            .await
            .unwrap()[0]
            == Said::LeaseLost
    );
}
