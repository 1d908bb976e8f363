//! What runs of workers say: how far they are, and log lines.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::{MAX_ENTRIES, Work, WorkError, WorkResult, counted, each_once};
use crate::store::{Held, Level, LogLine, LogPart, MAX_LOG_LINES, NodeId, Progress, Said, Saying};
use crate::time::Timestamp;

/// The most lines of one call, of all runs together.
pub const MAX_LINES: usize = MAX_LOG_LINES;

/// What one run says.
#[derive(Clone, Debug)]
pub struct Say {
    /// Which run.
    pub held: Held,
    /// How far it is, if it says so.
    pub progress: Option<Progress>,
    /// The number of the first line among all of this run, from 0: with it a repeat of a call adds nothing. Without
    /// it, it adds the lines once more.
    pub first: Option<u64>,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One log line. All of it together is cut at [`crate::store::MAX_LINE_BYTES`].
#[derive(Clone, Debug)]
pub struct Line {
    /// How grave it is.
    pub level: Level,
    /// What is said.
    pub message: String,
    /// Which part of the program says it; `None`: the job's kind.
    pub target: Option<String>,
    /// With which values.
    pub fields: Map<String, Value>,
    /// When; `None`: now.
    pub at: Option<Timestamp>,
}

/// What is left to be written of one run.
struct Left {
    place: usize,
    held: Held,
    progress: Option<Progress>,
    run: i64,
    nth: u64,
    lines: VecDeque<LogLine>,
}

impl Work {
    /// Keeps what runs say, one answer each, in order. [`Said::LeaseLost`]: the job is somebody else's by now, and
    /// nothing was written for it. 1 to [`MAX_ENTRIES`] runs, a job once, with [`MAX_LINES`] lines in all.
    pub async fn say(&self, node: NodeId, says: Vec<Say>) -> WorkResult<Vec<Said>> {
        counted("/says", "says", says.len(), (1, MAX_ENTRIES))?;
        each_once("/says", says.iter().map(|say| say.held.id))?;
        let lines: usize = says.iter().map(|say| say.lines.len()).sum();
        if lines > MAX_LINES {
            let detail = format!("the call has {lines} lines; it may have at most {MAX_LINES}");
            return Err(WorkError::refused("/says", detail));
        }
        self.remote(node).await?;
        let runs = self.runs(node, says.iter().map(|say| say.held.id)).await?;
        let now = self.client.store().clock().now();
        let mut answers = vec![Said::LeaseLost; says.len()];
        let mut round: Vec<Left> = Vec::new();
        for (place, say) in says.into_iter().enumerate() {
            let Some(run) = runs.get(&say.held) else { continue };
            let line = |line: Line| {
                let target = line.target.as_deref().unwrap_or(&run.kind);
                let at = line.at.unwrap_or(now);
                LogLine::new(at, line.level, target, &line.message, &line.fields)
            };
            round.push(Left {
                place,
                held: say.held,
                progress: say.progress,
                // A lease tells a run from all others; without numbers each call is told apart from all others.
                run: say.first.map_or_else(|| fastrand::i64(..), |_| say.held.lease),
                nth: say.first.unwrap_or(0),
                lines: say.lines.into_iter().map(line).collect(),
            });
        }
        // A run comes once in a call of the store, and only so many of its lines go together.
        while !round.is_empty() {
            let said: Vec<Saying> = round.iter_mut().map(Left::take).collect();
            let doing = "keep what runs said";
            let kept =
                self.call(doing, move |store| async move { store.say(node, &said).await }).await?;
            for (left, said) in round.iter().zip(kept) {
                answers[left.place] = said;
            }
            round.retain(|left| !left.lines.is_empty() && answers[left.place] == Said::Kept);
        }
        Ok(answers)
    }
}

impl Left {
    fn take(&mut self) -> Saying {
        let log = LogPart::take(self.run, self.nth, 0, &mut self.lines);
        self.nth += log.as_ref().map_or(0, LogPart::count);
        Saying { held: self.held, progress: self.progress.take(), log }
    }
}
