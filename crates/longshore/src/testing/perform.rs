//! One job, run at once.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::time::Duration;

use super::{App, Checked, Ended, Kit, step};
use crate::handler::{BlockingHandler, Handler, Takes};
use crate::job::name::shown;
use crate::job::new::Due;
use crate::job::{AttemptError, Job, JobRow, Limits, NewJob};
use crate::store::{LogQuery, LogRow, MAX_LOG_PAGE, ProgressRow, Repeat};
use crate::worker::Worker;

/// Runs one job. It starts when it is awaited; before that it has to be said what runs it: [`Perform::handler`] or
/// [`Perform::by`].
#[must_use = "nothing is run until it is awaited"]
pub struct Perform<J> {
    kit: Kit,
    job: NewJob,
    worker: Worker,
    handled: bool,
    app: Option<App>,
    attempt: u32,
    of: PhantomData<fn() -> J>,
}

/// How one job went. It prints as a person would say it.
#[non_exhaustive]
pub struct Performed<O> {
    /// How the run ended.
    pub outcome: Ended,
    /// What the handler answered, read back from the database; `None` if it did not end well.
    pub output: Option<O>,
    /// What went wrong, if the attempt failed.
    pub error: Option<AttemptError>,
    /// The job's row as it was after the run.
    pub row: JobRow,
    /// How far the job said last that it is.
    pub progress: Option<ProgressRow>,
    /// What the run logged; the newest lines if there are very many.
    pub logs: Vec<LogRow>,
}

impl<J: Job> Perform<J> {
    pub(super) fn new(kit: Kit, job: J) -> Perform<J> {
        let worker = Worker::new(kit.client.clone());
        let job = job.new_job();
        Perform { kit, job, worker, handled: false, app: None, attempt: 1, of: PhantomData }
    }

    /// Runs it with this handler.
    pub fn handler<Args, H: Takes<J, Args> + Handler<J, Args>>(mut self, handler: H) -> Perform<J> {
        self.worker = self.worker.job(handler);
        self.handled = true;
        self
    }

    /// Runs it with this handler, which may block.
    pub fn handler_blocking<Args, H: Takes<J, Args> + BlockingHandler<J, Args>>(
        mut self,
        handler: H,
    ) -> Perform<J> {
        self.worker = self.worker.job_blocking(handler);
        self.handled = true;
        self
    }

    /// A value that the handler takes as [`crate::extract::State`].
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Perform<J> {
        self.worker = self.worker.state(value);
        self
    }

    /// Runs it as this worker would, with its layers and values.
    pub fn by(mut self, app: impl Into<App>) -> Perform<J> {
        self.app = Some(app.into());
        self
    }

    /// As this attempt, from 1; those before it have failed. Default 1.
    pub fn attempt(mut self, attempt: u32) -> Perform<J> {
        self.attempt = attempt;
        self
    }

    /// Enqueued otherwise than its type says: with notes, a timeout, fewer attempts. When it is due and whether it is
    /// unique makes no difference.
    pub fn options(mut self, options: impl FnOnce(NewJob) -> NewJob) -> Perform<J> {
        self.job = options(self.job);
        self
    }

    async fn run(self) -> Result<Performed<J::Output>, String> {
        let Perform { kit, mut job, attempt, .. } = self;
        let app = match (self.app, self.handled) {
            (Some(app), false) => app,
            (None, true) => self.worker.into(),
            (None, false) => {
                return Err("say what runs it: `.handler(f)`, or `.by(&app)`".to_owned());
            }
            (Some(_), true) => {
                return Err("`.handler(f)` and `.by(app)` cannot both run it".to_owned());
            }
        };
        let hands = app.hands(&kit.client)?;
        if attempt == 0 || attempt > job.max_attempts {
            return Err(format!(
                "attempt {attempt} never comes: attempts count from 1, and the job may have {}",
                job.max_attempts
            ));
        }
        job.due = Due::Now;
        job.unique = None;
        // Kept at least until it was looked at.
        job.retain = job.retain.map(|span| span.max(Duration::from_secs(3_600)));
        job.check(&Limits::default()).map_err(|invalid| invalid.to_string())?;

        let id = job.id;
        kit.call(move |store| async move { store.enqueue(&[job], Repeat::No).await }).await?;
        let queued = get(&kit, id).await?;
        if !hands.knows(&queued) {
            kit.call(move |store| async move { store.delete(id).await }).await?;
            let (kind, version) = (shown(&queued.kind), queued.payload_version);
            return Err(format!("the worker has no handler for kind `{kind}`, version {version}"));
        }
        step::fail_until(&kit, &hands, &queued, attempt).await?;
        let ran = step::run_exactly(&kit, &hands, &queued).await?;
        let row = get(&kit, id).await?;
        let progress = kit.call(move |store| async move { store.progress(id).await }).await?;
        let query = LogQuery { attempt: Some(attempt), limit: MAX_LOG_PAGE, ..LogQuery::default() };
        let log = kit.call(move |store| async move { store.log(id, &query).await }).await?;
        if ran.ended != Ended::Crashed {
            kit.call(move |store| async move { store.delete(id).await }).await?;
        }
        let output = match ran.ended {
            Ended::Succeeded => Some(read(&row)?),
            _ => None,
        };
        let failed = matches!(ran.ended, Ended::Retry { .. } | Ended::Dead);
        let error = row.errors.last().filter(|_| failed).cloned();
        let (row, logs) = (row.for_people(), log.lines);
        Ok(Performed { outcome: ran.ended, output, error, row, progress, logs })
    }
}

async fn get(kit: &Kit, id: crate::job::JobId) -> Result<JobRow, String> {
    let row = kit.call(move |store| async move { store.get(id).await }).await?;
    row.ok_or_else(|| format!("job {id} is gone: did its handler remove it?"))
}

fn read<O: serde::de::DeserializeOwned>(row: &JobRow) -> Result<O, String> {
    // Nothing is kept of `()`.
    let text = row.output.as_deref().unwrap_or("null");
    serde_json::from_str(text).map_err(|error| {
        let name = std::any::type_name::<O>();
        format!("the output that was kept cannot be read as `{name}`: {error}\n  {}", shown(text))
    })
}

impl<J: Job> IntoFuture for Perform<J> {
    type Output = Performed<J::Output>;
    type IntoFuture = Checked<'static, Performed<J::Output>>;

    fn into_future(self) -> Self::IntoFuture {
        Checked::new(self.run())
    }
}

impl<O> fmt::Debug for Performed<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JobRow { kind, attempt, max_attempts, output, .. } = &self.row;
        write!(f, "`{}`, attempt {attempt} of {max_attempts}: {}", shown(kind), self.outcome)?;
        if let Some(output) = output {
            write!(f, "\n  output: {}", shown(output))?;
        }
        if let Some(error) = &self.error {
            write!(f, "\n  {}: {}", error.kind.as_str(), shown(&error.message))?;
            for cause in &error.chain {
                write!(f, "\n    caused by: {}", shown(cause))?;
            }
        }
        Ok(())
    }
}

impl<O> Performed<O> {
    /// How long its job waits until it runs again; `None` if it does not.
    pub fn again_in(&self) -> Option<Duration> {
        match self.outcome {
            Ended::Retry { after } | Ended::Snoozed { after } | Ended::Throttled { after } => {
                Some(after)
            }
            _ => None,
        }
    }
}
