//! Retention: what is past its time goes, with its payload; nothing else does.

use std::time::Duration;

use longshore::store::{
    DEFAULT_KEEP, Ending, Lead, MAX_RULES, NodeId, Pruned, Pruner, Removed, StoreError,
};
use longshore::{Edit, JobId, Keep, NewJob, RetentionRule, RetentionScope, State};

use crate::harness::*;

pub const DAY: Duration = Duration::from_secs(86_400);
/// Longer than any test lasts by its own clock.
const LONG: Duration = Duration::from_secs(40_000 * 86_400);

fn scope(state: Option<State>, queue: Option<&str>, kind: Option<&str>) -> RetentionScope {
    RetentionScope { state, queue: queue.map(Into::into), kind: kind.map(Into::into) }
}

fn any() -> RetentionScope {
    RetentionScope::default()
}

fn only(state: State) -> RetentionScope {
    scope(Some(state), None, None)
}

async fn keep(t: &Harness, scope: RetentionScope, span: Duration) {
    set(t, scope, Keep::For(span)).await;
}

async fn set(t: &Harness, scope: RetentionScope, keep: Keep) {
    t.store.set_retention(&RetentionRule { scope, keep }).await.expect("a rule is set");
}

/// A lead that outlasts the test.
pub async fn leader(t: &Harness) -> Pruner {
    let node = t.node().await;
    Pruner::Leader(t.lead(&node, LONG).await.expect("nobody else leads"))
}

pub async fn step(t: &Harness, pruner: Pruner) -> Pruned {
    t.store.prune(pruner).await.expect("a step of a prune")
}

/// Prunes to the end.
pub async fn prune(t: &Harness, pruner: Pruner) -> Removed {
    let mut all = Removed::default();
    for _ in 0..10_000 {
        let pruned = step(t, pruner).await;
        all.succeeded += pruned.removed.succeeded;
        all.cancelled += pruned.removed.cancelled;
        all.dead += pruned.removed.dead;
        if !pruned.more {
            return all;
        }
    }
    panic!("a prune ends");
}

fn removed(succeeded: u64, cancelled: u64, dead: u64) -> Removed {
    Removed { succeeded, cancelled, dead }
}

async fn is_there(t: &Harness, id: JobId) -> bool {
    t.find(id).await.is_some()
}

pub async fn without_rules_ended_jobs_stay_a_week_and_dead_ones_for_ever(t: Harness) {
    let done = t.ended(job(), done()).await;
    let cancelled = t.ended(job(), cancelled()).await;
    let dead = t.ended(job(), dead()).await;
    let leader = leader(&t).await;

    t.advance(DEFAULT_KEEP - SECOND);
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));
    assert!(is_there(&t, done).await && is_there(&t, cancelled).await);

    t.advance(SECOND);
    assert_eq!(prune(&t, leader).await, removed(1, 1, 0));
    assert!(!is_there(&t, done).await && !is_there(&t, cancelled).await);

    t.advance(3_000 * DAY);
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));
    assert_eq!(t.state(dead).await, State::Dead);
}

pub async fn the_most_particular_rule_wins(t: Harness) {
    // Each is kept one hour longer than the one before; the most particular rule for the last.
    let rules = [
        any(),
        only(State::Succeeded),
        scope(None, Some("q"), None),
        scope(Some(State::Succeeded), Some("q"), None),
        scope(None, None, Some("special")),
        scope(Some(State::Succeeded), None, Some("special")),
        scope(None, Some("q"), Some("special")),
        scope(Some(State::Succeeded), Some("q"), Some("special")),
    ];
    let node = t.node().await;
    let run = async |queue: &str, kind: &str| {
        let id = t.enqueue(NewJob::new(kind).queue(queue)).await;
        let run = node.claim_from(&[ask(queue, 1)], &[kind]).await.pop().expect("a job");
        t.finish(&run, done()).await;
        id
    };
    let special = run("q", "special").await;
    let of_the_queue = run("q", "k").await;
    let of_the_kind = run("other", "special").await;
    let plain = run("other", "k").await;
    let leader = leader(&t).await;
    // The more particular the longer: each job goes only when the rule that is its own says so.
    for (n, scope) in rules.iter().enumerate() {
        keep(&t, scope.clone(), HOUR * (n as u32 + 1)).await;
    }

    let listed = t.store.retention().await.unwrap();
    let mut told: Vec<RetentionScope> = listed.into_iter().map(|rule| rule.scope).collect();
    told.reverse();
    assert_eq!(told, rules, "the most particular first");

    let mut now = Duration::ZERO;
    for (hours, id) in [(2, plain), (4, of_the_queue), (6, of_the_kind), (8, special)] {
        t.advance(HOUR * hours - SECOND - now);
        prune(&t, leader).await;
        assert!(is_there(&t, id).await, "{hours} h");
        t.advance(SECOND);
        assert_eq!(prune(&t, leader).await, removed(1, 0, 0), "{hours} h");
        assert!(!is_there(&t, id).await, "{hours} h");
        now = HOUR * hours;
    }
}

pub async fn a_rule_may_say_for_ever(t: Harness) {
    let kept = t.ended(NewJob::new(KIND).queue("default"), done()).await;
    let gone = t.ended(job(), cancelled()).await;
    set(&t, only(State::Succeeded), Keep::Forever).await;
    let leader = leader(&t).await;

    t.advance(3_000 * DAY);

    assert_eq!(prune(&t, leader).await, removed(0, 1, 0));
    assert!(is_there(&t, kept).await && !is_there(&t, gone).await);
}

pub async fn a_jobs_own_span_goes_before_every_rule(t: Harness) {
    keep(&t, any(), HOUR).await;
    keep(&t, scope(None, None, Some(KIND)), HOUR).await;
    let shorter = t.ended(job().retain(MINUTE), done()).await;
    let by_rule = t.ended(job(), done()).await;
    let longer = t.ended(job().retain(DAY), done()).await;
    let dead = t.ended(job().retain(MINUTE), dead()).await;
    let leader = leader(&t).await;

    t.advance(MINUTE);
    assert_eq!(prune(&t, leader).await, removed(1, 0, 0));
    assert!(!is_there(&t, shorter).await);
    assert!(is_there(&t, dead).await, "its own span is not for the dead");

    t.advance(HOUR - MINUTE);
    assert_eq!(prune(&t, leader).await, removed(1, 0, 1));
    assert!(!is_there(&t, by_rule).await && !is_there(&t, dead).await);

    t.advance(DAY - HOUR);
    assert_eq!(prune(&t, leader).await, removed(1, 0, 0));
    assert!(!is_there(&t, longer).await);
}

pub async fn a_span_of_one_job_is_found_among_others_that_stay(t: Harness) {
    let leader = leader(&t).await;
    for _ in 0..3 {
        t.ended(job(), done()).await;
    }
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0), "all are known, and due in a week");
    let short = t.ended(job().retain(MINUTE), done()).await;

    t.advance(MINUTE);

    assert_eq!(prune(&t, leader).await, removed(1, 0, 0));
    assert!(!is_there(&t, short).await);
}

pub async fn what_has_not_ended_is_never_removed(t: Harness) {
    keep(&t, any(), Duration::ZERO).await;
    let node = t.node().await;
    t.enqueue_all(&[job(), job(), job()]).await;
    let runs = node.claim(3).await;
    t.finish(&runs[0], failed(SECOND)).await;
    t.finish(&runs[1], Ending::GivenBack).await;
    t.enqueue(job().run_in(9_000 * DAY)).await;
    let leader = leader(&t).await;

    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));
    t.advance(DAY);
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));

    assert_eq!(t.count("job").await, 4);
}

pub async fn payloads_go_with_their_jobs_and_no_others(t: Harness) {
    let large = || job().payload(format!("\"{}\"", "x".repeat(5_000)));
    keep(&t, only(State::Dead), HOUR).await;
    t.ended(large().retain(HOUR), done()).await;
    t.ended(large().retain(HOUR), cancelled()).await;
    t.ended(large(), dead()).await;
    let stays = t.ended(large(), done()).await;
    let waits = t.enqueue(large().run_in(DAY)).await;
    let running = t.enqueue(large()).await;
    let run = t.claim_one().await;
    assert_eq!((run.id, t.count("payload").await), (running, 6));
    let leader = leader(&t).await;

    t.advance(HOUR);

    assert_eq!(prune(&t, leader).await, removed(1, 1, 1));
    assert_eq!(t.count("payload").await, 3);
    for id in [stays, waits, running] {
        assert_eq!(t.get(id).await.payload.len(), 5_002);
    }
    t.advance(DEFAULT_KEEP);
    prune(&t, leader).await;
    assert_eq!(t.count("payload").await, 2);
}

pub async fn dead_jobs_go_by_a_rule_of_theirs(t: Harness) {
    keep(&t, scope(Some(State::Dead), None, Some(KIND)), HOUR).await;
    let first = t.ended(job(), dead()).await;
    let retried = t.ended(job(), dead()).await;
    t.enqueue(NewJob::new("other")).await;
    let run = t.node().await.claim_from(&[ask("default", 1)], &["other"]).await.remove(0);
    t.finish(&run, dead()).await;
    let leader = leader(&t).await;
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));

    t.advance(HOUR - SECOND);
    t.retry(retried).await;
    let later = t.ended(job().queue("default").priority(0), dead()).await;
    t.advance(SECOND);

    assert_eq!(prune(&t, leader).await, removed(0, 0, 1));
    assert!(!is_there(&t, first).await);
    assert_eq!(t.state(retried).await, State::Queued);
    assert_eq!(t.state(later).await, State::Dead);
    assert_eq!(t.state(run.id).await, State::Dead, "its kind has no rule");
    t.advance(HOUR);
    assert_eq!(prune(&t, leader).await, removed(0, 0, 1));
}

pub async fn many_dead_jobs_are_walked_in_steps(t: Harness) {
    keep(&t, only(State::Dead), HOUR).await;
    keep(&t, scope(Some(State::Dead), None, Some("stays")), DAY).await;
    let node = t.node().await;
    let many: Vec<NewJob> =
        (0..1_200).map(|n| NewJob::new(if n % 2 == 0 { "stays" } else { KIND })).collect();
    t.enqueue_all(&many).await;
    let runs = node.claim_from(&[ask("default", 1_200)], &[KIND, "stays"]).await;
    let ends: Vec<_> = runs.iter().map(|run| (run.held(), dead())).collect();
    t.finish_all(node.id, &ends).await;
    let leader = leader(&t).await;

    t.advance(HOUR);

    assert_eq!(prune(&t, leader).await, removed(0, 0, 600));
    assert_eq!(t.count("job").await, 600);
    t.advance(DAY);
    assert_eq!(prune(&t, leader).await, removed(0, 0, 600));
}

pub async fn a_step_is_small(t: Harness) {
    keep(&t, any(), HOUR).await;
    let node = t.node().await;
    let leader = leader(&t).await;
    for _ in 0..6 {
        t.enqueue_all(&jobs(500)).await;
        let runs = node.claim(500).await;
        let ends: Vec<_> = runs.iter().map(|run| (run.held(), done())).collect();
        t.finish_all(node.id, &ends).await;
    }
    t.advance(HOUR);
    let mut steps = 0;
    loop {
        let pruned = step(&t, leader).await;
        assert!(pruned.removed.total() <= 1_000, "{pruned:?}");
        steps += u32::from(pruned.removed.total() > 0);
        if !pruned.more {
            break;
        }
    }
    assert!(steps >= 3, "{steps} steps");
    assert_eq!(t.count("history").await, 0);
}

pub async fn large_rows_go_a_few_at_once(t: Harness) {
    keep(&t, any(), HOUR).await;
    let node = t.node().await;
    let leader = leader(&t).await;
    // Text that cannot be made much smaller.
    let noise = |n: usize| -> String {
        let mut x = n as u64 + 1;
        let next = move |_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'0' + (x >> 33) as u8 % 64 + u8::from((x >> 33) as u8 % 64 > 42))
        };
        (0..1_000_000).map(next).collect()
    };
    for n in 0..12 {
        t.enqueue(job().payload(format!("\"{}\"", noise(n).replace('\\', "/")))).await;
    }
    let runs = node.claim(12).await;
    let ends: Vec<_> = runs.iter().map(|run| (run.held(), done())).collect();
    t.finish_all(node.id, &ends).await;
    t.advance(HOUR);

    let first = step(&t, leader).await;
    assert!((1..12).contains(&first.removed.succeeded), "{first:?}");
    assert!(first.more);
    assert_eq!(prune(&t, leader).await.succeeded + first.removed.succeeded, 12);
    assert_eq!((t.count("history").await, t.count("payload").await), (0, 0));
}

pub async fn a_repeat_does_no_harm(t: Harness) {
    let leader = leader(&t).await;
    t.ended(job(), done()).await;
    t.advance(DEFAULT_KEEP - SECOND);
    let young = t.ended(job(), done()).await;
    t.advance(SECOND);

    // The reply of the first is lost: another process's store, with no memory of it, does it again.
    prune(&t, leader).await;
    let beside = t.beside().await;
    let again = beside.prune(leader).await.expect("a repeat");

    assert_eq!(again.removed, removed(0, 0, 0));
    assert!(is_there(&t, young).await);
    beside.close().await;
}

pub async fn a_prune_under_an_old_term_is_refused(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);
    let id = t.ended(job().retain(MILLI), done()).await;
    let old = t.lead(&first, LEASE_FOR).await.unwrap();
    t.advance(LEASE_FOR + MILLI);
    assert!(matches!(t.store.prune(Pruner::Leader(old)).await, Err(StoreError::NotLeader)));
    let new = t.lead(&second, LEASE_FOR).await.unwrap();

    for stale in [old, Lead { node: first.id, term: new.term }, Lead { node: NodeId::new(), ..new }]
    {
        let answer = t.store.prune(Pruner::Leader(stale)).await;
        assert!(matches!(answer, Err(StoreError::NotLeader)), "{answer:?}");
    }
    assert!(is_there(&t, id).await);
    assert_eq!(prune(&t, Pruner::Leader(new)).await, removed(1, 0, 0), "the new leader prunes");
}

pub async fn a_changed_rule_counts_for_what_has_ended_already(t: Harness) {
    let id = t.ended(job(), done()).await;
    let leader = leader(&t).await;
    t.advance(HOUR);
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));

    keep(&t, only(State::Succeeded), 2 * HOUR).await;
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));
    keep(&t, only(State::Succeeded), HOUR).await;
    assert_eq!(prune(&t, leader).await, removed(1, 0, 0));
    assert!(!is_there(&t, id).await);

    // And a longer one saves what would have gone.
    let saved = t.ended(job(), done()).await;
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));
    t.advance(HOUR);
    assert!(t.store.remove_retention(&only(State::Succeeded)).await.unwrap());
    assert_eq!(prune(&t, leader).await, removed(0, 0, 0));
    assert!(is_there(&t, saved).await);
}

pub async fn a_new_leader_finds_what_the_old_one_left(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);
    for _ in 0..20 {
        t.ended(job(), done()).await;
    }
    let old = t.lead(&first, LEASE_FOR).await.unwrap();
    assert_eq!(prune(&t, Pruner::Leader(old)).await, removed(0, 0, 0));
    t.advance(DEFAULT_KEEP);
    let new = t.lead(&second, LEASE_FOR).await.unwrap();

    let beside = t.beside().await;
    let other = Harness { store: beside.clone(), ..t.clone() };
    assert_eq!(prune(&other, Pruner::Leader(new)).await, removed(20, 0, 0));
    beside.close().await;
}

pub async fn rows_that_come_where_others_went_are_found(t: Harness) {
    keep(&t, any(), MINUTE).await;
    let node = t.node().await;
    let leader = leader(&t).await;
    let mut all = 0;
    for _ in 0..30 {
        t.enqueue_all(&jobs(60)).await;
        let runs = node.claim(60).await;
        let ends: Vec<_> = runs.iter().map(|run| (run.held(), done())).collect();
        t.finish_all(node.id, &ends).await;
        t.advance(10 * SECOND);
        all += prune(&t, leader).await.succeeded;
        let left = t.count("history").await;
        assert!(left <= 7 * 60, "{left} rows are left");
    }
    t.advance(2 * MINUTE);
    all += prune(&t, leader).await.succeeded;
    assert_eq!((all, t.count("history").await), (1_800, 0));
}

pub async fn a_retry_racing_a_prune_has_one_winner(t: Harness) {
    keep(&t, any(), HOUR).await;
    let leader = leader(&t).await;
    for round in 0..4 {
        let mut ended = Vec::new();
        for n in 0..20 {
            let large = job().payload(format!("\"{}\"", "y".repeat(3_000)));
            let ending = if n % 2 == 0 { dead() } else { cancelled() };
            ended.push(t.ended(large, ending).await);
        }
        t.advance(HOUR);
        let (other, pruner) = (t.clone(), leader);
        let pruning = tokio::spawn(async move { prune(&other, pruner).await });
        let mut saved = Vec::new();
        for id in ended {
            match t.store.retry(id, 1, &Edit::new()).await {
                Ok(()) => saved.push(id),
                Err(StoreError::NotFound(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        pruning.await.expect("no panic");
        prune(&t, leader).await;
        for id in &saved {
            let row = t.get(*id).await;
            assert_eq!((row.state, row.payload.len()), (State::Queued, 3_002), "round {round}");
        }
        assert_eq!(t.count("payload").await, saved.len() as i64, "round {round}");
        for id in saved {
            t.cancel(id).await;
        }
        t.advance(HOUR);
        prune(&t, leader).await;
        assert_eq!(t.count("payload").await + t.count("history").await, 0);
    }
}

pub async fn a_prune_beside_a_rescue_takes_only_what_had_ended(t: Harness) {
    keep(&t, any(), MINUTE).await;
    let leader = leader(&t).await;
    let lost = t.node().await;
    t.enqueue_all(&jobs(40)).await;
    t.enqueue_all(&vec![job().max_attempts(1); 1]).await;
    let runs = lost.claim(41).await;
    let ends: Vec<_> = runs[..20].iter().map(|run| (run.held(), done())).collect();
    t.finish_all(lost.id, &ends).await;
    t.advance(MINUTE);
    let (other, pruner) = (t.clone(), leader);
    let pruning = tokio::spawn(async move { prune(&other, pruner).await });

    let rescued = t.rescue().await;

    assert_eq!((rescued.queued.len(), rescued.dead.len()), (20, 1));
    pruning.await.expect("no panic");
    prune(&t, leader).await;
    assert_eq!((t.count("history").await, t.count("job").await), (0, 21), "it died just now");
    t.advance(MINUTE);
    assert_eq!(prune(&t, leader).await, removed(0, 0, 1));
}

pub async fn two_prunes_at_once_take_each_job_once(t: Harness) {
    let node = t.node().await;
    t.enqueue_all(&jobs(2_000)).await;
    for _ in 0..4 {
        let runs = node.claim(500).await;
        let ends: Vec<_> = runs.iter().map(|run| (run.held(), done())).collect();
        t.finish_all(node.id, &ends).await;
    }
    t.advance(DEFAULT_KEEP);
    let beside = t.beside().await;
    let other = Harness { store: beside.clone(), ..t.clone() };
    let by_hand = tokio::spawn(async move { prune(&other, Pruner::Hand).await });

    let leader = leader(&t).await;
    let ours = prune(&t, leader).await;

    let all = ours.succeeded + by_hand.await.expect("no panic").succeeded;
    assert_eq!((all, t.count("history").await), (2_000, 0));
    beside.close().await;
}

fn look() -> Pruner {
    Pruner::Look(NodeId::new())
}

pub async fn a_look_counts_and_removes_nothing(t: Harness) {
    keep(&t, only(State::Dead), HOUR).await;
    t.ended(job(), done()).await;
    t.ended(job(), cancelled()).await;
    t.ended(job(), dead()).await;
    t.advance(DEFAULT_KEEP);
    t.ended(job(), done()).await;

    for _ in 0..2 {
        assert_eq!(prune(&t, look()).await, removed(1, 1, 1));
        assert_eq!((t.count("history").await, t.count("job").await), (3, 1));
    }
    assert_eq!(prune(&t, Pruner::Hand).await, removed(1, 1, 1), "by hand it needs no lead");
    assert_eq!(prune(&t, look()).await, removed(0, 0, 0));
}

pub async fn it_says_how_far_behind_it_is_and_when_to_come_again(t: Harness) {
    keep(&t, any(), HOUR).await;
    let leader = leader(&t).await;
    t.ended(job(), done()).await;
    prune(&t, leader).await;
    assert_eq!(step(&t, leader).await.lag, Duration::ZERO);
    prune(&t, leader).await;

    t.advance(3 * HOUR);
    let mut longest = Duration::ZERO;
    loop {
        let pruned = step(&t, leader).await;
        longest = longest.max(pruned.lag);
        if !pruned.more {
            assert_eq!(pruned.lag, Duration::ZERO, "nothing is left");
            assert!(pruned.next_in > Duration::ZERO);
            break;
        }
    }
    assert_eq!(longest, 2 * HOUR);
}

pub async fn rules_are_set_replaced_and_removed(t: Harness) {
    assert!(t.store.retention().await.unwrap().is_empty());
    let odd = scope(None, Some("q/ä%'"), Some("k\"日"));
    keep(&t, odd.clone(), HOUR).await;
    keep(&t, any(), DAY).await;
    keep(&t, odd.clone(), MINUTE).await;
    set(&t, only(State::Cancelled), Keep::Forever).await;

    let rules = t.store.retention().await.unwrap();

    let expected = [
        RetentionRule { scope: odd.clone(), keep: Keep::For(MINUTE) },
        RetentionRule { scope: only(State::Cancelled), keep: Keep::Forever },
        RetentionRule { scope: any(), keep: Keep::For(DAY) },
    ];
    assert_eq!(rules, expected);
    assert!(t.store.remove_retention(&odd).await.unwrap());
    assert!(!t.store.remove_retention(&odd).await.unwrap());
    assert!(!t.store.remove_retention(&only(State::Dead)).await.unwrap());
    assert_eq!(t.store.retention().await.unwrap(), expected[1..]);
}

pub async fn there_are_only_so_many_rules(t: Harness) {
    for n in 0..MAX_RULES {
        keep(&t, scope(None, None, Some(&format!("k{n}"))), HOUR).await;
    }
    let one_more = RetentionRule { scope: any(), keep: Keep::Forever };

    let answer = t.store.set_retention(&one_more).await;

    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    keep(&t, scope(None, None, Some("k7")), DAY).await;
    t.ended(NewJob::new(KIND), done()).await;
    let leader = leader(&t).await;
    t.advance(DEFAULT_KEEP);
    assert_eq!(prune(&t, leader).await, removed(1, 0, 0));
}
