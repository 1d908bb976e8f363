//! Opens the database: at once for a command, with patience for a server.

use std::future::Future;
use std::time::{Duration, Instant};

use longshore::{Client, StoreError, StoreOptions};

use crate::exit::{Failure, with_causes};
use crate::settings::Settings;

/// The longest pause between two tries: work resumes at most this long after the database does.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const SAY_EVERY: Duration = Duration::from_secs(30);

pub(crate) async fn open(settings: &Settings) -> Result<Client, StoreError> {
    Client::open_with(&settings.database, settings.store.options(), settings.limits()).await
}

/// Opens the database for one command.
pub(crate) async fn open_now(settings: &Settings) -> Result<Client, Failure> {
    Ok(open(settings).await?)
}

/// Opens the database for a command that only looks at or edits what is there: no file is made.
pub(crate) async fn open_existing(settings: &Settings) -> Result<Client, Failure> {
    let options = StoreOptions { create: false, ..settings.store.options() };
    Ok(Client::open_with(&settings.database, options, settings.limits()).await?)
}

/// What went wrong, for whoever may try again.
pub(crate) trait MayPass {
    /// Whether the same call may succeed later without anybody doing anything.
    fn passes(&self) -> bool;
    /// What it is, in a sentence.
    fn sentence(&self) -> String;
}

impl MayPass for StoreError {
    fn passes(&self) -> bool {
        self.is_unavailable()
    }

    fn sentence(&self) -> String {
        with_causes(self)
    }
}

impl MayPass for Failure {
    fn passes(&self) -> bool {
        self.passes
    }

    fn sentence(&self) -> String {
        self.words.clone()
    }
}

/// Calls until the database, or the server, answers; other errors end it at once.
pub(crate) async fn patiently<T, E, F>(doing: &str, mut call: impl FnMut() -> F) -> Result<T, E>
where
    E: MayPass,
    F: Future<Output = Result<T, E>>,
{
    let (mut pause, mut said) = (FIRST_PAUSE, None::<Instant>);
    loop {
        match call().await {
            Err(error) if error.passes() => {
                if said.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
                    tracing::warn!("could not {doing}: {}; trying again", error.sentence());
                    said = Some(Instant::now());
                }
                // Jitter, so that many nodes do not come back at once.
                tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            answer => {
                if said.is_some() {
                    tracing::info!("the database answers");
                }
                return answer;
            }
        }
    }
}
