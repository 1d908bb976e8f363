//! What people read: tables, times, and stored texts that cannot harm a terminal.

use std::io::{ErrorKind, IsTerminal, Write};
use std::time::Duration;

use comfy_table::{Table, presets};
use longshore::Timestamp;
use longshore::store::ProgressRow;
use serde::Serialize;
use unicode_general_category::{GeneralCategory, get_general_category};

use crate::exit::Failure;

/// Prints a line of data.
pub(crate) fn data(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::reader_gone(),
        _ => Failure::failed(format!("could not print: {error}")),
    })
}

/// Prints stored JSON: byte for byte for a program, made visible on a terminal.
pub(crate) fn stored(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        text.lines().try_for_each(|line| data(&visible(line)))
    } else {
        data(text)
    }
}

/// Prints JSON. Payloads and outputs in it are raw: their bytes go through unchanged.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::failed(format!("could not print: {error}")))?;
    data(&text)
}

/// Prints rows below a header. Cells may come from anybody.
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    rows: Vec<[String; N]>,
) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for row in rows {
        table.add_row(row.map(|cell| visible(&cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    data(&table.trim_fmt())
}

/// A number as people read it: `10,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Prints names and values.
pub(crate) fn facts(facts: Vec<(&str, String)>) -> Result<(), Failure> {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in facts {
        data(&format!("{name:width$}  {}", visible(&value)))?;
    }
    Ok(())
}

/// The text with everything written out that a terminal would obey or hide: control characters,
/// and format characters such as those that turn the direction of writing.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || get_general_category(c) == GeneralCategory::Format {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The text cut to so many characters.
pub(crate) fn short(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// `40 %, page 4 of 10 (attempt 1)`.
pub(crate) fn progress_words(said: &ProgressRow) -> String {
    // Down: what is not done must not look so.
    let percent = (said.fraction * 100.0).floor();
    let text = if said.text.is_empty() { "" } else { &format!(", {}", visible(&said.text)) };
    format!("{percent} %{text} (attempt {})", said.attempt)
}

/// `2026-03-01 12:00:00Z (3 min ago)`.
pub(crate) fn when(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", moment(at), distance(at, now))
}

/// To the second, in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{}Z", seconds.replace('T', " ")),
        None => text,
    }
}

/// `3 min ago`, `in 2 h`.
pub(crate) fn distance(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        format!("in {}", roughly(at.since(now)))
    } else {
        format!("{} ago", roughly(now.since(at)))
    }
}

/// One number with the unit that suits it.
pub(crate) fn roughly(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        1..10 => format!("{:.1} s", span.as_secs_f64()),
        10..100 => format!("{seconds} s"),
        100..6_000 => format!("{} min", seconds / 60),
        6_000..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_text_cannot_drive_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\r\n"), "a\\u{1b}[31mb\\r\\n");
        assert_eq!(visible("x\u{202e}y\u{9b}z"), "x\\u{202e}y\\u{9b}z");
        assert_eq!(visible("日本 ä 😀"), "日本 ä 😀");
    }

    #[test]
    fn times_read_like_speech() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let before = |seconds| now.minus(Duration::from_secs(seconds));
        assert_eq!(when(before(200), now), "2026-03-01 11:56:40Z (3 min ago)");
        assert_eq!(distance(now.plus(Duration::from_secs(7_200)), now), "in 2 h");
        assert_eq!(distance(Timestamp::MIN, now), "740041 d ago");
        assert_eq!(moment(Timestamp::from_micros(i64::MAX)), "out of range");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(short("äöüß", 3), "äö…");
    }
}
