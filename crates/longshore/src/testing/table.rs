//! Jobs in columns, for the messages of assertions.

use std::fmt::Write as _;

use super::conditions::due;
use crate::job::JobRow;
use crate::job::name::shown;
use crate::time::Timestamp;

/// Jobs that are shown; of the others the number.
const MOST_ROWS: usize = 30;
/// Characters of a payload that are shown.
const MOST_OF_PAYLOAD: usize = 120;

/// The jobs, a line each, with a mark before those that have one.
pub(super) fn table(
    jobs: &[JobRow],
    now: Timestamp,
    mark: impl Fn(usize) -> &'static str,
) -> String {
    let mut lines = vec![
        ["", "kind", "queue", "priority", "state", "due", "tags", "payload"].map(str::to_owned),
    ];
    // What has a mark is shown in any case.
    let marked = |n: &usize| !mark(*n).is_empty();
    let mut chosen: Vec<usize> = (0..jobs.len()).filter(marked).take(MOST_ROWS).collect();
    let room = MOST_ROWS - chosen.len();
    chosen.extend((0..jobs.len()).filter(|n| !marked(n)).take(room));
    chosen.sort_unstable();
    for n in &chosen {
        let job = &jobs[*n];
        let when = if job.state.is_end() { "-".to_owned() } else { due(job, now) };
        lines.push([
            mark(*n).to_owned(),
            shown(&job.kind),
            shown(&job.queue),
            job.priority.to_string(),
            job.state.to_string(),
            when,
            job.tags.iter().map(|tag| shown(tag)).collect::<Vec<_>>().join(","),
            cut(&job.clone().for_people().payload),
        ]);
    }
    let mut text = columns(&lines);
    if jobs.len() > chosen.len() {
        let _ = writeln!(text, "  … and {} more", jobs.len() - chosen.len());
    }
    text
}

fn cut(payload: &str) -> String {
    let text = shown(payload);
    match text.char_indices().nth(MOST_OF_PAYLOAD) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Lines whose columns stand under each other; those that are empty throughout are left out.
pub(super) fn columns<const N: usize>(lines: &[[String; N]]) -> String {
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let bare = |column: usize| lines.iter().skip(1).all(|line| line[column].is_empty());
    let mut text = String::new();
    for line in lines {
        let mut row = String::from(" ");
        for (column, cell) in line.iter().enumerate() {
            if bare(column) {
                continue;
            }
            let pad = width(column) - cell.chars().count();
            let _ = write!(row, " {cell}{:pad$} ", "");
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}
