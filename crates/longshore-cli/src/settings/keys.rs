//! Every key there is, and what somebody may have meant by another one.

use figment::Provider;
use figment::providers::Serialized;
use figment::value::{Dict, Value};

use super::Settings;

/// All keys, dotted, as the defaults have them.
pub(super) fn known() -> Vec<String> {
    let defaults = Serialized::defaults(Settings::default()).data().expect("plain data");
    let mut keys = Vec::new();
    defaults.values().for_each(|dict| leaves(dict, "", &mut keys));
    keys
}

/// The first key of `given` that is not one of `known`, as a sentence.
pub(super) fn unknown(given: &Dict, known: &[String]) -> Option<String> {
    let mut keys = Vec::new();
    leaves(given, "", &mut keys);
    // Below a key of ours anything may come: queues have the names that people give them.
    let is_known = |key: &&String| {
        known.iter().any(|ours| {
            key.strip_prefix(ours.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let key = keys.iter().find(|key| !is_known(key))?;
    let nearest =
        known.iter().map(|ours| (nearness(key, ours), ours)).max_by(|a, b| a.0.total_cmp(&b.0));
    Some(match nearest {
        Some((near, ours)) if near > 0.7 => {
            format!("unknown key `{key}`; did you mean `{ours}`?")
        }
        _ => format!("unknown key `{key}`; the keys are {}", known.join(", ")),
    })
}

/// How near two keys are, 1 at most: as written, or by their last words when the table is wrong.
fn nearness(given: &str, ours: &str) -> f64 {
    fn last(key: &str) -> &str {
        key.rsplit('.').next().unwrap_or(key)
    }
    let whole = strsim::normalized_damerau_levenshtein(given, ours);
    whole.max(0.99 * strsim::normalized_damerau_levenshtein(last(given), last(ours)))
}

fn leaves(dict: &Dict, under: &str, keys: &mut Vec<String>) {
    for (key, value) in dict {
        let path = if under.is_empty() { key.clone() } else { format!("{under}.{key}") };
        match value {
            Value::Dict(_, inner) if !inner.is_empty() => leaves(inner, &path, keys),
            _ => keys.push(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use figment::providers::{Format, Toml};

    use super::*;

    fn complaint(toml: &str) -> Option<String> {
        let data = Toml::string(toml).data().unwrap();
        data.values().find_map(|dict| unknown(dict, &known()))
    }

    #[test]
    fn a_slip_is_named_with_what_was_meant() {
        let meant = |toml: &str| complaint(toml).expect(toml);
        assert_eq!(meant("databse = 'x'"), "unknown key `databse`; did you mean `database`?");
        assert_eq!(
            meant("[worker]\nleese = '3s'"),
            "unknown key `worker.leese`; did you mean `worker.lease`?"
        );
        assert_eq!(meant("lease = '3s'"), "unknown key `lease`; did you mean `worker.lease`?");
        assert!(meant("[zebra]\nq = 1").contains("the keys are database, http.anonymous"));
    }

    #[test]
    fn queues_have_any_name() {
        assert_eq!(complaint("[queues]\nmail = 3\n\"a.b\" = 1"), None);
    }
}
