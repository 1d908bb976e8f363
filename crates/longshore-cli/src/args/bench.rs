//! What `bench` takes.

use clap::builder::{PossibleValue, PossibleValuesParser};
use longshore::bench::SCENARIOS;
use longshore_server::wire::Span;

/// Stands for every scenario but the long ones.
pub(crate) const ALL: &str = "all";

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// What to measure, one after the other [default: one short report of all]
    #[arg(value_name = "SCENARIO", value_parser = scenarios(), conflicts_with_all = ["retention", "pin_snapshot", "yardstick"])]
    pub scenarios: Vec<String>,
    /// How many jobs to enqueue by the list, and to drain [default: 50000, or the scenario's own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    pub jobs: Option<u32>,
    /// How many of them may run at once
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub slots: u32,
    /// Hold a snapshot open meanwhile, as a long report or a backup does
    #[arg(long)]
    pub pin_snapshot: bool,
    /// Measure pruning instead: finish jobs at a steady rate and keep them for so long
    #[arg(long, value_name = "SPAN", conflicts_with_all = ["jobs", "slots", "pin_snapshot", "yardstick"])]
    pub retention: Option<Span>,
    /// With --retention or scenarios: how long to go on [default: 10m, or the scenario's own]
    #[arg(long = "for", value_name = "SPAN")]
    pub run_for: Option<Span>,
    /// With --retention: finishes a second
    #[arg(long, value_name = "N", requires = "retention", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// With `processes`: the most of them
    #[arg(long, value_name = "N", requires = "scenarios", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub processes: u32,
    /// With `backlog`: the most jobs that wait
    #[arg(long, value_name = "N", requires = "scenarios", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=50_000_000))]
    pub most: u32,
    /// What another benchmark made of this machine just now, in transactions a second; printed along
    #[arg(long, value_name = "TPS")]
    pub yardstick: Option<f64>,
    /// Be one of the processes of a scenario
    #[arg(long, hide = true, requires = "scenarios")]
    pub child: bool,
}

fn scenarios() -> PossibleValuesParser {
    let named = SCENARIOS.iter().map(|one| {
        let more = if one.long { " (long)" } else { "" };
        PossibleValue::new(one.name).help(format!("{}{more}", one.measures))
    });
    let all = PossibleValue::new(ALL).help("each but the long ones");
    PossibleValuesParser::new(named.chain([all]))
}
