//! Payloads that show how jobs end: `noop`, `sleep`, `fail`.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::error::KindError;

/// Does nothing and succeeds. Its payload is not looked at: any JSON will do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "IgnoredAny")]
pub struct Noop {}

impl JsonSchema for Noop {
    fn schema_name() -> Cow<'static, str> {
        "Noop".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Any JSON will do: it is not looked at." })
    }
}

impl From<IgnoredAny> for Noop {
    fn from(_: IgnoredAny) -> Self {
        Self {}
    }
}

/// Waits, then succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// How long, in seconds; parts of a second are fine. From 0 to 86400 (a day). A job's timeout
    /// still counts, so more than it only shows the timeout.
    #[schemars(range(min = 0, max = 86_400))]
    pub seconds: f64,
}

impl Sleep {
    const MAX_SECONDS: f64 = 86_400.0;

    /// How long to wait.
    ///
    /// # Errors
    /// [`KindError::Payload`] if `seconds` is out of range.
    pub fn duration(self) -> Result<Duration, KindError> {
        if (0.0..=Self::MAX_SECONDS).contains(&self.seconds) {
            return Ok(Duration::from_secs_f64(self.seconds));
        }
        let problem = format!("is {}, it must be from 0 to {}", self.seconds, Self::MAX_SECONDS);
        Err(KindError::payload("seconds", problem))
    }
}

/// Fails in the way asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fail {
    /// The error's text. Default "asked to fail".
    pub message: String,
    /// How many attempts fail before one succeeds. Default: every one fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Whether the job is dead at once instead of being run again. Default `false`.
    pub dead: bool,
    /// Whether the handler panics instead of returning an error; `dead` is then not looked at.
    /// Default `false`.
    pub panic: bool,
}

impl Default for Fail {
    fn default() -> Self {
        Self { message: "asked to fail".into(), times: None, dead: false, panic: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noop_takes_any_payload() {
        for payload in ["null", "{}", "[1, {\"a\": 2}]", "\"x\""] {
            serde_json::from_str::<Noop>(payload).unwrap();
        }
    }

    #[test]
    fn sleep_is_bounded() {
        let read = |payload| serde_json::from_str::<Sleep>(payload).unwrap().duration();
        assert_eq!(read(r#"{"seconds": 0.25}"#).unwrap(), Duration::from_millis(250));
        assert_eq!(read(r#"{"seconds": 0}"#).unwrap(), Duration::ZERO);
        assert_eq!(
            read(r#"{"seconds": 1e300}"#).unwrap_err().to_string(),
            format!("`seconds` is {}, it must be from 0 to 86400", 1e300)
        );
        assert!(read(r#"{"seconds": -1}"#).unwrap_err().is_permanent());
        assert!(Sleep { seconds: f64::NAN }.duration().is_err());
        assert!(serde_json::from_str::<Sleep>("{}").is_err());
    }

    #[test]
    fn fail_fills_in_what_is_not_said() {
        assert_eq!(serde_json::from_str::<Fail>("{}").unwrap(), Fail::default());
        let fail: Fail = serde_json::from_str(r#"{"message": "no", "dead": true}"#).unwrap();
        assert_eq!(fail, Fail { message: "no".into(), dead: true, ..Fail::default() });
        assert!(serde_json::from_str::<Fail>(r#"{"deed": true}"#).is_err());
    }
}
