//! The SQL door from Python: psycopg 3, its transactions and its types.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use longshore::{Client, JobId, JobRow, NewJob, OnConflict, Unique};

use crate::server::{Server, with_server};

/// A Python that has it; `scripts/setup-tests` puts it there.
fn python() -> Option<PathBuf> {
    let tools = root().join("target/tools");
    let all = std::fs::read_dir(tools).ok()?.map_while(Result::ok);
    let is_it = |path: &PathBuf| path.to_string_lossy().contains("psycopg[binary]-");
    let here = all.map(|entry| entry.path()).find(is_it)?;
    Some(here.join("bin/python")).filter(|_| here.join("installed").exists())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root")
}

#[test]
fn python_enqueues_through_the_door() {
    let Some(python) = python() else {
        assert!(std::env::var("CI").is_err(), "psycopg is missing: run scripts/setup-tests");
        return println!("left out: psycopg (run scripts/setup-tests)");
    };
    with_server(async |server: &Server| {
        let folder = std::env::temp_dir().join(format!("longshore-{}", uuid::Uuid::now_v7()));
        std::fs::write(&folder, words(&server.client).await).expect("a file");
        server.execute("DROP TABLE orders").await; // the guide makes its own
        let said = Command::new(python)
            .arg(root().join("crates/longshore-doors/tests/it/psycopg/door.py"))
            .env("DATABASE_URL", &server.url)
            .env("GUIDE", root().join("docs/guide/sql-door.md"))
            .env("WORDS", &folder)
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let _ = std::fs::remove_file(folder);
        let (out, err) = (text(&said.stdout), text(&said.stderr));
        assert!(said.status.success(), "{out}{err}");
        for (name, ours) in compared() {
            let (_, id) = out
                .lines()
                .filter_map(|line| line.split_once(' '))
                .find(|(said, _)| *said == name)
                .unwrap_or_else(|| panic!("{name}: {out}"));
            let id: JobId = id.parse().expect("an id");
            let theirs = server.client.get(id).await.expect("their job");
            assert_eq!(shown(&theirs), shown(&ours_in_memory(ours).await), "{name}");
        }
    });
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the script enqueues, said in Rust.
fn compared() -> Vec<(&'static str, NewJob)> {
    let job = || NewJob::new("send_receipt");
    let due = "2040-01-02T03:04:05.678901Z".parse().expect("a time");
    let hour = Duration::from_secs(3_600);
    let key = Unique::key("order-7").within(hour).on_conflict(OnConflict::Replace);
    let all = job()
        .payload("{ \"order\" : 12345678901234567890 }")
        .queue("mail")
        .priority(2)
        .run_at(due)
        .unique(key)
        .max_attempts(3)
        .tag("a")
        .tag("b")
        .meta(r#"{"from": "python"}"#)
        .timeout(Duration::from_millis(1_500))
        .retain(72 * hour)
        .payload_version(7)
        .redact("secret");
    let none = job().payload(r#"{"order": 7}"#).no_timeout().unique(Unique::key("k").for_good());
    vec![("all", all), ("none", none), ("least", job())]
}

async fn ours_in_memory(job: NewJob) -> JobRow {
    let client = in_memory().await;
    let id = client.enqueue(job).await.expect("a job").id;
    let row = client.get(id).await.expect("the job");
    client.close().await;
    row
}

/// All that an enqueue decides, but for its own id and time.
fn shown(job: &JobRow) -> String {
    let due_later = job.run_at.filter(|at| *at > job.created_at);
    format!(
        "{} {} {} {} {:?} {due_later:?} {} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?}",
        job.kind,
        job.queue,
        job.priority,
        job.payload,
        job.state,
        job.max_attempts,
        job.backoff,
        job.timeout,
        job.retain,
        job.unique_key,
        job.tags,
        job.meta,
        job.payload_version,
        job.redacted,
    )
}

async fn in_memory() -> Client {
    let client = Client::open("sqlite::memory:").await.expect("a client");
    client.migrate().await.expect("its schema");
    client
}

/// What the library says of what the script is refused.
async fn words(client: &Client) -> String {
    let job = || NewJob::new("k");
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let cases = [
        ("no name", NewJob::new("")),
        ("a long name", NewJob::new("x".repeat(256))),
        ("a character that hides", NewJob::new("a\u{200b}")),
        ("a queue", job().queue("..")),
        ("a priority", job().priority(10)),
        ("attempts", job().max_attempts(0)),
        ("a tag", job().tag(".")),
        ("many tags", (0..65).fold(job(), |job, n| job.tag(n.to_string()))),
        ("notes", job().meta("[]")),
        ("half a surrogate", job().payload(r#""\ud800""#)),
        ("too deep", job().payload(format!("{}{}", "[".repeat(129), "]".repeat(129)))),
        ("too large", job().payload(format!("\"{}\"", "x".repeat(1 << 20)))),
        ("a version", job().payload_version(0)),
        ("a long timeout", job().timeout(days(36_601))),
        ("a window", job().unique(Unique::key("x").within(Duration::ZERO))),
    ];
    let mut lines = String::new();
    for (name, job) in cases {
        let error = client.enqueue(job).await.expect_err(name);
        writeln!(lines, "{name}\t{error}").expect("a text grows");
    }
    let ours = in_memory().await;
    let held = || {
        let key = Unique::key("x").on_conflict(OnConflict::Refuse);
        NewJob::new("held").unique(key)
    };
    let holder = ours.enqueue(held()).await.expect("a job").id;
    let error = ours.enqueue(held()).await.expect_err("the key is held").to_string();
    writeln!(lines, "held\t{}", error.replace(&holder.to_string(), "HOLDER")).expect("it grows");
    ours.close().await;
    lines
}
