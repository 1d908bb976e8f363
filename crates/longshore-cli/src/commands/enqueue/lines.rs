//! Many jobs, a JSON object a line: read, checked and enqueued in batches, so that memory does not grow
//! with the input.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressStyle};
use longshore_server::wire::JobBody;

use super::{Context, options};
use crate::args::EnqueueArgs;
use crate::door::{Door, Ready};
use crate::exit::{Exit, Failure};
use crate::print::{data, json};

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
    let door = Door::open(context).await?;
    let bar = bar(size);
    let mut done = Done::default();
    let ended = all(&door, args, &mut lines, &mut done, &bar).await;
    bar.finish_and_clear();
    let Done { added, duplicates, replaced, line } = done;
    if let Err(failure) = ended {
        // A line that is wrong is no reason to wonder what became of the others.
        let next = line + 1;
        let so_far = format!("{line} lines are done; go on with --from-line {next}");
        return Err(Failure { words: format!("{}; {so_far}", failure.words), ..failure });
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
    door: &Door,
    args: &EnqueueArgs,
    lines: &mut Lines,
    done: &mut Done,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let (most, options) = (door.most(), options(args));
    loop {
        let (mut jobs, mut numbers, mut bytes) = (Vec::new(), Vec::new(), 0);
        while jobs.len() < most.jobs && bytes < most.bytes && lines.next()? {
            if lines.number < args.from_line {
                continue;
            }
            let text = lines.text()?;
            if text.trim().is_empty() {
                continue;
            }
            bytes += text.len();
            jobs.push(job(door, &options, text).map_err(|failure| at(lines.number, failure))?);
            numbers.push(lines.number);
        }
        if jobs.is_empty() {
            done.line = done.line.max(lines.number);
            return Ok(());
        }
        let answers =
            door.enqueue_many(jobs).await.map_err(|failure| of_its_line(failure, &numbers))?;
        for answer in &answers {
            let counted = match (answer.duplicate, answer.replaced) {
                (_, true) => &mut done.replaced,
                (true, false) => &mut done.duplicates,
                (false, false) => &mut done.added,
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

/// The failure with the number of its line, if one is to blame.
fn of_its_line(failure: Failure, numbers: &[u64]) -> Failure {
    let (only_one, may_be_its) = (numbers.len() == 1, failure.exit != Exit::Denied);
    // A call of a single line has no place in it.
    let index = failure.index.or((only_one && may_be_its).then_some(0));
    match index.and_then(|index| numbers.get(index)) {
        Some(number) => at(*number, failure),
        None => failure,
    }
}

fn at(number: u64, failure: Failure) -> Failure {
    Failure { words: format!("line {number}: {}", failure.words), ..failure }
}

/// The job of a line. What it does not say the options do.
fn job(door: &Door, options: &JobBody<'_>, text: &str) -> Result<Ready, Failure> {
    let line: JobBody = serde_json::from_str(text).map_err(Failure::usage)?;
    if line.kind.is_none() && options.kind.is_none() {
        return Err(Failure::usage("it names no kind, nor does the command"));
    }
    door.ready(over(options, line), None)
}

/// The options with all that a line says put over them.
fn over<'a>(options: &JobBody<'a>, line: JobBody<'a>) -> JobBody<'a> {
    let JobBody { kind, queue, redacted, tags, unique_key, .. } = options.clone();
    let own_time = line.run_at.is_some() || line.run_in.is_some();
    let own_hold = line.unique_within.is_some() || line.unique_for_good;
    let run_at = if own_time { line.run_at } else { options.run_at };
    JobBody {
        kind: line.kind.or(kind),
        payload: line.payload,
        payload_version: line.payload_version.or(options.payload_version),
        redacted: redacted.into_iter().chain(line.redacted).collect(),
        queue: line.queue.or(queue),
        priority: line.priority.or(options.priority),
        run_at,
        // A time is more than a span.
        run_in: match run_at {
            Some(_) => None,
            None if own_time => line.run_in,
            None => options.run_in,
        },
        max_attempts: line.max_attempts.or(options.max_attempts),
        timeout: line.timeout.or(options.timeout),
        retain: line.retain.or(options.retain),
        backoff: line.backoff.or_else(|| options.backoff.clone()),
        tags: tags.into_iter().chain(line.tags).collect(),
        meta: line.meta,
        id: line.id,
        unique_key: line.unique_key.or(unique_key),
        unique_within: if own_hold { line.unique_within } else { options.unique_within },
        unique_for_good: if own_hold { line.unique_for_good } else { options.unique_for_good },
        on_conflict: line.on_conflict.or(options.on_conflict),
    }
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
