//! Processes that are kept running: what they are asked, and what becomes of those that break the rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use longshore_kinds::{FilesRoot, KindError, PoolConfig, Pools, ProcessPool};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::programs::until_gone;

/// A pool named `p`, and a runtime for it.
struct Place {
    runtime: Runtime,
    pools: Option<Pools>,
    folder: TempDir,
    said: Arc<Mutex<Vec<String>>>,
}

fn script(name: &str) -> PoolConfig {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/pools").join(name);
    PoolConfig::new(["/usr/bin/env", "python3", script.to_str().expect("UTF-8")])
}

fn of(what: Value) -> ProcessPool {
    serde_json::from_value(json!({"pool": "p", "payload": what})).expect("a payload")
}

impl Place {
    fn new(config: PoolConfig) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Arc::new(FilesRoot::open(folder.path()).expect("it opens"));
        config.check().expect("a good pool");
        let pools =
            Pools::new(&BTreeMap::from([("p".to_owned(), config)]), &root, &["of settings".into()]);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        Place { runtime, pools: Some(pools), folder, said: Arc::default() }
    }

    fn pools(&self) -> &Pools {
        self.pools.as_ref().expect("they are there until the end")
    }

    async fn asked(&self, id: &str, what: Value) -> Result<Value, KindError> {
        let said = Arc::clone(&self.said);
        let tell = Arc::new(move |line: &str| said.lock().unwrap().push(line.to_owned()));
        let answer = self.pools().run(&of(what), id, tell).await?;
        Ok(serde_json::from_str(answer.get()).expect("JSON"))
    }

    fn ask(&self, what: Value) -> Result<Value, KindError> {
        self.runtime.block_on(self.asked("the-job", what))
    }

    /// The words of a failure that is worth another attempt.
    fn fails(&self, what: &str) -> String {
        let error = self.ask(json!({"do": what})).expect_err(what);
        assert!(!error.is_permanent(), "{error}");
        error.to_string()
    }

    fn pid(&self) -> u64 {
        self.ask(json!({"do": "echo"})).expect("it answers")["pid"].as_u64().expect("a number")
    }
}

#[test]
fn a_process_is_started_once_and_asked_many_times() {
    let place = Place::new(script("child.py"));
    let first = place.ask(json!({"do": "echo", "value": {"a": [1, 2.5, "ä\n"]}})).unwrap();
    assert_eq!((&first["asked"], &first["got"]), (&json!(1), &json!({"a": [1, 2.5, "ä\n"]})));
    let second = place.ask(json!({"do": "echo"})).unwrap();
    assert_eq!((&second["asked"], &second["pid"]), (&json!(2), &first["pid"]));
    assert_eq!(place.ask(json!({"do": "null"})).unwrap(), Value::Null);
}

#[test]
fn it_has_hardly_any_environment_and_its_secrets_stay_its_own() {
    let mut config = script("child.py");
    config.env = [("SHOP_TOKEN", "tok-98765"), ("NUMBER_SECRET", "123456")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert!(!format!("{config:?}").contains("tok-98765"));
    let place = Place::new(config);
    let said = place.ask(json!({"do": "environment"})).unwrap();
    let mut names: Vec<&str> =
        said["variables"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    names.retain(|name| !name.starts_with("LC_")); // of Python itself
    assert_eq!(names, ["LANG", "NUMBER_SECRET", "PATH", "SHOP_TOKEN"]);
    let folder = place.folder.path().canonicalize().unwrap();
    assert_eq!(said["folder"], folder.to_str().unwrap());
    assert_eq!((&said["token"], &said["n"]), (&json!("***"), &json!("***")));
    let words = json!({"do": "error", "words": "no of settings, no tok-98765"});
    assert_eq!(place.ask(words).unwrap_err().to_string(), "no ***, no ***");
}

#[test]
fn errors_are_tried_again_unless_it_says_otherwise() {
    let place = Place::new(script("child.py"));
    let error = |retry: Option<bool>| {
        let mut what = json!({"do": "error", "words": "no such order"});
        if let Some(retry) = retry {
            what["retry"] = retry.into();
        }
        let error = place.ask(what).expect_err("it says no");
        assert_eq!(error.to_string(), "no such order");
        error.is_permanent()
    };
    assert_eq!([None, Some(true), Some(false)].map(error), [false, false, true]);
    assert_eq!(place.ask(json!({"do": "echo"})).unwrap()["asked"], 4, "it goes on");
}

#[test]
fn what_it_says_besides_is_in_the_jobs_log() {
    let place = Place::new(script("child.py"));
    assert_eq!(place.ask(json!({"do": "log"})).unwrap(), "done");
    let said = place.said.lock().unwrap().clone();
    assert_eq!(said.len(), 4, "{said:?}");
    for line in ["one", "on stderr", "two", "three"] {
        assert!(said.contains(&line.to_owned()), "{said:?}");
    }
    assert_eq!(place.ask(json!({"do": "flood"})).unwrap(), "done");
}

#[test]
fn one_that_breaks_the_rules_is_ended_and_its_job_fails() {
    let place = Place::new(PoolConfig { line_bytes: 2_000, ..script("child.py") });
    let mut last = place.pid();
    for (what, words) in [
        ("garbage", "its process said what is no answer: `hello there` (expected value"),
        ("endless", "its process said a line of more than 2000 bytes"),
        ("wrong id", "its process answered a job that it was not given"),
        ("exit", "its process ended: exit status: 3: no such table"),
        ("half a line and exit", "its process said what is no answer: `{\"id\": \"`"),
        ("close", "its process closed its standard output"),
    ] {
        let failure = place.fails(what);
        assert!(failure.starts_with(words), "{what}: {failure}");
        until_gone(&last.to_string());
        let next = place.pid();
        assert_ne!(next, last, "{what}");
        last = next;
    }
    // An answer counts although the process ends with it, or says it once more, which it may not.
    for (what, answer) in [("answer and exit", json!("last words")), ("twice", json!(1))] {
        let before = place.pid();
        assert_eq!(place.ask(json!({"do": what})).unwrap(), answer);
        until_gone(&before.to_string());
    }
}

#[test]
fn a_cancel_ends_the_process_and_all_that_it_started() {
    let place = Place::new(script("child.py"));
    let file = place.folder.path().join("pids");
    let whole = place.folder.path().join("pids.whole");
    place.runtime.block_on(async {
        let working = place.asked("the-job", json!({"do": "fork", "file": file}));
        tokio::pin!(working);
        while !whole.exists() {
            tokio::select! {
                ended = &mut working => panic!("{ended:?}"),
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
        // Dropped here, as a handler is that is told to stop.
    });
    let from = Instant::now();
    for pid in fs::read_to_string(&whole).unwrap().split_whitespace() {
        until_gone(pid);
    }
    assert!(from.elapsed() < Duration::from_secs(1), "{:?}", from.elapsed());
    // It was no fault of its own: the next one need not rest.
    place.pid();
    assert!(from.elapsed() < Duration::from_secs(2), "{:?}", from.elapsed());
    // No newline: no answer, and the same end.
    let late = place.runtime.block_on(async {
        let working = place.asked("the-job", json!({"do": "no newline"}));
        tokio::time::timeout(Duration::from_millis(300), working).await
    });
    assert!(late.is_err());
}

#[test]
fn jobs_go_to_the_process_that_has_least_to_do() {
    let place = Place::new(PoolConfig { size: 2, ..script("child.py") });
    let from = Instant::now();
    let slept = place.runtime.block_on(async {
        let sleep = |id| place.asked(id, json!({"do": "sleep", "seconds": 0.7}));
        tokio::join!(sleep("a"), sleep("b"), sleep("c"), sleep("d"))
    });
    let took = from.elapsed();
    assert!([slept.0, slept.1, slept.2, slept.3].into_iter().all(|end| end.unwrap() == "slept"));
    assert!(took > Duration::from_millis(1_400), "one at a time each: {took:?}");
    // Both are used.
    let pids = place.runtime.block_on(async {
        let sleep = place.asked("a", json!({"do": "sleep", "seconds": 0.3}));
        let echo = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            place.asked("b", json!({"do": "echo"})).await
        };
        tokio::join!(sleep, echo)
    });
    assert!(pids.1.unwrap()["asked"].as_u64().unwrap() >= 3);
}

#[test]
fn with_concurrency_one_process_has_many_jobs() {
    let place = Place::new(PoolConfig { concurrency: 3, ..script("many.py") });
    let answers = place.runtime.block_on(async {
        let ask = |id, value: &str| place.asked(id, value.into());
        tokio::join!(ask("a", "1"), ask("b", "2"), ask("c", "3"))
    });
    let answers = (answers.0.unwrap(), answers.1.unwrap(), answers.2.unwrap());
    assert_eq!(answers, ("1".into(), "2".into(), "3".into()));
    // One that is cancelled takes the others' process with it, and their attempt.
    let other = place.runtime.block_on(async {
        let hangs =
            tokio::time::timeout(Duration::from_millis(300), place.asked("a", "hang".into()));
        tokio::join!(hangs, place.asked("b", "2".into())).1
    });
    let words = other.expect_err("its process is gone").to_string();
    assert_eq!(words, "its process was ended for another job that it had, or by its node");
}

#[test]
fn one_that_never_answers_is_begun_anew_more_and_more_slowly() {
    let place = Place::new(PoolConfig::new(["/bin/false"]));
    let from = Instant::now();
    for _ in 0..4 {
        let words = place.fails("echo");
        assert!(words.starts_with("its process ended"), "{words}");
    }
    // 100, 200 and 400 ms.
    let took = from.elapsed();
    assert!(took > Duration::from_millis(700) && took < Duration::from_secs(5), "{took:?}");
    let missing = Place::new(PoolConfig::new(["/nowhere/program"]));
    let error = missing.ask(json!(1)).expect_err("not there");
    assert!(matches!(error, KindError::Io { doing: "start", .. }), "{error:?}");
}

#[test]
fn at_the_end_processes_are_asked_and_then_told() {
    let mut place = Place::new(PoolConfig { size: 2, ..script("child.py") });
    let file = place.folder.path().join("goodbye");
    let pids = place.runtime.block_on(async {
        let stubborn = place.asked("a", json!({"do": "stubborn"}));
        let goodbye = place.asked("b", json!({"do": "goodbye", "file": file}));
        tokio::join!(stubborn, goodbye)
    });
    let from = Instant::now();
    place.pools = None;
    assert!(from.elapsed() < Duration::from_secs(3), "{:?}", from.elapsed());
    assert!(file.exists(), "it had the time to say goodbye");
    for pid in [pids.0.unwrap(), pids.1.unwrap()] {
        until_gone(&pid.to_string());
    }
}

#[test]
fn what_cannot_be_asked_is_refused_by_name() {
    let place = Place::new(PoolConfig { line_bytes: 1_000, ..script("child.py") });
    let other = ProcessPool { pool: "q\n".to_owned(), payload: None };
    let run = place.pools().run(&other, "x", Arc::new(|_| {}));
    let error = place.runtime.block_on(run).expect_err("it is not there");
    assert_eq!(error.to_string(), "`pool` is `q\\n`, which this node does not have");
    assert!(error.is_permanent());
    let long = place.ask(json!({"do": "x".repeat(1_000)})).expect_err("too long");
    assert!(long.to_string().starts_with("`payload` is too large: ") && long.is_permanent());
    let checked = |config: PoolConfig| config.check().expect_err("it makes no sense");
    let base = || PoolConfig::new(["/bin/cat"]);
    assert_eq!(checked(PoolConfig::new(["cat"])), "argv begins with `cat`; write the whole path");
    assert!(checked(PoolConfig::new([""; 0])).starts_with("argv is empty"));
    assert_eq!(checked(PoolConfig { size: 0, ..base() }), "size is 0, it must be from 1 to 1000");
    let env = [("A=B".to_owned(), String::new())].into();
    assert!(checked(PoolConfig { env, ..base() }).starts_with("env has `A=B`"));
}
