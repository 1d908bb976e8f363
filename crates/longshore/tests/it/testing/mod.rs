//! The test kit, tested as its users use it; each case on both stores. What it says when a test fails is
//! compared with files in `snapshots/`: the messages are the product. `LONGSHORE_WRITE_SNAPSHOTS=1` writes them anew.

mod assert;
#[cfg(all(feature = "macros", feature = "postgres"))]
mod attribute;
mod drain;
mod faults;
mod inline;
mod perform;
mod store;

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use longshore::testing::{App, TestStore};
use longshore::{Job, JobError, NewJob, Worker};
use serde::{Deserialize, Serialize};

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3_600);

/// The jobs of an application under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendMail {
    pub to: String,
}

impl Job for SendMail {
    const KIND: &'static str = "send_mail";
    type Output = String;
    const ALIASES: &'static [&'static str] = &["mailer"];

    fn options(&self, job: NewJob) -> NewJob {
        job.queue("mail").tag("outgoing").max_attempts(3)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Invite {
    pub friend: u32,
}

impl Job for Invite {
    const KIND: &'static str = "invite";
    type Output = ();
}

pub fn mail(to: &str) -> SendMail {
    SendMail { to: to.to_owned() }
}

pub async fn send(job: SendMail) -> Result<String, JobError> {
    match job.to.as_str() {
        "nobody" => Err(JobError::dead("no such mailbox")),
        "busy" => Err(JobError::new("the server is busy")),
        "later" => Err(JobError::snooze(5 * MINUTE)),
        "no" => Err(JobError::cancelled("they do not want it")),
        to => Ok(format!("sent to {to}")),
    }
}

pub async fn invite(_: Invite) {}

/// A worker that serves every queue.
pub fn app(store: &TestStore) -> App {
    Worker::new(store.client()).job(send).job(invite).into()
}

/// Each case, stamped for both stores.
macro_rules! on_both {
    ($($case:ident,)*) => {
        mod sqlite {
            $(#[test]
            fn $case() {
                longshore::testing::run(longshore::testing::On::Sqlite, super::$case)
            })*
        }

        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[test]
            fn $case() {
                longshore::testing::run(longshore::testing::On::Postgres, super::$case)
            })*
        }
    };
}
use on_both;

/// What it says when it fails.
pub async fn failure<F: IntoFuture>(failing: F) -> String {
    let panic = AssertUnwindSafe(failing.into_future()).catch_unwind().await;
    match panic.map(drop) {
        Ok(()) => panic!("it should have failed"),
        Err(panic) => text(panic),
    }
}

pub fn text(panic: Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast::<String>().map(|text| *text);
    text.or_else(|panic| panic.downcast::<&str>().map(|text| text.to_string())).expect("a text")
}

/// Holds a message against its file. Numbers of lines are left out of it.
pub fn assert_shows(name: &str, message: &str) {
    let message = format!("{}\n", without_lines(message).trim_end());
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/testing/snapshots")
        .join(format!("{name}.txt"));
    if std::env::var_os("LONGSHORE_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &message).expect("the snapshot is written");
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        message,
        wanted,
        "{name} reads\n\n{message}\nbut in {} it is\n\n{wanted}",
        file.display()
    );
}

fn without_lines(message: &str) -> String {
    let mut parts = message.split(".rs:");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += ".rs:N";
        text += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text
}
