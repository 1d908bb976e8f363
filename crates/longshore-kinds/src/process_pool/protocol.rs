//! What is said to a process, and what it may answer.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{KindError, at_most, shown};

/// Longer lines of a log are cut.
const LOG_BYTES: usize = 8 << 10;

#[derive(Serialize)]
struct Request<'a> {
    id: &'a str,
    payload: Option<&'a RawValue>,
}

/// `{"id": "…", "payload": …}` and a line end.
pub(super) fn request(
    id: &str,
    payload: Option<&RawValue>,
    line_bytes: usize,
) -> Result<Vec<u8>, KindError> {
    let mut line = serde_json::to_vec(&Request { id, payload }).expect("texts and JSON");
    at_most("payload", line.len() as u64, "bytes as a line", line_bytes as u64)?;
    // In JSON a bare line end is blank space, never part of a text.
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    Ok(line)
}

/// One line of a process: an answer, or something for the log of a job that goes on.
#[derive(Debug)]
pub(super) struct Reply {
    pub id: String,
    /// Lines for the job's log.
    pub log: Vec<String>,
    /// `None` if the job goes on.
    pub answer: Option<Answer>,
}

#[derive(Debug)]
pub(super) enum Answer {
    /// Digit by digit what it said.
    Output(Box<RawValue>),
    Error {
        words: String,
        retry: bool,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: String,
    #[serde(default, deserialize_with = "there")]
    output: Option<Box<RawValue>>,
    error: Option<String>,
    retry: Option<bool>,
    log: Option<Log>,
}

/// `null` is an output, too.
fn there<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Log {
    Line(String),
    Lines(Vec<String>),
}

/// Reads a line; or says what is wrong with it.
pub(super) fn reply(line: &[u8]) -> Result<Reply, String> {
    let wrong = |why: &dyn std::fmt::Display| {
        format!("said what is no answer: `{}` ({why})", shown(&String::from_utf8_lossy(line)))
    };
    let raw: Raw = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
    let log = match raw.log {
        None => Vec::new(),
        Some(Log::Line(line)) => vec![line],
        Some(Log::Lines(lines)) => lines,
    };
    let answer = match (raw.output, raw.error) {
        (Some(output), None) if raw.retry.is_none() => Some(Answer::Output(output)),
        (None, Some(words)) => Some(Answer::Error { words, retry: raw.retry.unwrap_or(true) }),
        (None, None) if !log.is_empty() && raw.retry.is_none() => None,
        _ => return Err(wrong(&"it has `output`, or `error` and perhaps `retry`, or `log` alone")),
    };
    Ok(Reply { id: raw.id, log: log.iter().map(|line| cut(line)).collect(), answer })
}

/// The beginning of a line for a log.
pub(super) fn cut(line: &str) -> String {
    line[..line.floor_char_boundary(LOG_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line_and_bounded() {
        let raw =
            RawValue::from_string("{\n \"a\":\r\n 12345678901234567890.5}".to_owned()).unwrap();
        let line = String::from_utf8(request("x", Some(&raw), 1_000).unwrap()).unwrap();
        assert_eq!(line, "{\"id\":\"x\",\"payload\":{  \"a\":   12345678901234567890.5}}\n");
        assert_eq!(request("x", None, 1_000).unwrap(), b"{\"id\":\"x\",\"payload\":null}\n");
        let long = request("x", Some(&raw), 20).unwrap_err().to_string();
        assert!(long.starts_with("`payload` is too large: "), "{long}");
    }

    #[test]
    fn answers_are_told_from_everything_else() {
        let answer = |line: &str| {
            let reply = reply(line.as_bytes())?;
            let said = match reply.answer {
                None => "goes on".to_owned(),
                Some(Answer::Output(output)) => output.get().to_owned(),
                Some(Answer::Error { words, retry }) => format!("{words}, {retry}"),
            };
            Ok::<_, String>((reply.log.join(" "), said))
        };
        for (line, log, said) in [
            (r#"{"id":"x","output":null}"#, "", "null"),
            (r#"{"id":"x","output":7,"log":["a","b"]}"#, "a b", "7"),
            (r#"{"id":"x","output":[12345678901234567890.10]}"#, "", "[12345678901234567890.10]"),
            (r#"{"id":"x","log":"a"}"#, "a", "goes on"),
            (r#"{"id":"x","error":"no"}"#, "", "no, true"),
            (r#"{"id":"x","error":"no","retry":false}"#, "", "no, false"),
        ] {
            assert_eq!(answer(line), Ok((log.to_owned(), said.to_owned())), "{line}");
        }
        for wrong in [
            "",
            "hello",
            "7",
            "[]",
            "{}",
            r#"{"id":"x"}"#,
            r#"{"id":7,"output":1}"#,
            r#"{"id":"x","output":1,"error":"no"}"#,
            r#"{"id":"x","output":1,"retry":true}"#,
            r#"{"id":"x","outptu":1}"#,
            "{\"id\":\"x\",\"output\":\"\u{1}\"}",
        ] {
            let why = answer(wrong).expect_err(wrong);
            assert!(why.starts_with("said what is no answer: "), "{why}");
        }
        assert!(reply(&[0xff, 0xfe]).is_err());
    }

    #[test]
    fn a_long_line_of_a_log_is_cut() {
        assert_eq!(cut(&"ä".repeat(10_000)).len(), LOG_BYTES);
    }
}
