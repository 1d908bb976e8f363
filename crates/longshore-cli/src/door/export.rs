//! Jobs written out whole.

use longshore::Filter;
use longshore_server::wire::ExportFormat;

use super::{Door, only_here};
use crate::exit::Failure;
use crate::remote::{Ask, Pieces};

/// All jobs that match, a piece of the output at a time.
pub(crate) struct Export {
    from: From,
    format: ExportFormat,
    /// Lines that ended so far.
    lines: u64,
    /// A row of a table may have line breaks in its cells.
    in_quotes: bool,
}

enum From {
    Database { jobs: Box<longshore::Export>, begun: bool },
    Server(Box<Pieces>),
}

/// What is written out.
pub(crate) struct Wanted {
    pub filter: Filter,
    pub format: ExportFormat,
    pub reveal: bool,
}

impl Door {
    /// Begins to write out the jobs that match.
    pub async fn export(&self, wanted: Wanted) -> Result<Export, Failure> {
        let Wanted { filter, format, reveal } = wanted;
        let from = match self {
            Door::Database(client) => {
                let jobs = client.export(filter);
                let jobs = Box::new(if reveal { jobs.reveal() } else { jobs });
                From::Database { jobs, begun: false }
            }
            Door::Server(_) if reveal => {
                let why = "a server hides it from everybody there; `jobs show --reveal` shows it of single jobs";
                return Err(only_here("--reveal", why));
            }
            Door::Server(remote) => {
                let ask = Ask::get(["jobs", "export"])
                    .with("q", &filter.to_string())
                    .with("format", word(format));
                From::Server(Box::new(remote.pieces(&ask).await?))
            }
        };
        Ok(Export { from, format, lines: 0, in_quotes: false })
    }
}

fn word(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Csv => "csv",
        ExportFormat::Jsonl => "jsonl",
    }
}

impl Export {
    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let piece = match &mut self.from {
            From::Database { begun: begun @ false, .. } => {
                *begun = true;
                Some(self.format.head())
            }
            From::Database { jobs, .. } => {
                let page = jobs.next().await?;
                let format = self.format;
                page.map(|jobs| jobs.into_iter().flat_map(|job| format.line(job)).collect())
            }
            From::Server(pieces) => pieces.next().await?.map(|bytes| bytes.to_vec()),
        };
        if let Some(piece) = &piece {
            self.count(piece);
        }
        Ok(piece)
    }

    /// How many jobs there were so far: the first row of a table has names.
    pub fn jobs(&self) -> u64 {
        match self.format {
            ExportFormat::Csv => self.lines.saturating_sub(1),
            ExportFormat::Jsonl => self.lines,
        }
    }

    fn count(&mut self, text: &[u8]) {
        let table = self.format == ExportFormat::Csv;
        for byte in text {
            match byte {
                b'"' if table => self.in_quotes = !self.in_quotes,
                b'\n' if !self.in_quotes => self.lines += 1,
                _ => {}
            }
        }
    }
}
