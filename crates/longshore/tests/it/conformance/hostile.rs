//! Payloads, names, texts and times that somebody meant badly, and many nodes that migrate at once.

use longshore::job::json;
use longshore::store::{Ack, Ending, ListQuery, QueueAsk};
use longshore::{Filter, NewJob, State, Timestamp};

use crate::harness::*;

pub async fn payloads_are_kept_byte_for_byte(t: Harness) {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let payloads = [
        "null",
        " {\"b\" : 1,\t\"a\" :2 }\n",
        "{\"a\":1,\"a\":2}",
        "\"\\u0000\"",
        "{\"\\u0000\":\"\\u0000\\ud83d\\ude00\"}",
        "\"\u{1f600}ä\u{202e}\"",
        "1e400",
        "-0",
        "9007199254740993",
        "123456789012345678901234567890.000000000000000000001",
        "0.1000",
        "\"'; DROP TABLE longshore_job; --\"",
        "\"{}$1 %s\"",
        "{}",
        "[]",
        "\"\"",
        &deep,
    ];
    for payload in payloads {
        assert_eq!(json::check(payload), Ok(()), "{payload}");
        let id = t.enqueue(job().payload(payload)).await;
        assert_eq!(&*t.get(id).await.payload, payload);
        let run = t.claim_one().await;
        assert_eq!(&*run.payload, payload);
        t.finish(&run, done_with(payload)).await;
        let row = t.get(id).await;
        assert_eq!((&*row.payload, row.output.as_deref()), (payload, Some(payload)));
    }
    t.store.list(&ListQuery::default()).await.expect("a list of them all");
}

pub async fn a_payload_of_a_mebibyte_comes_back_whole(t: Harness) {
    // Of two, three and four bytes a character: wherever it is cut, it would show.
    for letter in ["x", "ä", "€", "😀"] {
        let payload = format!("\"{}\"", letter.repeat(((1 << 20) - 2) / letter.len()));
        let id = t.enqueue(job().payload(&*payload)).await;
        let run = t.claim_one().await;
        assert!(*run.payload == *payload, "{letter}: as claimed");
        t.finish(&run, failed(SECOND)).await;
        t.advance(SECOND);
        let run = t.claim_one().await;
        assert!(*run.payload == *payload, "{letter}: as claimed again");
        t.finish(&run, done()).await;
        let row = t.get(id).await;
        assert!(*row.payload == *payload, "{letter}: as looked up");
        assert_eq!(row.payload_bytes, Some(payload.len()));
    }
}

pub async fn payloads_around_the_border_of_aside_come_back_whole(t: Harness) {
    for size in [1_999, 2_000, 2_001] {
        for letter in ["x", "ä"] {
            let mut payload = format!("\"{}\"", letter.repeat((size - 2) / letter.len()));
            payload.push_str(&" ".repeat(size - payload.len()));
            let id = t.enqueue(job().payload(&*payload)).await;
            let run = t.claim_one().await;
            assert!(*run.payload == *payload, "{size} {letter}");
            t.finish(&run, done()).await;
            assert!(*t.get(id).await.payload == *payload, "{size} {letter}");
        }
    }
    assert_eq!(t.count("payload").await, 2, "only what is above 2,000 bytes lies aside");
}

pub async fn odd_names_are_kept_and_found(t: Harness) {
    let longest = "ä".repeat(127);
    let names =
        ["a'b", "a\"b", "a;b", "a,b", "{a}", "NULL", "%", "_", "a\\b", "ä/😀", "1", &longest];
    let node = t.node().await;
    for name in names {
        let id = t.enqueue(NewJob::new(name).queue(name).tag(name)).await;
        let asks: [QueueAsk; 1] = [ask(name, 10)];
        let runs = node.claim_from(&asks, &[name, "x\"y", "[]"]).await;
        assert_eq!(ids(&runs), [id], "{name}");
        assert_eq!((runs[0].kind.as_str(), runs[0].queue.as_str()), (name, name));
        let filter = Filter::all().kind(name).queue(name).tag(name).state(State::Running);
        let query = ListQuery { filter, ..ListQuery::default() };
        let listed = t.store.list(&query).await.unwrap().jobs;
        assert_eq!(listed.iter().map(|job| job.id).collect::<Vec<_>>(), [id], "{name}");
        assert_eq!(listed[0].tags, [name]);
        assert_eq!(t.finish(&runs[0], done()).await, Ack::Recorded(State::Succeeded));
    }
}

pub async fn odd_texts_in_errors_and_reasons_are_kept(t: Harness) {
    for text in
        ["it's \"broken\"", "$1 {} %s \\", "a\nb\tc\u{1b}[31m", "😀\u{202e}", "", "{\"a\":1}"]
    {
        let id = t.enqueue(job()).await;
        let run = t.claim_one().await;
        let mut error = fault(text);
        error.chain = vec![text.into(), text.into()];
        t.finish(&run, Ending::Failed { error: error.clone(), delay: SECOND }).await;
        error.at = t.now().await;
        assert_eq!(t.get(id).await.errors, [error]);
        t.advance(SECOND);
        let run = t.claim_one().await;
        t.finish(&run, Ending::Cancelled { why: text.into() }).await;
        assert_eq!(t.get(id).await.cancel.unwrap().why.as_deref(), Some(text));
    }
}

pub async fn meta_and_tags_are_kept(t: Harness) {
    let meta = "{\"a\": \"\\u0000\",\"a\":1e400}";
    let new = (0..64).fold(job().meta(meta), |job, n| job.tag(format!("'{n}\"")));

    let id = t.enqueue(new).await;

    let run = t.claim_one().await;
    assert_eq!(run.meta.as_deref(), Some(meta));
    t.finish(&run, done()).await;
    let row = t.get(id).await;
    assert_eq!((row.meta.as_deref(), row.tags.len()), (Some(meta), 64));
    assert_eq!(row.tags[63], "'63\"");
}

pub async fn the_edges_of_time_are_kept(t: Harness) {
    for at in [
        Timestamp::MIN,
        "0000-02-29T00:00:00Z".parse().unwrap(),
        "0001-01-01T00:00:00Z".parse().unwrap(),
        "1969-12-31T23:59:59.999999Z".parse().unwrap(),
        Timestamp::MAX,
    ] {
        let id = t.enqueue(job().run_at(at)).await;
        assert_eq!(t.get(id).await.run_at, Some(at));
    }
    let far = t.enqueue(job().run_in(std::time::Duration::from_secs(100 * 366 * 86_400))).await;
    assert_eq!(t.state(far).await, State::Scheduled);
    // The longest wait a run can ask for does not leave the calendar either.
    let id = t.enqueue(job().priority(0).run_at(t.now().await)).await;
    let node = t.node().await;
    let run = node.claim_one().await;
    assert_eq!(run.id, id);
    t.finish(&run, snoozed(std::time::Duration::MAX)).await;
    let row = t.get(id).await;
    assert!(row.state == State::Scheduled && row.run_at.is_some_and(Timestamp::in_range));
    assert!(row.run_at > Some(t.now().await.plus(50 * 365 * 24 * HOUR)));
}

pub async fn a_hand_made_time_stops_nobody(t: Harness) {
    let never = t.enqueue(job().priority(0)).await;
    let always = t.enqueue(job().priority(0)).await;
    let good = t.enqueue(job()).await;
    let table = t.table("job");
    let (last, first) = if t.is_sqlite() {
        (i64::MAX.to_string(), i64::MIN.to_string())
    } else {
        ("'infinity'".to_owned(), "'-infinity'".to_owned())
    };
    for (id, at) in [(never, last), (always, first)] {
        let which = t.literal(id.as_uuid());
        t.execute(format!(
            "UPDATE {table} SET run_at = {at}, created_at = {at} WHERE id = {which}"
        ))
        .await;
    }

    assert_eq!(t.store.list(&ListQuery::default()).await.unwrap().jobs.len(), 3);
    assert_eq!(t.get(never).await.state, State::Scheduled);
    assert_eq!(t.get(never).await.run_at.unwrap().to_string(), "out of range");
    assert!(t.find(always).await.is_some());
    let runs = t.claim(10).await;
    assert!(ids(&runs).contains(&good), "the good job runs");
    assert!(!ids(&runs).contains(&never));
    for run in &runs {
        assert!(matches!(t.finish(run, done()).await, Ack::Recorded(_)));
    }
    assert_eq!(t.cancel(never).await, State::Cancelled);
    assert_eq!(t.get(never).await.state, State::Cancelled);
}

/// Numbers that nobody could have asked for, and on SQLite an id and a list that are none.
pub async fn a_hand_made_row_stops_no_neighbour(t: Harness) {
    let (odd, good) = (t.enqueue(job().priority(0)).await, t.enqueue(job()).await);
    let (table, which) = (t.table("job"), t.literal(odd.as_uuid()));
    let set = |what: &str| format!("UPDATE {table} SET {what} WHERE id = {which}");
    t.execute(set("attempt = -5, max_attempts = -7, payload_version = -1, version = -2")).await;
    if t.is_sqlite() {
        t.execute(format!(
            "INSERT INTO {table} (id, kind, queue, priority, run_at, created_at, max_attempts, payload, redacted)
             VALUES (x'00', 'k', 'default', 1, 0, 0, 1, '1', NULL),
                (randomblob(16), 'k', 'default', 1, 0, 0, 1, '1', '[')"
        ))
        .await;
    }

    let row = t.get(odd).await;
    assert_eq!((row.state, row.attempt, row.max_attempts), (State::Queued, 0, 0));
    let node = t.node().await;
    let runs = node.claim(10).await;
    assert_eq!(ids(&runs), [odd, good]);
    for run in &runs {
        assert!(matches!(t.finish(run, done()).await, Ack::Recorded(_)));
    }
    assert!(t.store.recall(node.id, runs[0].job.lease).await.expect("a recall").is_empty());
}

pub async fn five_nodes_migrate_at_once(t: Harness) {
    let steps = longshore::store::migrations(&t.database.url()).expect("the steps").len() as u32;
    for _ in 0..5 {
        t.forget_schema().await;
        assert_eq!(t.store.schema_version().await.unwrap(), 0);
        let mut stores = vec![t.store.clone()];
        for _ in 0..4 {
            stores.push(t.beside().await);
        }
        let calls: Vec<_> = stores
            .into_iter()
            .map(|store| {
                tokio::spawn(async move {
                    let applied = store.migrate().await.expect("each of them succeeds");
                    (applied, store)
                })
            })
            .collect();
        let mut worked = Vec::new();
        for call in calls {
            let (applied, store) = call.await.unwrap();
            worked.extend(applied);
            assert_eq!(store.schema_version().await.unwrap(), steps);
            if !std::sync::Arc::ptr_eq(&store, &t.store) {
                store.close().await;
            }
        }
        worked.sort();
        assert_eq!(worked, (1..=steps).collect::<Vec<_>>(), "each step by one of them");
    }
    t.enqueue(job()).await;
    t.claim_one().await;
}

pub async fn migrating_again_applies_nothing(t: Harness) {
    t.enqueue(job()).await;
    let version = t.store.schema_version().await.unwrap();
    assert!(t.store.migrate().await.unwrap().is_empty());
    assert_eq!(t.store.schema_version().await.unwrap(), version);
    assert_eq!(t.count("job").await, 1);
}

pub async fn an_unreadable_error_kind_hides_no_job(t: Harness) {
    let id = t.ended(job(), failed(HOUR)).await;
    let (table, which) = (t.table("job"), t.literal(id.as_uuid()));
    let errors = match t.is_sqlite() {
        true => "'[{\"kind\":\"of tomorrow\"}]'",
        false => "array['{\"kind\":\"of tomorrow\"}'::json]",
    };
    t.execute(format!("UPDATE {table} SET errors = {errors} WHERE id = {which}")).await;

    assert_eq!((t.state(id).await, t.get(id).await.errors.len()), (State::Retrying, 0));
}

impl Harness {
    /// Back to an empty database.
    async fn forget_schema(&self) {
        if !self.is_sqlite() {
            self.execute("DROP SCHEMA IF EXISTS longshore CASCADE".into()).await;
            return;
        }
        let steps = longshore::store::migrations("sqlite:").expect("the schema's steps");
        for what in ["VIEW", "TABLE"] {
            let create = format!("CREATE {what} ");
            for made in steps.iter().flat_map(|step| step.sql.split(&create).skip(1)) {
                let name = made.split([' ', '(', '\n']).next().expect("a name");
                self.execute(format!("DROP {what} IF EXISTS {name}")).await;
            }
        }
        self.execute("DROP TABLE IF EXISTS longshore_migration".into()).await;
    }
}
