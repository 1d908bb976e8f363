//! Lists: newest first, page by page, over waiting and ended jobs together.

use longshore::query::Test;
use longshore::store::{Cursor, ListQuery, Position};
use longshore::{Filter, JobId, NewJob, State};

use crate::harness::*;

async fn page(t: &Harness, query: &ListQuery) -> (Vec<JobId>, Option<Cursor>) {
    let page = t.store.list(query).await.expect("a list");
    (page.jobs.iter().map(|job| job.id).collect(), page.next)
}

fn of(filter: Filter) -> ListQuery {
    ListQuery { filter, ..ListQuery::default() }
}

/// Every page, one after another, and how many there were.
async fn all_pages(t: &Harness, mut query: ListQuery) -> (Vec<JobId>, usize) {
    let (mut all, mut pages) = (Vec::new(), 0);
    loop {
        let (jobs, next) = page(t, &query).await;
        all.extend(jobs);
        pages += 1;
        assert!(pages < 10_000, "the cursor goes on");
        match next {
            Some(next) => query.at = Position::After(next),
            None => return (all, pages),
        }
    }
}

/// Some jobs, half of them ended; newest first.
async fn mixed(t: &Harness, count: usize) -> Vec<JobId> {
    let new = jobs(count);
    t.enqueue_all(&new).await;
    let node = t.node().await;
    for (n, run) in node.claim(count as u32).await.iter().enumerate() {
        let ending = [done(), cancelled(), failed(HOUR), dead()][n % 4].clone();
        t.finish(run, ending).await;
    }
    new.iter().rev().map(NewJob::id).collect()
}

pub async fn newest_first_over_waiting_and_ended(t: Harness) {
    let expected = mixed(&t, 20).await;
    assert_eq!(page(&t, &ListQuery::default()).await, (expected, None));
}

pub async fn pages_join_without_gap_or_repeat(t: Harness) {
    let expected = mixed(&t, 47).await;
    for limit in [1, 2, 7, 46, 47, 48] {
        let (all, pages) = all_pages(&t, ListQuery { limit, ..ListQuery::default() }).await;
        assert_eq!(all, expected, "limit {limit}");
        assert!(pages <= 47_usize.div_ceil(limit as usize) + 1, "{pages} pages of {limit}");
    }
}

pub async fn pages_stay_right_while_jobs_move(t: Harness) {
    let new = jobs(40);
    t.enqueue_all(&new).await;
    let node = t.node().await;
    let query = ListQuery { limit: 10, ..ListQuery::default() };
    let (mut seen, mut next) = page(&t, &query).await;
    while let Some(cursor) = next {
        // Between two pages jobs are done, and others come: none is shown twice or left out.
        for run in node.claim(5).await {
            t.finish(&run, done()).await;
        }
        t.enqueue(job().run_in(HOUR)).await;
        let (more, further) =
            page(&t, &ListQuery { at: Position::After(cursor), ..query.clone() }).await;
        seen.extend(more);
        next = further;
    }
    assert_eq!(seen, new.iter().rev().map(NewJob::id).collect::<Vec<_>>());
}

pub async fn filters_by_state(t: Harness) {
    let scheduled = t.enqueue(job().run_in(HOUR)).await;
    let succeeded = t.ended(job(), done()).await;
    let cancelled = t.ended(job(), cancelled()).await;
    let dead = t.ended(job(), dead()).await;
    let retrying = t.ended(job(), failed(HOUR)).await;
    let running = t.enqueue(job()).await;
    t.claim_one().await;
    let queued = t.enqueue(job()).await;

    for (state, id) in [
        (State::Scheduled, scheduled),
        (State::Succeeded, succeeded),
        (State::Cancelled, cancelled),
        (State::Dead, dead),
        (State::Retrying, retrying),
        (State::Running, running),
        (State::Queued, queued),
    ] {
        let query = of(Filter::all().state(state));
        assert_eq!(page(&t, &query).await, (vec![id], None), "{state}");
        let listed = t.store.list(&query).await.unwrap().jobs.remove(0);
        assert_eq!(listed.state, state);
    }
    let states = vec![State::Queued, State::Succeeded];
    let query = of(Filter::all().and(Test::State(states)));
    assert_eq!(page(&t, &query).await.0, [queued, succeeded]);
    let blocked = of(Filter::all().state(State::Blocked));
    assert_eq!(page(&t, &blocked).await.0, []);
}

pub async fn filters_by_kind_and_queue(t: Harness) {
    let a = t.enqueue(NewJob::new("a").queue("x")).await;
    let b = t.enqueue(NewJob::new("b").queue("x")).await;
    t.enqueue(NewJob::new("a'; --").queue("y")).await;
    let ended = t.ended(job().queue("default"), done()).await;

    let kind = |kind: &str| of(Filter::all().kind(kind));
    let queue = |queue: &str| of(Filter::all().queue(queue));
    assert_eq!(page(&t, &kind("a")).await.0, [a]);
    assert_eq!(page(&t, &kind("A")).await.0, []);
    assert_eq!(page(&t, &kind(KIND)).await.0, [ended]);
    assert_eq!(page(&t, &queue("x")).await.0, [b, a]);
    assert_eq!(page(&t, &queue("%")).await.0, []);
    let both = of(Filter::all().queue("x").kind("b"));
    assert_eq!(page(&t, &both).await.0, [b]);
}

pub async fn a_look_is_bounded_and_its_cursor_honest(t: Harness) {
    let rare = t.enqueue(NewJob::new("rare").run_in(HOUR)).await;
    for _ in 0..13 {
        let many: Vec<NewJob> = jobs(1_000).into_iter().map(|job| job.run_in(HOUR)).collect();
        t.enqueue_all(&many).await;
    }
    let newest = t.enqueue(NewJob::new("rare").run_in(HOUR)).await;
    let query = ListQuery { limit: 10, ..of(Filter::all().kind("rare")) };

    let (first, next) = page(&t, &query).await;

    assert_eq!(first, [newest]);
    assert!(next.is_some(), "it stopped before it had seen everything, and says so");
    let (all, pages) = all_pages(&t, query).await;
    assert_eq!(all, [newest, rare], "going on finds the rest");
    assert_eq!(pages, 3, "5,000 rows a page");
}

pub async fn payloads_are_previews(t: Harness) {
    let inline = format!("\"{}\"", "y".repeat(1_000));
    let aside = format!("\"{}\"", "x".repeat(500_000));
    let ended = t.ended(job().payload(&*inline), done_with("1")).await;
    let small = t.enqueue(job().payload("[1]")).await;
    let large = t.enqueue(job().payload(&*aside)).await;

    let jobs = t.store.list(&ListQuery::default()).await.unwrap().jobs;

    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [large, small, ended]);
    assert_eq!((&*jobs[0].payload, jobs[0].payload_bytes), ("", None));
    assert_eq!((&*jobs[1].payload, jobs[1].payload_bytes), ("[1]", Some(3)));
    assert_eq!(jobs[2].payload_bytes, Some(1_002));
    assert_eq!(&*jobs[2].payload, &inline[..200]);
}

pub async fn a_page_has_at_most_two_hundred_jobs(t: Harness) {
    t.enqueue_all(&jobs(250)).await;
    for (limit, expected) in [(0, 50), (1, 1), (200, 200), (201, 200), (u32::MAX, 200)] {
        let query = ListQuery { limit, ..ListQuery::default() };
        assert_eq!(page(&t, &query).await.0.len(), expected, "limit {limit}");
    }
}

pub async fn a_cursor_reads_back(t: Harness) {
    let expected = mixed(&t, 10).await;
    let query = ListQuery { limit: 4, ..ListQuery::default() };
    let next = page(&t, &query).await.1.unwrap();

    let read: Cursor = next.to_string().parse().unwrap();

    assert_eq!(read, next);
    let at = Position::After(read);
    assert_eq!(page(&t, &ListQuery { at, ..query }).await.0, expected[4..8]);
    assert!("'; DROP TABLE job".parse::<Cursor>().is_err());
}

pub async fn an_empty_store_has_an_empty_page(t: Harness) {
    assert_eq!(page(&t, &ListQuery::default()).await, (vec![], None));
}
