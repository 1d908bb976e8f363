//! Jobs written out whole, a page at a time.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use super::super::Context;
use crate::args::ExportArgs;
use crate::door::{Door, Wanted};
use crate::exit::{Exit, Failure};
use crate::print::grouped;

pub(super) async fn run(context: &Context, args: ExportArgs) -> Result<Exit, Failure> {
    let filter = args.which.filter()?;
    let door = Door::existing(context).await?;
    let wanted = Wanted { filter, format: args.format.into(), reveal: args.reveal };
    // Before a file is made for what cannot be had.
    let mut export = door.export(wanted).await?;
    let to: Box<dyn Write + Send> = match &args.output {
        Some(path) => Box::new(create(path)?),
        None => Box::new(std::io::stdout()),
    };
    let mut to = BufWriter::with_capacity(1 << 16, to);
    while let Some(piece) = export.next().await? {
        to.write_all(&piece).map_err(not_written)?;
    }
    to.flush().map_err(not_written)?;
    if args.output.is_some() {
        eprintln!("{} jobs", grouped(export.jobs()));
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
