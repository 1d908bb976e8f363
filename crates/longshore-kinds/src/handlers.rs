//! Each kind as a handler of a worker.

use std::collections::BTreeMap;
use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use longshore::{JobError, Outcome, Run, StopReason, Worker};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::demo::{Fail, Sleep};
use crate::error::KindError;
use crate::exec::{ExecConfig, ExecFor, execute};
use crate::files::FilesRoot;
use crate::http::{Allowed, Http};
use crate::http_request::HttpRequest;
use crate::payload::{misfit, no_list, schemas};
use crate::process_pool::{PoolConfig, Pools};
use crate::resize_image::{ImageLimits, ResizeImage, resize_from};
use crate::send_email::Mailer;
use crate::summary::{Endpoint, summarize, summarize_by};
use crate::webhook::{Message, WebhookDelivery};

/// A shorter sleep says nothing, and a longer one no more often.
const SILENT: Duration = Duration::from_secs(1);

/// What the built-in kinds may do.
#[derive(Clone, Debug)]
pub struct KindsConfig {
    /// The folder whose files jobs may read and write.
    pub files_root: PathBuf,
    /// What one `resize_image` job may use.
    pub image_limits: ImageLimits,
    /// What `exec` jobs may do.
    pub exec: ExecConfig,
    /// Where requests may go beyond the public internet. Default: nowhere.
    pub http_allow: Vec<Allowed>,
    /// Programs that are kept running, by their names. Empty: `process_pool` jobs wait for a node that has some.
    pub pools: BTreeMap<String, PoolConfig>,
    /// The model that writes the summaries of `summarize_text` jobs. `None`: they are made of the text's own sentences.
    pub summaries: Option<Endpoint>,
    /// Who takes the mails of `send_email` jobs. `None`: such jobs wait for a node that has somebody.
    pub mailer: Option<Mailer>,
}

/// Adds every built-in kind to a worker.
///
/// # Errors
/// If the folder for files cannot be opened.
pub fn register(worker: Worker, config: &KindsConfig) -> io::Result<Worker> {
    let root = Arc::new(FilesRoot::open(&config.files_root)?);
    let (limits, may) = (config.image_limits, config.exec.clone());
    let folder = Arc::clone(&root);
    let http = Http::new(config.http_allow.clone());
    let (web, fetcher) = (http.clone(), http.clone());
    let worker = if config.pools.is_empty() {
        worker
    } else {
        let pools = Arc::new(Pools::new(&config.pools, &root, &config.exec.secrets));
        worker.handle("process_pool", move |run: Run| process_pool(run, Arc::clone(&pools)))
    };
    let worker = match config.mailer.clone() {
        Some(mailer) => {
            worker.handle("send_email", move |run: Run| send_email(run, mailer.clone()))
        }
        None => worker,
    };
    let worker = match config.summaries.clone() {
        Some(endpoint) => {
            worker.handle("summarize_text", move |run: Run| summarize_text(run, endpoint.clone()))
        }
        None => worker.handle_blocking("summarize_text", |run: Run| blocking(&run, summarize)),
    };
    let worker =
        schemas().into_iter().fold(worker, |worker, (kind, schema)| worker.schema(kind, schema));
    Ok(worker
        .handle("noop", |_: Run| async {})
        .handle("sleep", sleep)
        .handle("fail", |run: Run| async move { fail(&run) })
        .handle("http_request", move |run: Run| http_request(run, http.clone()))
        .handle("webhook_delivery", move |run: Run| webhook_delivery(run, web.clone()))
        .handle("resize_image", move |run: Run| {
            resize_image(run, fetcher.clone(), Arc::clone(&root), limits)
        })
        .handle_blocking("exec", move |run: Run| {
            let of = ExecFor { job: run.id().to_string(), attempt: run.attempt() };
            blocking(&run, |job, stopped| execute(job, (&folder, &may), &of, stopped))
        }))
}

async fn sleep(run: Run) -> Outcome {
    let span = match decode::<Sleep>(&run) {
        Ok(sleep) => match sleep.duration() {
            Ok(span) => span,
            Err(error) => return failed(error),
        },
        Err(dead) => return dead,
    };
    tokio::select! {
        () = rest(&run, span) => Outcome::Done(None),
        reason = run.stopped() => stopped(reason),
    }
}

/// Sleeps, and says how far it is if that takes a while.
async fn rest(run: &Run, span: Duration) {
    if span < SILENT {
        return tokio::time::sleep(span).await;
    }
    run.log().info(format!("asleep for {span:?}"));
    let (began, progress) = (Instant::now(), run.progress());
    let mut slept = Duration::ZERO;
    while slept < span {
        let left = span - slept;
        progress
            .set(slept.as_secs_f64() / span.as_secs_f64(), format!("{} s left", left.as_secs()));
        tokio::time::sleep(left.min(SILENT)).await;
        slept = began.elapsed();
    }
    progress.set(1.0, "awake");
}

fn fail(run: &Run) -> Outcome {
    // No payload at all is `null`, and means what `{}` does.
    let fail = match decode::<Option<Fail>>(run) {
        Ok(fail) => fail.unwrap_or_default(),
        Err(dead) => return dead,
    };
    match fail {
        Fail { times: Some(times), .. } if run.attempt() > times => Outcome::Done(None),
        Fail { panic: true, message, .. } => panic!("{message}"),
        Fail { dead: true, message, .. } => Outcome::Dead(JobError::new(message)),
        Fail { message, .. } => Outcome::Failed(JobError::new(message)),
    }
}

async fn http_request(run: Run, http: Http) -> Outcome {
    waiting(&run, async |job: HttpRequest| job.ask(&http).await).await
}

async fn webhook_delivery(run: Run, http: Http) -> Outcome {
    let id = run.id().to_string();
    let message = Message { id: &id, now: SystemTime::now() };
    waiting(&run, async |job: WebhookDelivery| job.deliver(&http, &message).await).await
}

async fn resize_image(run: Run, http: Http, root: Arc<FilesRoot>, limits: ImageLimits) -> Outcome {
    let job = match decode::<ResizeImage>(&run) {
        Ok(job) => job,
        Err(dead) => return dead,
    };
    let fetched = tokio::select! {
        fetched = job.fetch(&http, &limits) => match fetched {
            Ok(fetched) => fetched,
            Err(error) => return failed(error),
        },
        reason = run.stopped() => return stopped(reason),
    };
    let work = move || {
        let is_to_stop = || run.stop_reason().is_some();
        ended(&run, resize_from(&job, fetched, (&root, &limits), &is_to_stop))
    };
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panic| resume_unwind(panic.into_panic()))
}

async fn send_email(run: Run, mailer: Mailer) -> Outcome {
    let id = run.id().to_string();
    waiting(&run, async |job| mailer.send(&job, &id).await).await
}

async fn summarize_text(run: Run, endpoint: Endpoint) -> Outcome {
    let is_last = run.attempt() >= run.max_attempts();
    waiting(&run, async |job| summarize_by(&endpoint, job, is_last).await).await
}

async fn process_pool(run: Run, pools: Arc<Pools>) -> Outcome {
    let (id, log) = (run.id().to_string(), run.log());
    waiting(&run, async |job| pools.run(&job, &id, Arc::new(move |line| log.info(line))).await)
        .await
}

/// A job whose work waits for others, and is dropped when the job is to stop.
async fn waiting<T: DeserializeOwned, A: Serialize>(
    run: &Run,
    work: impl AsyncFnOnce(T) -> Result<A, KindError>,
) -> Outcome {
    let job = match decode::<T>(run) {
        Ok(job) => job,
        Err(dead) => return dead,
    };
    tokio::select! {
        answer = work(job) => match answer {
            Ok(answer) => Outcome::done_with(&answer),
            Err(error) => failed(error),
        },
        reason = run.stopped() => stopped(reason),
    }
}

/// A job whose work blocks, and asks meanwhile whether to stop.
fn blocking<T: DeserializeOwned, A: Serialize>(
    run: &Run,
    work: impl FnOnce(&T, &dyn Fn() -> bool) -> Result<A, KindError>,
) -> Outcome {
    let job = match decode::<T>(run) {
        Ok(job) => job,
        Err(dead) => return dead,
    };
    ended(run, work(&job, &|| run.stop_reason().is_some()))
}

fn ended<A: Serialize>(run: &Run, work: Result<A, KindError>) -> Outcome {
    match work {
        Ok(answer) => Outcome::done_with(&answer),
        Err(KindError::Cancelled) => stopped(run.stop_reason().unwrap_or(StopReason::Shutdown)),
        Err(error) => failed(error),
    }
}

/// The payload, or the outcome of one that does not fit, which says where: the library's words, which hide what is redacted,
/// know the place only by line and column.
fn decode<T: DeserializeOwned>(run: &Run) -> Result<T, Outcome> {
    no_list(run.payload()).map_err(Outcome::dead)?;
    run.decode_or_dead().map_err(|dead| match (dead, misfit::<T>(run.payload())) {
        (Outcome::Dead(error), Some((field, _))) => {
            Outcome::Dead(JobError::new(format!("`{field}`: {}", error.message())))
        }
        (dead, _) => dead,
    })
}

/// Another attempt, or none if it would fail in the same way.
fn failed(error: KindError) -> Outcome {
    match error {
        KindError::ComeLater { wait, .. } => Outcome::Throttled(wait),
        error if error.is_permanent() => Outcome::dead(error),
        error => Outcome::Failed(error.into()),
    }
}

/// What a handler answers that heeded a stop; the runtime knows the reason and does what is right.
fn stopped(reason: StopReason) -> Outcome {
    Outcome::Failed(JobError::new(match reason {
        StopReason::Cancelled => "stopped: the job was cancelled",
        StopReason::Timeout => "stopped: it ran longer than it may",
        StopReason::Shutdown => "stopped: the node shuts down",
        StopReason::LeaseLost => "stopped: the lease is lost",
    }))
}
