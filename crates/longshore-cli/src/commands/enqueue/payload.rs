//! The payload: as given, from a file, or from stdin. Its bytes stay as they are.

use std::fs::File;
use std::io::Read;

use crate::exit::Failure;

/// Reads what `--payload` names.
pub(in crate::commands) fn read(given: &str, limit: usize) -> Result<String, Failure> {
    if given == "-" {
        return text(std::io::stdin().lock(), "stdin", limit);
    }
    match given.strip_prefix('@') {
        Some(path) => {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            text(file, path, limit)
        }
        None => Ok(given.to_owned()),
    }
}

fn text(from: impl Read, name: &str, limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    // One more than allowed is enough to know, and an endless file ends here.
    let read = from.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, &error))?;
    if bytes.len() > limit {
        return Err(Failure::usage(format!(
            "payload has more than {limit} bytes, which is the limit"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("payload is not UTF-8: {name} has a wrong byte at byte {at}"))
    })
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("payload cannot be read: {name}: {error}"))
}
