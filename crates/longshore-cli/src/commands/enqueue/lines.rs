//! Many jobs, a JSON object a line: read, checked and enqueued in batches, so that memory does not grow
//! with the input.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressStyle};
use longshore::{Client, EnqueueOutcome, Enqueued, NewJob, OnConflict, StoreError};
use longshore_server::wire::{JobBody, UniqueParts};

use super::{Context, new_job, unique};
use crate::args::EnqueueArgs;
use crate::connect::{open_now, patiently};
use crate::exit::{Exit, Failure};
use crate::print::{data, json};

/// Lines of one call, all or nothing.
const MAX_LINES: usize = 5_000;
/// Bytes of one call.
const MAX_BYTES: usize = 8 << 20;
/// What a line may have beside its payload.
const MORE_BYTES: usize = 256 << 10;

/// What was done so far.
#[derive(Default)]
struct Done {
    added: u64,
    duplicates: u64,
    replaced: u64,
    /// The last line that is in the database, or was passed over.
    line: u64,
}

pub(super) async fn run(
    context: &Context,
    args: &EnqueueArgs,
    file: &str,
) -> Result<Exit, Failure> {
    let (input, size) = open(file)?;
    let longest = context.settings.limits.payload_bytes.saturating_add(MORE_BYTES);
    let mut lines = Lines { input, number: 0, longest, buffer: Vec::new(), bytes: 0 };
    let client = open_now(&context.settings).await?;
    let bar = bar(size);
    let mut done = Done::default();
    let ended = all(&client, args, &mut lines, &mut done, &bar).await;
    bar.finish_and_clear();
    let Done { added, duplicates, replaced, line } = done;
    if let Err(failure) = ended {
        // A line that is wrong is no reason to wonder what became of the others.
        let next = line + 1;
        let so_far = format!("{line} lines are done; go on with --from-line {next}");
        return Err(Failure::new(failure.exit, format!("{}; {so_far}", failure.words)));
    }
    if context.json {
        let counts = serde_json::json!({
            "added": added, "duplicates": duplicates, "replaced": replaced
        });
        json(&counts)?;
    } else if !args.ids {
        data(&format!("{added} added, {duplicates} duplicates, {replaced} replaced"))?;
    }
    Ok(Exit::Ok)
}

async fn all(
    client: &Client,
    args: &EnqueueArgs,
    lines: &mut Lines,
    done: &mut Done,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    loop {
        let (mut jobs, mut numbers, mut bytes) = (Vec::new(), Vec::new(), 0);
        while jobs.len() < MAX_LINES && bytes < MAX_BYTES && lines.next()? {
            if lines.number < args.from_line {
                continue;
            }
            let text = lines.text()?;
            if text.trim().is_empty() {
                continue;
            }
            bytes += text.len();
            jobs.push(job(args, text).map_err(|failure| at(lines.number, failure))?);
            numbers.push(lines.number);
        }
        if jobs.is_empty() {
            done.line = done.line.max(lines.number);
            return Ok(());
        }
        let answers = add(client, jobs).await.map_err(|error| of_its_line(error, &numbers))?;
        for answer in &answers {
            let counted = match answer.outcome {
                EnqueueOutcome::Added => &mut done.added,
                EnqueueOutcome::Duplicate => &mut done.duplicates,
                EnqueueOutcome::Replaced => &mut done.replaced,
            };
            *counted += 1;
            if args.ids {
                data(&answer.id.to_string())?;
            }
        }
        done.line = lines.number;
        bar.set_position(lines.bytes);
        bar.set_message(format!("{} jobs", done.added + done.duplicates + done.replaced));
    }
}

/// One call; when the database is away in the middle of it, the same jobs again, each only once.
async fn add(client: &Client, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>, StoreError> {
    match client.enqueue_many(jobs.clone()).await {
        Err(StoreError::Unavailable { .. }) => {
            let again: Vec<NewJob> = jobs
                .into_iter()
                .map(|job| {
                    let id = job.id();
                    job.with_id(id)
                })
                .collect();
            patiently("enqueue", || client.enqueue_many(again.clone())).await
        }
        answer => answer,
    }
}

/// The error with the number of its line in place of its place in the call.
fn of_its_line(error: StoreError, numbers: &[u64]) -> Failure {
    let (error, index) = error.split_place();
    let failure = Failure::from(error);
    // A call of a single line has no place in it.
    let index = index.or((numbers.len() == 1).then_some(0));
    match index.and_then(|index| numbers.get(index)) {
        Some(number) => at(*number, failure),
        None => failure,
    }
}

fn at(number: u64, failure: Failure) -> Failure {
    Failure::new(failure.exit, format!("line {number}: {}", failure.words))
}

/// The job of a line. What it does not say the options do.
fn job(args: &EnqueueArgs, text: &str) -> Result<NewJob, Failure> {
    let mut line: JobBody = serde_json::from_str(text).map_err(Failure::usage)?;
    let kind = line.kind.take().or_else(|| args.kind.clone());
    let kind = kind.ok_or_else(|| Failure::usage("it names no kind, nor does the command"))?;
    let options = unique(args);
    let holds = line.unique_within.is_some() || line.unique_for_good;
    let unique = UniqueParts {
        key: line.unique_key.take().or(options.key),
        within: if holds { line.unique_within } else { options.within },
        for_good: if holds { line.unique_for_good } else { options.for_good },
        on_conflict: line.on_conflict.map_or(options.on_conflict, OnConflict::from),
    };
    let job = line.onto(new_job(args, kind)?)?;
    Ok(match unique.unique() {
        Some(unique) => job.unique(unique),
        None => job,
    })
}

/// The input, line by line.
struct Lines {
    input: Box<dyn BufRead>,
    number: u64,
    longest: usize,
    buffer: Vec<u8>,
    bytes: u64,
}

impl Lines {
    /// Reads the next line; false at the end.
    fn next(&mut self) -> Result<bool, Failure> {
        self.buffer.clear();
        let most = self.longest as u64 + 1;
        let read = self.input.by_ref().take(most).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| {
            Failure::usage(format!("line {} cannot be read: {error}", self.number + 1))
        })?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.bytes += read as u64;
        if read > self.longest {
            let longest = self.longest;
            let words = format!("it has more than {longest} bytes, which is the limit");
            return Err(at(self.number, Failure::usage(words)));
        }
        Ok(true)
    }

    fn text(&self) -> Result<&str, Failure> {
        std::str::from_utf8(&self.buffer).map_err(|error| {
            let byte = error.valid_up_to();
            at(self.number, Failure::usage(format!("it is not UTF-8: a wrong byte at byte {byte}")))
        })
    }
}

fn open(file: &str) -> Result<(Box<dyn BufRead>, Option<u64>), Failure> {
    if file == "-" {
        return Ok((Box::new(BufReader::new(std::io::stdin())), None));
    }
    let opened = File::open(file);
    let opened =
        opened.map_err(|error| Failure::usage(format!("{file} cannot be read: {error}")))?;
    let size = opened.metadata().ok().map(|metadata| metadata.len());
    Ok((Box::new(BufReader::with_capacity(1 << 16, opened)), size.filter(|size| *size > 0)))
}

fn bar(size: Option<u64>) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, shape) = match size {
        Some(size) => (ProgressBar::new(size), "{wide_bar} {percent} % {msg} {eta}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {msg} {elapsed}"),
    };
    bar.with_style(ProgressStyle::with_template(shape).expect("a shape of ours"))
}
