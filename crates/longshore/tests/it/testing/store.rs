//! A store for one test.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use futures_util::FutureExt;
use longshore::store::{Effort, Relation};
use longshore::testing::TestStore;
use longshore::{Backoff, Filter, JobError, NewJob, State, Worker};

use super::*;

on_both! {
    a_store_is_a_client_on_a_database_of_its_own,
    its_clock_stands_until_it_is_moved,
    a_story_of_hours_takes_milliseconds,
    a_failure_is_shown_at_the_tests_own_line,
}

pub async fn a_store_is_a_client_on_a_database_of_its_own(store: TestStore) {
    store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued");
    let count = store.count(Filter::all(), Effort::Bounded).await.expect("a count");
    assert_eq!((count.value, count.relation), (1, Relation::Exact));
}

pub async fn its_clock_stands_until_it_is_moved(store: TestStore) {
    let before = store.now();
    let added = store.enqueue(Invite { friend: 1 }.new_job().run_in(HOUR)).await.expect("added");
    assert_eq!(store.get(added.id).await.expect("it is there").created_at, before);
    assert_eq!(store.get(added.id).await.expect("it is there").state, State::Scheduled);
    store.clock().advance(HOUR);
    assert_eq!(store.now(), before.plus(HOUR));
    assert_eq!(store.get(added.id).await.expect("it is there").state, State::Queued);
}

/// Ten attempts by the default backoff: half a day at most, in life.
pub async fn a_story_of_hours_takes_milliseconds(store: TestStore) {
    let added = store.enqueue(NewJob::new("flaky")).await.expect("it is enqueued");
    let flaky = |_: longshore::Run| async { Err::<(), _>(JobError::new("not yet")) };
    let began = Instant::now();
    let worker = Worker::new(store.client()).handle("flaky", flaky);
    let done = store.drain(worker).with_scheduled().await;
    assert_eq!((done.failed, done.dead, done.runs.len()), (9, 1, 10), "{done:?}");
    assert!(done.moved > 2 * HOUR, "{done:?}");
    assert!(began.elapsed() < 10 * SECOND, "it took {:?}", began.elapsed());
    let row = store.get(added.id).await.expect("it is there");
    assert_eq!((row.state, row.attempt, row.errors.len()), (State::Dead, 10, 10));
    assert_eq!(row.backoff, Backoff::default());
}

/// Where panics came from, by their text.
fn places() -> &'static Mutex<Vec<(String, String)>> {
    static PLACES: OnceLock<Mutex<Vec<(String, String)>>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            let text = info.payload_as_str().unwrap_or_default().to_owned();
            places().lock().expect("a list").push((text, place));
            before(info);
        }));
        Mutex::default()
    })
}

pub async fn a_failure_is_shown_at_the_tests_own_line(store: TestStore) {
    let queue = format!("q{}", store.now().as_micros());
    places();
    let failing = async {
        store.assert_enqueued::<Invite>().queue(&queue).await;
    };
    let line = line!() - 2;
    AssertUnwindSafe(failing).catch_unwind().await.expect_err("nothing is enqueued");
    let places = places().lock().expect("a list");
    let (_, place) = places.iter().find(|(text, _)| text.contains(&queue)).expect("its panic");
    assert!(place.starts_with(&format!("{}:{line}:", file!())), "{place}");
}

/// A folder, or a database, goes with the store, and also when the test panics.
#[test]
fn nothing_stays_of_a_file() {
    crate::harness::block_on(async {
        let seen = Arc::new(Mutex::new(String::new()));
        let tell = Arc::clone(&seen);
        let panicking = async move {
            let store = TestStore::sqlite().await;
            *tell.lock().expect("a text") = format!("{store:?}");
            panic!("the test fails");
        };
        AssertUnwindSafe(panicking).catch_unwind().await.expect_err("it panics");
        let text = seen.lock().expect("a text").clone();
        let (_, rest) = text.split_once("sqlite:").expect("its address");
        let path = rest.split(' ').next().expect("a path");
        assert!(path.ends_with("jobs.db") && !std::path::Path::new(path).exists(), "{path}");
    });
}

#[cfg(feature = "postgres")]
#[test]
fn nothing_stays_of_a_database() {
    use sqlx::{AssertSqlSafe, Connection};

    if !crate::harness::postgres::is_there() {
        return;
    }
    crate::harness::block_on(async {
        let seen = Arc::new(Mutex::new(String::new()));
        let tell = Arc::clone(&seen);
        let panicking = async move {
            let store = TestStore::postgres_from_env().await;
            *tell.lock().expect("a text") = format!("{store:?}");
            // Also with calls under way, and connections that nobody closed.
            store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued");
            panic!("the test fails");
        };
        AssertUnwindSafe(panicking).catch_unwind().await.expect_err("it panics");
        let text = seen.lock().expect("a text").clone();
        let (_, rest) = text.split_once("longshore_kit_").expect("its name");
        let name: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
        assert_eq!(name.len(), 32, "{text}");
        let server = std::env::var(longshore::testing::SERVER).expect("it is there");
        let mut conn = sqlx::PgConnection::connect(&server).await.expect("the server answers");
        let count = format!("SELECT count(*) FROM pg_database WHERE datname LIKE '%{name}%'");
        let count: i64 =
            sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&mut conn).await.expect("a number");
        assert_eq!(count, 0);
    });
}

#[cfg(feature = "postgres")]
#[test]
fn a_server_that_is_not_there_is_named() {
    crate::harness::block_on(async {
        let wrong = failure(TestStore::postgres("postgres://u:secret@127.0.0.1:1/x")).await;
        assert!(wrong.contains("PostgreSQL") && !wrong.contains("secret"), "{wrong}");
        assert_shows("no-scheme", &failure(TestStore::postgres("nonsense")).await);
    });
}
