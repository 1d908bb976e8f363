//! Filters: what each field lets through, told by the jobs that a list then has, and by their number.

use longshore::query::{Moment, Pattern, Range, Term, Test};
use longshore::store::{
    Count, Cursor, Detail, Effort, ListQuery, Page, Position, Relation, StoreError,
};
use longshore::{Filter, JobId, JobRow, NewJob, State, Timestamp};

use super::stress::Dice;
use crate::harness::*;

async fn page(t: &Harness, filter: &Filter, at: Position, limit: u32) -> Page {
    let query = ListQuery { filter: filter.clone(), at, limit, ..ListQuery::default() };
    t.store.list(&query).await.expect("a list")
}

fn ids_of(page: &Page) -> Vec<JobId> {
    page.jobs.iter().map(|job| job.id).collect()
}

/// The jobs of a query, all pages, which must be as many as a count says.
async fn of(t: &Harness, text: &str) -> Vec<JobId> {
    let filter: Filter = text.parse().unwrap_or_else(|error| panic!("{text}\n{error}"));
    let (mut all, mut at) = (Vec::new(), Position::First);
    loop {
        let page = page(t, &filter, at, 200).await;
        all.extend(ids_of(&page));
        match page.next {
            Some(next) => at = Position::After(next),
            None => break,
        }
    }
    for effort in [Effort::Bounded, Effort::Unbounded] {
        let count = t.store.count(&filter, effort).await.expect("a count");
        assert_eq!((count.value, count.relation), (all.len() as u64, Relation::Exact), "{text}");
    }
    all
}

#[track_caller]
fn same(text: &str, found: Vec<JobId>, expected: &[JobId]) {
    let mut expected = expected.to_vec();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(found, expected, "{text}");
}

pub async fn names_fit_by_star_and_by_byte(t: Harness) {
    let send = t.enqueue(NewJob::new("email.send").queue("mail").tag("a").tag("b c")).await;
    let sent = t.enqueue(NewJob::new("email.sent").queue("mail/low").tag("ab")).await;
    let odd = t.enqueue(NewJob::new("e%_*[x]?").queue("o'q\"").tag("a,b").tag("ä😀")).await;
    let upper = t.enqueue(NewJob::new("Email.send").queue("日本 1")).await;
    let all = [send, sent, odd, upper];
    let cases: &[(&str, &[JobId])] = &[
        ("", &all),
        ("kind:email.send", &[send]),
        ("kind:email.*", &[send, sent]),
        ("kind:*.send", &[send, upper]),
        ("kind:*mail.sen*", &[send, sent, upper]),
        ("kind:email.send,email.sent", &[send, sent]),
        ("kind:email.send,e*x*", &[send, odd]),
        ("kind:email.* kind:*.sent", &[sent]),
        ("-kind:email.*", &[odd, upper]),
        ("-kind:email.send", &[sent, odd, upper]),
        ("-kind:email.send -kind:email.sent,E*", &[odd]),
        ("kind:e%*", &[odd]),
        ("kind:e%_\"*\"[x]?", &[odd]),
        ("kind:email_send", &[]),
        ("kind:\"e*\"", &[]),
        ("kind:e?ail.send", &[]),
        ("kind:[e]*", &[]),
        ("kind:email%", &[]),
        ("queue:mail", &[send]),
        ("queue:mail*", &[send, sent]),
        ("queue:o'q*", &[odd]),
        ("queue:\"o'q\\\"\"", &[odd]),
        ("queue:\"日本 1\",mail", &[send, upper]),
        ("queue:\"日\"*", &[upper]),
        ("-queue:*a*", &[odd, upper]),
        ("tag:a", &[send]),
        ("tag:a*", &[send, sent, odd]),
        ("tag:a tag:b*", &[send]),
        ("tag:a,ab", &[send, sent]),
        ("tag:\"a,b\"", &[odd]),
        ("tag:\"b c\"", &[send]),
        ("tag:*😀", &[odd]),
        ("tag:a*c", &[]),
        ("-tag:a*", &[upper]),
        ("tag:*", &[send, sent, odd]),
        ("-tag:*", &[upper]),
        ("-tag:ä😀", &[send, sent, upper]),
    ];
    for (text, expected) in cases {
        same(text, of(&t, text).await, expected);
    }
}

pub async fn states_nodes_and_ids_fit(t: Harness) {
    let cancelled = t.ended(job(), cancelled()).await;
    let succeeded = t.ended(job(), done()).await;
    let dead = t.ended(job(), dead()).await;
    let retrying = t.ended(job(), failed(HOUR)).await;
    let scheduled = t.enqueue(job().run_in(HOUR)).await;
    let running = t.enqueue(job()).await;
    let run = t.claim_one().await;
    let queued = t.enqueue(job()).await;
    let all = [cancelled, succeeded, dead, retrying, scheduled, running, queued];
    let node = run.node.to_string();
    let cases: &[(String, &[JobId])] = &[
        ("state:dead".into(), &[dead]),
        ("state:running".into(), &[running]),
        ("state:running,dead".into(), &[running, dead]),
        ("-state:running,dead".into(), &[cancelled, succeeded, retrying, scheduled, queued]),
        ("state:dead,queued state:queued,running".into(), &[queued]),
        ("state:dead state:queued".into(), &[]),
        (
            "-state:succeeded,cancelled queue:default".into(),
            &[dead, retrying, scheduled, running, queued],
        ),
        ("state:queued,scheduled,retrying queue:default".into(), &[queued, scheduled, retrying]),
        ("state:running queue:default".into(), &[running]),
        ("state:running queue:other".into(), &[]),
        ("state:dead,queued queue:default,other".into(), &[dead, queued]),
        (format!("node:{node}"), &[running]),
        (format!("node:{node} state:queued"), &[]),
        (format!("-node:{node} state:running"), &[]),
        (format!("-node:{node}"), &[cancelled, succeeded, dead, retrying, scheduled, queued]),
        (format!("id:{succeeded},{queued}"), &[succeeded, queued]),
        (format!("id:{succeeded},{queued} id:{queued},{dead}"), &[queued]),
        (format!("id:{succeeded} state:dead"), &[]),
        (format!("-id:{succeeded},{queued}"), &[cancelled, dead, retrying, scheduled, running]),
        (format!("id:{}", JobId::new()), &[]),
        ("attempt:1".into(), &[cancelled, succeeded, dead, retrying, running]),
        ("attempt:0".into(), &[scheduled, queued]),
    ];
    for (text, expected) in cases {
        same(text, of(&t, text).await, expected);
    }
    assert_eq!(of(&t, "").await.len(), all.len());
}

pub async fn a_key_fits_with_or_without_its_window(t: Harness) {
    let (a, b, none) = (t.enqueue(job()).await, t.enqueue(job()).await, t.enqueue(job()).await);
    let ended = t.ended(job().priority(0), done()).await;
    for (table, id, key) in [("job", a, "'o 1'"), ("history", ended, "'o 1'")] {
        let (table, id) = (t.table(table), t.literal(id.as_uuid()));
        t.execute(format!("UPDATE {table} SET unique_key = {key} WHERE id = {id}")).await;
    }
    // With a window: the database keeps it behind a control character.
    let mark = if t.is_sqlite() { "char(31)" } else { "chr(31)" };
    let (table, id) = (t.table("job"), t.literal(b.as_uuid()));
    t.execute(format!(
        "UPDATE {table} SET unique_key = 'o 1' || {mark} || '60000' WHERE id = {id}"
    ))
    .await;
    let cases: &[(&str, &[JobId])] = &[
        ("key:\"o 1\"", &[a, b, ended]),
        ("key:\"o 1\" state:queued", &[a, b]),
        ("key:o*", &[a, b, ended]),
        ("key:*1", &[a, b, ended]),
        ("key:o", &[]),
        ("key:*", &[a, b, ended]),
        ("-key:*", &[none]),
        ("-key:\"o 1\"", &[none]),
    ];
    for (text, expected) in cases {
        same(text, of(&t, text).await, expected);
    }
}

pub async fn numbers_and_times_fit(t: Harness) {
    let begun = t.now().await;
    let done_first = t.ended(job().priority(1), done()).await;
    t.advance(HOUR);
    let dead = t.ended(job().priority(2), dead()).await;
    let waits = t.enqueue(job().priority(9).run_in(24 * HOUR)).await;
    let queued = t.enqueue(job().priority(5)).await;
    let now = t.now().await;
    let day = &begun.to_string()[..10];
    let cases: Vec<(String, Vec<JobId>)> = vec![
        ("priority:5".into(), vec![queued]),
        ("priority:>2".into(), vec![queued, waits]),
        ("priority:<=2".into(), vec![done_first, dead]),
        ("priority:2..5".into(), vec![dead, queued]),
        ("-priority:2..5".into(), vec![done_first, waits]),
        ("priority:1,9".into(), vec![done_first, waits]),
        ("priority:>3 -priority:5..8".into(), vec![waits]),
        ("priority:10".into(), vec![]),
        ("created:>-30m".into(), vec![dead, waits, queued]),
        ("created:<-30m".into(), vec![done_first]),
        (format!("created:{begun}"), vec![done_first]),
        (format!("created:>{begun}"), vec![dead, waits, queued]),
        (format!("created:>={begun}"), vec![done_first, dead, waits, queued]),
        (format!("created:{begun}..{now}"), vec![done_first, dead, waits, queued]),
        (format!("created:>={day}"), vec![done_first, dead, waits, queued]),
        (format!("created:<{day}"), vec![]),
        ("created:>0000-01-01 created:<9999-12-31".into(), vec![done_first, dead, waits, queued]),
        ("created:<0000-01-02".into(), vec![]),
        ("due:>+1h".into(), vec![waits]),
        ("due:<=now".into(), vec![done_first, queued]),
        ("-due:<=now".into(), vec![waits, dead]),
        ("due:<9999-12-31".into(), vec![done_first, waits, queued]),
        ("finished:<=now".into(), vec![done_first, dead]),
        ("-finished:<=now".into(), vec![waits, queued]),
        ("finished:>-30m".into(), vec![dead]),
        ("finished:-2h..-30m".into(), vec![done_first]),
        ("-finished:-2h..-30m".into(), vec![dead, waits, queued]),
        ("finished:>-30m state:queued".into(), vec![]),
        (format!("finished:{day} state:succeeded"), vec![done_first]),
        ("finished:<2001-01-01".into(), vec![]),
        ("finished:>+1d".into(), vec![]),
    ];
    for (text, expected) in &cases {
        same(text, of(&t, text).await, expected);
    }
}

pub async fn a_hand_made_name_with_a_nul_fits_nothing(t: Harness) {
    let id = t.enqueue(job()).await;
    let filter = Filter::all().kind("k\0");
    assert_eq!(ids_of(&page(&t, &filter, Position::First, 10).await), []);
    let not = Filter::all().and_not(Test::Kind(vec![Pattern::exact("k\0"), Pattern::glob("\0*")]));
    assert_eq!(ids_of(&page(&t, &not, Position::First, 10).await), [id]);
}

const KINDS: [&str; 4] = ["a", "ab", "b%", "*"];

fn some<T: Clone>(dice: &mut Dice, from: &[T]) -> Vec<T> {
    (0..=dice.roll(2)).map(|_| from[dice.roll(from.len() as u64) as usize].clone()).collect()
}

fn patterns(dice: &mut Dice) -> Vec<Pattern> {
    let all: Vec<Pattern> = KINDS.iter().map(|name| Pattern::exact(name)).collect();
    some(dice, &[all, vec![Pattern::glob("a*"), Pattern::glob("*b*")]].concat())
}

fn numbers(dice: &mut Dice) -> Vec<Range<u32>> {
    let n = dice.roll(10) as u32;
    let ranges = [Range::Is(n), Range::Above(n), Range::UpTo(n), Range::Between(n / 2, n)];
    some(dice, &ranges)
}

fn times(dice: &mut Dice) -> Vec<Range<Moment>> {
    let at = Moment::ago(MINUTE * dice.roll(60) as u32);
    some(dice, &[Range::Above(at), Range::Below(at), Range::Between(at, Moment::ago(MINUTE))])
}

fn random(dice: &mut Dice) -> Filter {
    let mut filter = Filter::all();
    for _ in 0..dice.roll(4) {
        let test = match dice.roll(8) {
            0 | 1 => Test::State(some(dice, &State::ALL)),
            2 => Test::Kind(patterns(dice)),
            3 => Test::Queue(patterns(dice)),
            4 => Test::Tag(patterns(dice)),
            5 => Test::Priority(numbers(dice)),
            6 => Test::Created(times(dice)),
            _ => Test::Finished(times(dice)),
        };
        filter = filter.with(Term { negated: dice.roll(3) == 0, test });
    }
    filter
}

/// The words of the language once more, as plainly as can be.
fn passes(term: &Term, job: &JobRow, now: Timestamp) -> bool {
    let name = |patterns: &[Pattern], name: &str| patterns.iter().any(|pattern| pattern.fits(name));
    let time = |ranges: &[Range<Moment>], at: Option<Timestamp>| {
        let of = |moment: &Moment| match moment {
            Moment::Away(span) => now.as_micros() + span,
            _ => unreachable!("these filters have relative times alone"),
        };
        at.is_some_and(|at| {
            let at = at.as_micros();
            ranges.iter().any(|range| match range {
                Range::Above(moment) => at > of(moment),
                Range::Below(moment) => at < of(moment),
                Range::Between(from, to) => (of(from)..=of(to)).contains(&at),
                _ => unreachable!("these filters have no others"),
            })
        })
    };
    let fits = match &term.test {
        Test::State(states) => states.contains(&job.state),
        Test::Kind(names) => name(names, &job.kind),
        Test::Queue(names) => name(names, &job.queue),
        Test::Tag(names) => job.tags.iter().any(|tag| name(names, tag)),
        Test::Priority(ranges) => ranges.iter().any(|range| {
            let priority = u32::from(job.priority);
            match range {
                Range::Is(n) => priority == *n,
                Range::Above(n) => priority > *n,
                Range::UpTo(n) => priority <= *n,
                Range::Between(from, to) => (from..=to).contains(&&priority),
                _ => unreachable!("these filters have no others"),
            }
        }),
        Test::Created(ranges) => time(ranges, Some(job.created_at)),
        Test::Finished(ranges) => time(ranges, job.finished_at),
        _ => unreachable!("these filters have no others"),
    };
    fits != term.negated
}

/// 120 jobs of all kinds, over an hour, half of them ended in some way.
async fn mixed(t: &Harness, dice: &mut Dice) {
    for _ in 0..12 {
        let mut new = Vec::new();
        for _ in 0..10 {
            let mut job = NewJob::new(KINDS[dice.roll(4) as usize])
                .queue(KINDS[dice.roll(4) as usize])
                .priority(dice.roll(10) as u8);
            for _ in 0..dice.roll(3) {
                job = job.tag(KINDS[dice.roll(4) as usize]);
            }
            new.push(if dice.roll(4) == 0 { job.run_in(HOUR) } else { job });
        }
        t.enqueue_all(&new).await;
        let node = t.node().await;
        let queues = KINDS.map(|queue| ask(queue, 2));
        for run in node.claim_from(&queues, &KINDS).await {
            let endings = [done(), cancelled(), failed(HOUR), dead()];
            if let Some(ending) = endings.get(dice.roll(5) as usize) {
                t.finish(&run, ending.clone()).await;
            }
        }
        t.advance(5 * MINUTE);
    }
}

pub async fn random_filters_find_what_brute_force_finds(t: Harness) {
    let mut dice = Dice::new(20);
    mixed(&t, &mut dice).await;
    let all = page(&t, &Filter::all(), Position::First, 200).await.jobs;
    assert_eq!(all.len(), 120);
    let now = t.now().await;
    for _ in 0..150 {
        let filter = random(&mut dice);
        let fits = |job: &&JobRow| filter.terms().iter().all(|term| passes(term, job, now));
        let expected: Vec<JobId> = all.iter().filter(fits).map(|job| job.id).collect();
        let count = t.store.count(&filter, Effort::Bounded).await.expect("a count");
        assert_eq!(count.value, expected.len() as u64, "{filter}");

        // Forward to the end in small pages, and back from there to the start.
        let limit = 1 + dice.roll(40) as u32;
        let (mut forward, mut at, mut last) = (Vec::new(), Position::First, None);
        loop {
            let page = page(&t, &filter, at, limit).await;
            forward.extend(ids_of(&page));
            let Some(next) = page.next else { break };
            (at, last) = (Position::After(next), Some(next));
        }
        assert_eq!(forward, expected, "{filter}");
        let (mut back, mut cursor): (Vec<JobId>, Option<Cursor>) = (Vec::new(), last);
        let tail = match last {
            Some(cursor) => ids_of(&page(&t, &filter, Position::After(cursor), limit).await),
            None => expected.clone(),
        };
        while let Some(at) = cursor {
            let page = page(&t, &filter, Position::Before(at), limit).await;
            back.splice(0..0, ids_of(&page));
            cursor = page.prev;
        }
        assert_eq!([back, tail].concat(), expected, "back: {filter}");
    }
}

pub async fn going_forward_and_back_over_moving_jobs_joins(t: Harness) {
    let new = jobs(60);
    t.enqueue_all(&new).await;
    let expected: Vec<JobId> = new.iter().rev().map(NewJob::id).collect();
    let node = t.node().await;
    let (mut seen, mut at, mut places) = (Vec::new(), Position::First, Vec::new());
    loop {
        let page = page(&t, &Filter::all(), at, 7).await;
        seen.extend(ids_of(&page));
        for (n, run) in node.claim(3).await.iter().enumerate() {
            t.finish(run, [done(), cancelled(), failed(HOUR)][n].clone()).await;
        }
        let Some(next) = page.next else { break };
        places.push(next);
        at = Position::After(next);
    }
    assert_eq!(seen, expected);
    // Back: some that were cancelled go the other way meanwhile, from history to the waiting ones.
    let (mut back, mut cursor) = (Vec::new(), places.last().copied());
    while let Some(at) = cursor {
        let page = page(&t, &Filter::all(), Position::Before(at), 7).await;
        back.splice(0..0, ids_of(&page));
        for job in &page.jobs {
            if job.state == State::Cancelled {
                t.retry(job.id).await;
            }
        }
        cursor = page.prev;
    }
    assert_eq!(back, expected[..back.len()]);
    assert!(back.len() >= 53, "all but the last page");
}

pub async fn a_cursor_outlives_its_row_and_serves_no_other_filter(t: Harness) {
    let new = jobs(10);
    t.enqueue_all(&new).await;
    let filter = Filter::all().kind(KIND);
    let first = page(&t, &filter, Position::First, 4).await;
    let next = first.next.expect("there are more");
    let edge = t.literal(first.jobs[3].id.as_uuid());
    t.execute(format!("DELETE FROM {} WHERE id = {edge}", t.table("job"))).await;

    let second = page(&t, &filter, Position::After(next), 4).await;
    let expected: Vec<JobId> = new.iter().rev().map(NewJob::id).collect();
    assert_eq!(ids_of(&second), expected[4..8]);
    let back = page(&t, &filter, Position::Before(second.prev.expect("it has")), 4).await;
    assert_eq!(ids_of(&back), expected[..3], "the row that went is gone, and nothing else");
    assert_eq!(back.prev, None);

    for at in [Position::After(next), Position::Before(next)] {
        let query = ListQuery { filter: Filter::all(), at, ..ListQuery::default() };
        let refused = t.store.list(&query).await;
        assert!(matches!(refused, Err(StoreError::Cursor(_))), "{refused:?}");
    }
    // The same filter in other words is the same filter.
    let words: Filter = format!("  kind:\"{KIND}\"  ").parse().expect("a query");
    assert_eq!(ids_of(&page(&t, &words, Position::After(next), 4).await), expected[4..8]);
}

pub async fn whole_jobs_come_whole_in_pages_that_end_early(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(1_000_000));
    let exact = "{\"n\": 12345678901234567890.10, \"e\":1e400}";
    let ended = t.ended(job().payload(exact), done_with("9007199254740993")).await;
    for _ in 0..4 {
        let new: Vec<NewJob> = (0..8).map(|_| job().payload(&*large).run_in(HOUR)).collect();
        t.enqueue_all(&new).await;
    }
    let (mut at, mut pages, mut all) = (Position::First, 0, Vec::new());
    loop {
        let query = ListQuery { at, limit: 200, detail: Detail::Whole, ..ListQuery::default() };
        let page = t.store.list(&query).await.expect("a list");
        assert!(page.jobs.len() <= 32, "it ends early");
        pages += 1;
        for job in &page.jobs {
            assert_eq!(job.payload_bytes, Some(job.payload.len()));
            if job.id == ended {
                assert_eq!(
                    (&*job.payload, job.output.as_deref()),
                    (exact, Some("9007199254740993"))
                );
            } else {
                assert_eq!(&*job.payload, large);
            }
        }
        all.extend(ids_of(&page));
        let Some(next) = page.next else { break };
        at = Position::After(next);
    }
    assert_eq!((all.len(), pages > 1), (33, true));
    assert!(all.is_sorted_by(|a, b| a > b), "each once");
}

pub async fn a_count_stops_at_ten_thousand_and_says_so(t: Harness) {
    let count = |filter: Filter, effort| {
        let store = t.store.clone();
        async move { store.count(&filter, effort).await.expect("a count") }
    };
    let none = Count { value: 0, relation: Relation::Exact, looked: 0 };
    assert_eq!(count(Filter::all(), Effort::Bounded).await, none);
    t.enqueue(NewJob::new("rare").run_in(HOUR)).await;
    // Made by hand, or the test would take long.
    let (table, sql) = (
        t.table("job"),
        if t.is_sqlite() {
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
         INSERT INTO TABLE (id, kind, queue, priority, run_at, created_at, max_attempts)
         SELECT randomblob(16), 'k', 'q', 5, 0, 0, 1 FROM n"
        } else {
            "INSERT INTO TABLE (id, kind, queue, priority, run_at, created_at, max_attempts)
         SELECT gen_random_uuid(), 'k', 'q', 5, now(), now(), 1 FROM generate_series(1, 30000) i"
        },
    );
    t.execute(sql.replace("TABLE", &table)).await;

    let many = count(Filter::all().kind("k"), Effort::Bounded).await;
    assert_eq!((many.value, many.relation), (10_000, Relation::AtLeast));
    let all = count(Filter::all().kind("k"), Effort::Unbounded).await;
    assert_eq!((all.value, all.relation, all.looked), (30_000, Relation::Exact, 30_001));
    let rare = count(Filter::all().kind("rare"), Effort::Bounded).await;
    assert!(rare.value <= 1 && rare.relation == Relation::AtLeast, "{rare:?}");
    assert!((10_000..=15_000).contains(&rare.looked), "{rare:?}");
    let exact = count(Filter::all().kind("rare"), Effort::Unbounded).await;
    assert_eq!((exact.value, exact.relation), (1, Relation::Exact));
    let page = page(&t, &Filter::all().kind("absent"), Position::First, 10).await;
    assert_eq!((page.jobs.len(), page.looked, page.next.is_some()), (0, 5_000, true));
}
