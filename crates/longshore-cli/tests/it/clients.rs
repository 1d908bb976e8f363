//! The clients in Python and TypeScript: their types, their own suites, their examples, and what their workers keep to
//! when they or their server are killed. What is asked of both is written once.

mod kept;
mod language;
mod runs;
mod worker;

use crate::harness::{Place, both};
use language::Language;

/// Stamps each case for each language, on both databases.
macro_rules! languages {
    ($($case:ident),+ $(,)?) => {
        languages!(@ python Python $($case)+);
        languages!(@ typescript TypeScript $($case)+);
    };
    (@ $module:ident $language:ident $($case:ident)+) => {
        mod $module {
            use super::{Language, Place, both, kept};
            $(fn $case(place: Place) {
                if let Some(tools) = Language::$language.tools() {
                    kept::$case(place, &tools);
                }
            })+
            both!($($case),+);
        }
    };
}

languages!(
    a_thousand_jobs_outlive_a_killed_server,
    a_stopped_worker_drains_gives_back_and_leaves,
    a_second_signal_gives_back_at_once,
    a_cancel_reaches_a_run_within_a_second,
    a_run_over_its_timeout_fails_and_its_late_return_is_dropped,
    a_killed_workers_jobs_are_run_by_another,
    a_worker_that_slept_past_its_lease_hands_in_nothing,
    a_completion_whose_answer_was_lost_is_written_once,
    its_suite_passes_against_a_real_server,
    the_example_of_its_readme_runs,
);

#[test]
fn python_has_the_types_that_it_says() {
    let Some(mypy) = language::mypy() else { return };
    let mut check = std::process::Command::new(mypy);
    check.args(["--no-incremental", "--config-file", "pyproject.toml"]);
    language::pass(check.current_dir(language::folder("python")));
}

#[test]
fn typescript_has_the_types_that_it_says() {
    // It is not built otherwise.
    let _ = Language::TypeScript.tools();
}

#[test]
fn python_passes_its_own_suite() {
    if let Some(tools) = Language::Python.tools() {
        language::pass(&mut tools.suite());
    }
}

#[test]
fn typescript_passes_its_own_suite() {
    if let Some(tools) = Language::TypeScript.tools() {
        language::pass(&mut tools.suite());
    }
}
