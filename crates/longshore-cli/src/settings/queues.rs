//! Queues and their slots, as a table in the file or as `mail=20,default=5` elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

/// Slots of a queue that says none.
const SLOTS: u32 = 10;

/// The queues that a worker serves, each with its slots.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Given")]
pub struct Queues(pub Vec<(String, u32)>);

/// The ways to write them. A list or a text replaces what a lower layer says; so does a table.
#[derive(Deserialize)]
#[serde(untagged, expecting = "queues as a table, or as NAME=SLOTS")]
enum Given {
    Text(String),
    List(Vec<String>),
    Table(BTreeMap<String, u32>),
}

impl Default for Queues {
    fn default() -> Queues {
        Queues(vec![("default".to_owned(), SLOTS)])
    }
}

impl TryFrom<Given> for Queues {
    type Error = String;

    fn try_from(given: Given) -> Result<Queues, String> {
        Ok(Queues(match given {
            Given::Table(table) => table.into_iter().collect(),
            Given::List(list) => list.iter().map(|one| read(one)).collect::<Result<_, _>>()?,
            Given::Text(text) => text.split(',').map(read).collect::<Result<_, _>>()?,
        }))
    }
}

/// `NAME=SLOTS`, or `NAME` alone. A name may hold `=`: the last one counts.
fn read(text: &str) -> Result<(String, u32), String> {
    match text.rsplit_once('=') {
        None => Ok((text.to_owned(), SLOTS)),
        Some((name, slots)) => match slots.parse() {
            Ok(slots) => Ok((name.to_owned(), slots)),
            Err(_) => Err(format!("`{text}` is no queue with its slots; write it as mail=20")),
        },
    }
}

impl Serialize for Queues {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(|(name, slots)| format!("{name}={slots}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_a_list_and_a_table_say_the_same() {
        let read = |json: &str| serde_json::from_str::<Queues>(json).map(|queues| queues.0);
        let both = vec![("a".to_owned(), 10), ("b=c".to_owned(), 2)];
        assert_eq!(read(r#""a,b=c=2""#).unwrap(), both);
        assert_eq!(read(r#"["a", "b=c=2"]"#).unwrap(), both);
        assert_eq!(read(r#"{"a": 10, "b=c": 2}"#).unwrap(), both);
        assert!(read(r#""a=many""#).unwrap_err().to_string().contains("write it as mail=20"));
    }
}
