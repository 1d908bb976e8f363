//! Jobs written out whole, a page at a time.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use longshore::{JobRow, Timestamp};

use super::super::Context;
use crate::args::{ExportArgs, ExportFormat};
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{grouped, json_line};
use crate::view::JobView;

pub(super) async fn run(context: &Context, args: ExportArgs) -> Result<Exit, Failure> {
    let filter = args.which.filter()?;
    let client = open_existing(&context.settings).await?;
    let to: Box<dyn Write + Send> = match &args.output {
        Some(path) => Box::new(create(path)?),
        None => Box::new(std::io::stdout()),
    };
    let mut to = BufWriter::with_capacity(1 << 16, to);
    let mut number = 0;
    if args.format == ExportFormat::Csv {
        to.write_all(row(COLUMNS)?.as_slice()).map_err(not_written)?;
    }
    let mut export = client.export(filter);
    if args.reveal {
        export = export.reveal();
    }
    while let Some(jobs) = export.next().await? {
        for job in &jobs {
            let line = match args.format {
                ExportFormat::Csv => row(cells(job)?)?,
                ExportFormat::Jsonl => (json_line(&JobView::new(job))? + "\n").into_bytes(),
            };
            to.write_all(&line).map_err(not_written)?;
        }
        number += jobs.len() as u64;
    }
    to.flush().map_err(not_written)?;
    if args.output.is_some() {
        eprintln!("{} jobs", grouped(number));
    }
    Ok(Exit::Ok)
}

/// A new file, for its owner only: payloads are nobody else's business.
fn create(path: &Path) -> Result<File, Failure> {
    let mut open = OpenOptions::new();
    open.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    open.open(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn not_written(error: std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::reader_gone(),
        _ => Failure::failed(format!("could not write: {error}")),
    }
}

const COLUMNS: [&str; 22] = [
    "id",
    "kind",
    "queue",
    "priority",
    "state",
    "attempt",
    "max_attempts",
    "created_at",
    "run_at",
    "leased_at",
    "finished_at",
    "node",
    "tags",
    "meta",
    "payload",
    "output",
    "errors",
    "cancelled_by",
    "cancel_reason",
    "timeout_ms",
    "payload_version",
    "redacted",
];

/// Lists and objects as JSON; what is not there is empty.
fn cells(job: &JobRow) -> Result<[String; 22], Failure> {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let list =
        |empty: bool, list: Result<String, Failure>| if empty { Ok(String::new()) } else { list };
    let cancel = job.cancel.as_ref();
    Ok([
        job.id.to_string(),
        job.kind.clone(),
        job.queue.clone(),
        job.priority.to_string(),
        job.state.to_string(),
        job.attempt.to_string(),
        job.max_attempts.to_string(),
        job.created_at.to_string(),
        time(job.run_at),
        time(job.leased_at),
        time(job.finished_at),
        job.node.map(|node| node.to_string()).unwrap_or_default(),
        list(job.tags.is_empty(), json_line(&job.tags))?,
        text(job.meta.as_deref()),
        job.payload.to_string(),
        text(job.output.as_deref()),
        list(job.errors.is_empty(), json_line(&job.errors))?,
        text(cancel.and_then(|cancel| cancel.by.as_deref())),
        text(cancel.and_then(|cancel| cancel.why.as_deref())),
        job.timeout.map(|span| span.as_millis().to_string()).unwrap_or_default(),
        job.payload_version.to_string(),
        list(job.redacted.is_empty(), json_line(&job.redacted))?,
    ])
}

/// One row, quoted where it must be. A cell is the stored text, whatever it begins with: a changed one
/// could not be read back.
fn row<T: AsRef<[u8]>>(cells: [T; 22]) -> Result<Vec<u8>, Failure> {
    let mut row = csv::Writer::from_writer(Vec::new());
    row.write_record(cells).map_err(|error| Failure::failed(error.to_string()))?;
    row.into_inner().map_err(|error| Failure::failed(error.to_string()))
}
