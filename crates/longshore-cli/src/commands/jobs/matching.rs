//! One action on all jobs that match a query; first it says how many.

use longshore::store::{Effort, Relation};
use longshore::{Acted, Client, Filter};
use serde_json::json;

use super::Context;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, grouped, json};

/// What is done to each.
pub(super) enum Action {
    Retry(u32),
    Delete,
}

impl Action {
    fn done(&self) -> &'static str {
        match self {
            Action::Retry(_) => "queued",
            Action::Delete => "deleted",
        }
    }

    async fn run(&self, client: &Client, filter: Filter) -> Result<Acted, Failure> {
        Ok(match self {
            Action::Retry(attempts) => client.retry_all(filter, *attempts).await?,
            Action::Delete => client.delete_all(filter).await?,
        })
    }
}

pub(super) async fn run(
    context: &Context,
    query: &str,
    yes: bool,
    action: Action,
) -> Result<Exit, Failure> {
    let filter = Filter::parse(query)?;
    let client = open_existing(&context.settings).await?;
    if !yes {
        let count = client.count(filter, Effort::Bounded).await?;
        let more = count.relation == Relation::AtLeast;
        if context.json {
            json(&json!({ "matching": count.value, "at_least": more, "done": 0 }))?;
        } else {
            let plus = if more { "+" } else { "" };
            let number = grouped(count.value);
            data(&format!("{number}{plus} match; with --yes they are {}", action.done()))?;
        }
        return Ok(Exit::Ok);
    }
    let acted = action.run(&client, filter).await?;
    for (id, refusal) in &acted.refusals {
        eprintln!("{id}: {refusal}");
    }
    if context.json {
        json(&json!({ "done": acted.done, "refused": acted.refused }))?;
    } else {
        data(&format!("{} {}", grouped(acted.done), action.done()))?;
    }
    if acted.refused > 0 {
        eprintln!("{} were refused", grouped(acted.refused));
    }
    Ok(Exit::Ok)
}
