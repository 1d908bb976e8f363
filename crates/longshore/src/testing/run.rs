//! A test with a runtime and a store of its own.

use std::future::Future;
use std::process::{ExitCode, Termination};

use super::{SERVER, TestStore, server};

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A SQLite file in a temporary folder.
    Sqlite,
    /// A database of its own on the PostgreSQL server that `LONGSHORE_TEST_DATABASE_URL` names. Without that the
    /// test is left out with a line that says so; where `CI` is `true` it fails.
    Postgres,
}

/// Runs a test on a fresh store, on a runtime of its own with two threads.
/// `#[longshore::test]` writes this call.
///
/// The test may return what a `#[test]` may; panics if that is an error.
pub fn run<F, T>(on: On, test: impl FnOnce(TestStore) -> F)
where
    F: Future<Output = T>,
    T: Termination,
{
    if on == On::Postgres && server().is_none() {
        let strict = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!strict, "{SERVER} is not set, and CI is true: tests on PostgreSQL must run here");
        eprintln!("left out: {SERVER} is not set, so nothing was tested on PostgreSQL");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime for the test");
    let ended = runtime.block_on(async {
        let store = match on {
            On::Sqlite => TestStore::sqlite().await,
            #[cfg(feature = "postgres")]
            On::Postgres => TestStore::postgres_from_env().await,
            #[cfg(not(feature = "postgres"))]
            On::Postgres => panic!("turn on longshore's feature `postgres` for this test"),
        };
        test(store).await.report()
    });
    assert!(ended == ExitCode::SUCCESS, "the test returned an error; it is shown above");
}
