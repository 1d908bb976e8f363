//! Backoff policies as people write them: `fixed:5s`, `exponential:1s,3,1h`, `list:1s,10s,1m`.

use std::str::FromStr;

use longshore::Backoff;

use longshore_server::wire::Span;

/// A policy on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackoffArg(pub Backoff);

/// The text is no policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidBackoff(String);

impl std::fmt::Display for InvalidBackoff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` is no backoff; write it as fixed:5s, exponential:1s,3,1h, polynomial:1s,4,1h or list:1s,10s,1m",
            self.0
        )
    }
}

impl std::error::Error for InvalidBackoff {}

impl FromStr for BackoffArg {
    type Err = InvalidBackoff;

    fn from_str(text: &str) -> Result<BackoffArg, InvalidBackoff> {
        read(text).map(BackoffArg).ok_or_else(|| InvalidBackoff(text.chars().take(64).collect()))
    }
}

fn read(text: &str) -> Option<Backoff> {
    let (policy, rest) = text.split_once(':')?;
    let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
    Some(match (policy, &parts[..]) {
        ("fixed", [delay]) => Backoff::Fixed { delay_ms: millis(delay)? },
        ("exponential", [base, factor, max]) => Backoff::Exponential {
            base_ms: millis(base)?,
            factor: factor.parse().ok()?,
            max_ms: millis(max)?,
        },
        ("polynomial", [base, exponent, max]) => Backoff::Polynomial {
            base_ms: millis(base)?,
            exponent: exponent.parse().ok()?,
            max_ms: millis(max)?,
        },
        ("list", delays) => Backoff::List {
            delays_ms: delays.iter().map(|delay| millis(delay)).collect::<Option<_>>()?,
        },
        _ => return None,
    })
}

fn millis(text: &str) -> Option<u64> {
    text.parse::<Span>().ok().and_then(|span| u64::try_from(span.0.as_millis()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_is_understood() {
        let read = |text: &str| text.parse::<BackoffArg>().map(|policy| policy.0);
        assert_eq!(read("fixed:5s"), Ok(Backoff::Fixed { delay_ms: 5_000 }));
        let exponential = Backoff::Exponential { base_ms: 1_000, factor: 3, max_ms: 3_600_000 };
        assert_eq!(read("exponential:1s,3,1h"), Ok(exponential));
        let polynomial = Backoff::Polynomial { base_ms: 500, exponent: 2, max_ms: 60_000 };
        assert_eq!(read("polynomial:500ms, 2, 1m"), Ok(polynomial));
        let list = Backoff::List { delays_ms: vec![1_000, 10_000, 60_000] };
        assert_eq!(read("list:1s,10s,1m"), Ok(list));
        for bad in [
            "",
            "fixed",
            "fixed:",
            "fixed:5",
            "fixed:1s,2s",
            "list:",
            "list:1s,,2s",
            "exponential:1s,x,1h",
            "polynomial:1s,-1,1h",
            "moon:1s",
        ] {
            let error = read(bad).expect_err(bad).to_string();
            assert!(error.contains("write it as fixed:5s"), "{error}");
        }
    }
}
