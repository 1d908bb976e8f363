//! Jobs written out whole, a page at a time.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use longshore_server::wire::ExportFormat;

use super::super::Context;
use crate::args::ExportArgs;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::grouped;

pub(super) async fn run(context: &Context, args: ExportArgs) -> Result<Exit, Failure> {
    let filter = args.which.filter()?;
    let client = open_existing(&context.settings).await?;
    let to: Box<dyn Write + Send> = match &args.output {
        Some(path) => Box::new(create(path)?),
        None => Box::new(std::io::stdout()),
    };
    let mut to = BufWriter::with_capacity(1 << 16, to);
    let mut number = 0;
    let format: ExportFormat = args.format.into();
    to.write_all(&format.head()).map_err(not_written)?;
    let mut export = client.export(filter);
    if args.reveal {
        export = export.reveal();
    }
    while let Some(jobs) = export.next().await? {
        for job in &jobs {
            to.write_all(&format.line(job)).map_err(not_written)?;
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
