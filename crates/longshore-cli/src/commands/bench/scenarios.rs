//! `bench SCENARIO…`: one table, or one line of JSON, for each.

use longshore::Client;
use longshore::bench::{
    self, Figure, Program, SCENARIOS, Scenario, ScenarioOptions, ScenarioReport,
};

use super::{Context, rounded};
use crate::args::{ALL, BenchArgs};
use crate::exit::{Exit, Failure};
use crate::print::{data, table};
use crate::signals::Signals;

/// There are figures far below 1, such as commits a job.
const DECIMALS: i32 = 6;

/// Exit 1 when a job was lost or ran twice in any of them.
pub(super) async fn run(
    context: &Context,
    client: &Client,
    args: &BenchArgs,
) -> Result<Exit, Failure> {
    let options = ScenarioOptions {
        jobs: args.jobs,
        run_for: args.run_for.map(|span| span.0),
        slots: args.slots,
        processes: args.processes,
        most: args.most,
        child: child_of(&context.settings.database)?,
    };
    let mut missed = 0;
    for (place, scenario) in named(&args.scenarios).enumerate() {
        let name = scenario.name;
        let say = move |doing: &str| eprintln!("bench: {name}: {doing}");
        let report = bench::scenario(client, scenario, &options, say).await?;
        missed += report.lost + report.duplicates;
        if context.json {
            let value = serde_json::to_value(&report);
            let value = value.map_err(|error| Failure::failed(error.to_string()))?;
            data(&rounded(value, DECIMALS).to_string())?;
        } else {
            if place > 0 {
                data("")?;
            }
            table([name, "FIGURE", "UNIT", "FLOOR", "RATIO"], rows(&report))?;
        }
    }
    client.close().await;
    Ok(if missed == 0 { Exit::Ok } else { Exit::Failed })
}

/// Works for another `bench` until that is over.
pub(super) async fn child(client: &Client, slots: u32) -> Result<Exit, Failure> {
    // Ctrl-C goes to all processes of a terminal. Whoever started this one hears it, and then its input ends:
    // so it leaves no node behind.
    let _signals = Signals::listen()
        .map_err(|error| Failure::failed(format!("could not listen for signals: {error}")))?;
    bench::child(client, slots).await?;
    client.close().await;
    Ok(Exit::Ok)
}

/// In the order in which they are named; `all` stands for each but the long ones.
fn named(names: &[String]) -> impl Iterator<Item = &'static Scenario> {
    names.iter().flat_map(|name| {
        SCENARIOS.iter().filter(move |one| one.name == name || (name == ALL && !one.long))
    })
}

/// The same command line once more, so that every setting is the same. A database in memory is this
/// process's alone.
fn child_of(database: &str) -> Result<Option<Program>, Failure> {
    if database.contains(":memory:") {
        return Ok(None);
    }
    let path = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("could not find this program: {error}")))?;
    let args = std::env::args_os().skip(1).chain(["--child".into()]).collect();
    Ok(Some(Program { path, args }))
}

fn rows(report: &ScenarioReport) -> Vec<[String; 5]> {
    let known = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), short);
    let figures = report.figures.iter().map(|one: &Figure| {
        let ratio = one.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        [one.what.clone(), known(one.figure), one.unit.to_owned(), known(one.floor), ratio]
    });
    let counts = [("lost", report.lost), ("ran twice", report.duplicates)];
    let counts = counts.map(|(what, count)| {
        let none = || "-".to_owned();
        [what.to_owned(), count.to_string(), "jobs".to_owned(), none(), none()]
    });
    figures.chain(counts).collect()
}

/// With as many digits as mean something.
fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        100.0.. => format!("{number:.0}"),
        1.0.. => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_mean_something() {
        assert_eq!([12_345.6, 12.345, 0.012_34, 0.0].map(short), ["12346", "12.35", "0.0123", "0"]);
    }

    #[test]
    fn all_is_each_but_the_long_ones() {
        let names = |words: &[&str]| -> Vec<&str> {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            named(&words).map(|one| one.name).collect()
        };
        assert_eq!(names(&["storm", "drain"]), ["storm", "drain"]);
        let all = names(&["all"]);
        assert!(all.contains(&"mixed") && !all.contains(&"backlog"), "{all:?}");
    }
}
