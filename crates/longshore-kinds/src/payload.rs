//! What payloads look like, and where one does not.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::demo::{Fail, Noop, Sleep};
use crate::error::{KindError, shown, shown_up_to};
use crate::exec::Exec;
use crate::http_request::HttpRequest;
use crate::process_pool::ProcessPool;
use crate::resize_image::ResizeImage;
use crate::send_email::SendEmail;
use crate::summary::SummarizeText;
use crate::webhook::WebhookDelivery;

/// The most bytes of what serde says, which may quote the payload.
const MOST_WORDS: usize = 300;

/// What payloads of each built-in kind look like, as JSON Schemas.
pub fn schemas() -> Vec<(&'static str, String)> {
    vec![
        ("exec", of::<Exec>()),
        ("fail", of::<Option<Fail>>()),
        ("http_request", of::<HttpRequest>()),
        ("noop", of::<Noop>()),
        ("process_pool", of::<ProcessPool>()),
        ("resize_image", of::<ResizeImage>()),
        ("send_email", of::<SendEmail>()),
        ("sleep", of::<Sleep>()),
        ("summarize_text", of::<SummarizeText>()),
        ("webhook_delivery", of::<WebhookDelivery>()),
    ]
}

fn of<T: JsonSchema>() -> String {
    schemars::schema_for!(T).as_value().to_string()
}

/// Reads a payload.
///
/// # Errors
/// [`KindError::Misfit`], which says where it does not fit.
pub fn read<T: DeserializeOwned>(payload: &str) -> Result<T, KindError> {
    no_list(payload)?;
    serde_json::from_str(payload).map_err(|error| {
        let (field, problem) =
            misfit::<T>(payload).unwrap_or_else(|| ("payload".to_owned(), error.to_string()));
        KindError::Misfit { field, problem }
    })
}

/// serde takes a list for an object whose fields are left unnamed; nobody means that.
pub(crate) fn no_list(payload: &str) -> Result<(), KindError> {
    if !payload.trim_start().starts_with('[') {
        return Ok(());
    }
    let problem = "it is a list, and is to be an object".to_owned();
    Err(KindError::Misfit { field: "payload".to_owned(), problem })
}

/// Where a payload does not fit, `attachments[0].name`, and why; `None` if it does.
pub(crate) fn misfit<T: DeserializeOwned>(payload: &str) -> Option<(String, String)> {
    let mut json = serde_json::Deserializer::from_str(payload);
    let error = serde_path_to_error::deserialize::<_, T>(&mut json).err()?;
    let path = error.path().to_string();
    let field = if path == "." { "payload".to_owned() } else { shown(&path) };
    Some((field, shown_up_to(&error.inner().to_string(), MOST_WORDS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misfit_is_named_by_its_place() {
        let wrong = |payload: &str| read::<SendEmail>(payload).unwrap_err().to_string();
        assert_eq!(
            wrong(r#"{"subject": "x", "attachments": [{"name": 7}]}"#),
            "`attachments[0].name` does not fit: invalid type: integer `7`, expected a string at line 1 column 43"
        );
        assert!(wrong(r#"{"to": "anna"}"#).starts_with("`to` does not fit: "));
        assert!(wrong("{}").starts_with("`payload` does not fit: missing field `subject`"));
        assert!(wrong("[1]").starts_with("`payload` does not fit: it is a list"));
        assert!(wrong("7").starts_with("`payload` does not fit: "));
        let odd = wrong(r#"{"sub\u0007": 1}"#);
        assert!(odd.contains(r"unknown field `sub\u{7}`"), "{odd}");
    }
}
