//! Sets of numbers and times as the database's multiranges, by their text; `None`: everything.

use crate::query::wanted::Spans;
use crate::time::Timestamp;

pub(super) fn numbers(spans: &Spans) -> Option<String> {
    text(
        spans,
        |from| match from {
            i64::MIN => "(".to_owned(),
            from => format!("[{from}"),
        },
        |to| match to {
            i64::MAX => ")".to_owned(),
            to => format!("{to}]"),
        },
    )
}

/// Beyond the times that a job can have lies infinity: itself it stands for "never", and what is only
/// up to it ends before.
pub(super) fn times(spans: &Spans) -> Option<String> {
    text(
        spans,
        |from| match Timestamp::from_micros(from) {
            _ if from == i64::MAX => "[infinity".to_owned(),
            at if at > Timestamp::MAX => "(infinity".to_owned(),
            at if at < Timestamp::MIN => "(".to_owned(),
            at => format!("[{}", instant(at)),
        },
        |to| match Timestamp::from_micros(to) {
            _ if to == i64::MAX => "infinity]".to_owned(),
            at if at > Timestamp::MAX => "infinity)".to_owned(),
            at if at < Timestamp::MIN => "-infinity)".to_owned(),
            at => format!("{}]", instant(at)),
        },
    )
}

fn text(spans: &Spans, from: impl Fn(i64) -> String, to: impl Fn(i64) -> String) -> Option<String> {
    if spans.is_all() {
        return None;
    }
    let each = spans.as_slice().iter().map(|(start, end)| format!("{},{}", from(*start), to(*end)));
    Some(format!("{{{}}}", each.collect::<Vec<_>>().join(",")))
}

/// The year 0 is 1 BC there.
fn instant(at: Timestamp) -> String {
    let text = at.to_string();
    match text.strip_prefix("0000-") {
        Some(rest) => format!("0001-{rest} BC"),
        None => text,
    }
}
