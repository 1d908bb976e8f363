//! `dev`: a worker on SQLite with nothing set up, and a few demo jobs whose outcome is printed.

use std::time::{Duration, Instant};

use longshore::{Client, JobRow};

use super::http::{Http, Ours};
use super::serve::{add_queue, listen, serve_until_stopped, worker};
use super::{Context, http};
use crate::app::Demo;
use crate::args::DevArgs;
use crate::connect::open_now;
use crate::exit::{Exit, Failure};
use crate::print::{roughly, short, table};

/// The demo jobs' own queue, so that they wait for nobody else's.
const QUEUE: &str = "demo";
const SLOTS: u32 = 4;
/// How long all demo jobs may take together.
const DEMO_LIMIT: Duration = Duration::from_secs(20);

pub(super) async fn run(context: Context, args: DevArgs) -> Result<Exit, Failure> {
    let mut signals = listen()?;
    let client = open_now(&context.settings).await?;
    client.migrate().await?;
    let mut worker = worker(&context, client.clone())?.queue(QUEUE, SLOTS);
    if !args.once {
        worker = context.settings.queues.0.iter().fold(worker, add_queue);
    }
    let working = worker.start()?;
    let demos = (context.app.demos)(&context.settings).map_err(Failure::usage)?;

    let shown = tokio::select! {
        shown = show(&context, &client, demos) => Some(shown?),
        _ = signals.next() => None,
    };
    match shown {
        Some(as_intended) if args.once => {
            working.stop().await;
            client.close().await;
            Ok(if as_intended { Exit::Ok } else { Exit::Failed })
        }
        Some(_) => {
            let api = match args.no_http {
                true => None,
                false => Some(http::start_for_dev(&context, &client).await?),
            };
            tell_how_to_go_on(&context);
            let api = api.map(|(api, ours)| {
                tell_of_the_api(&api, &ours);
                api
            });
            serve_until_stopped(working, api.as_ref(), &mut signals).await;
            if let Some(api) = api {
                api.stop().await;
            }
            client.close().await;
            Ok(Exit::Ok)
        }
        None => {
            working.stop().await;
            Ok(Exit::Ok)
        }
    }
}

/// Runs the demo jobs, prints how each ended, and answers whether all did as they were meant to.
async fn show(context: &Context, client: &Client, demos: Vec<Demo>) -> Result<bool, Failure> {
    if demos.is_empty() {
        return Ok(true);
    }
    let give_up = Instant::now() + DEMO_LIMIT;
    let jobs = demos.iter().map(|demo| demo.job.clone().queue(QUEUE).tag("demo"));
    let added = client.enqueue_many(jobs).await?;
    let (mut rows, mut as_intended) = (Vec::new(), true);
    for (demo, added) in demos.iter().zip(&added) {
        let left = give_up.saturating_duration_since(Instant::now());
        let job = client.wait(added.id, Some(left)).await?;
        let fine = job.state == demo.ends;
        as_intended &= fine;
        rows.push(row(demo, &job, fine));
    }
    if context.json {
        return Ok(as_intended);
    }
    table(["", "KIND", "SHOWS", "STATE", "ATTEMPTS", "TOOK", "RESULT"], rows)?;
    Ok(as_intended)
}

fn row(demo: &Demo, job: &JobRow, fine: bool) -> [String; 7] {
    let took = job.finished_at.map(|at| roughly(at.since(job.created_at)));
    [
        if fine { "✓" } else { "✗" }.to_owned(),
        job.kind.clone(),
        demo.shows.clone(),
        job.state.to_string(),
        format!("{}/{}", job.attempt, job.max_attempts),
        took.unwrap_or_default(),
        result(demo, job),
    ]
}

/// What came out, or what went wrong last.
fn result(demo: &Demo, job: &JobRow) -> String {
    match (&job.output, job.errors.last()) {
        (Some(output), _) => short((demo.tell)(output).as_deref().unwrap_or(output), 60),
        (None, Some(error)) => short(&format!("attempt {}: {}", error.attempt, error.message), 60),
        (None, None) => String::new(),
    }
}

fn tell_how_to_go_on(context: &Context) {
    let (name, settings) = (context.app.name, &context.settings);
    let queues: Vec<&str> = settings.queues.0.iter().map(|(queue, _)| queue.as_str()).collect();
    eprintln!();
    eprintln!(
        "Serving queues {} on {}; Ctrl-C stops.",
        queues.join(", "),
        longshore::store::without_secret(&settings.database)
    );
    eprintln!("From another shell in this folder:");
    eprintln!("  {name} enqueue sleep --payload '{{\"seconds\": 2}}' --wait");
    eprintln!("  {name} jobs list");
}

/// On stderr and by no log line: it is for whoever sits here.
fn tell_of_the_api(api: &Http, ours: &Ours) {
    let Some(address) = api.address else { return };
    let (token, code) = (ours.token.reveal(), ours.code.reveal());
    eprintln!("The API, with a token that this process made and that ends with it:");
    eprintln!("  curl -H 'Authorization: Bearer {token}' http://{address}/api/v1/jobs");
    eprintln!("Its reference, in a browser; the link signs in once, within 10 minutes:");
    eprintln!("  http://{address}/sign-in?code={code}");
}
