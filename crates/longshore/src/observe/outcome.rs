//! How a run ended, as metrics tell it.

use crate::job::State;
use crate::store::Ending;

macro_rules! outcomes {
    ($($name:ident $word:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum RunOutcome { $($name),* }

        impl RunOutcome {
            pub const ALL: [RunOutcome; [$($word),*].len()] = [$(RunOutcome::$name),*];

            pub fn as_str(self) -> &'static str {
                match self { $(RunOutcome::$name => $word),* }
            }
        }
    };
}

outcomes! {
    Succeeded "succeeded"
    // It will be repeated.
    Failed "failed"
    Dead "dead"
    Cancelled "cancelled"
    Snoozed "snoozed"
    Throttled "throttled"
    // Cut off or never started here: no attempt is counted.
    GivenBack "given_back"
}

impl RunOutcome {
    /// What was written counts, not what was meant: a job that was asked to cancel is cancelled.
    pub fn of(state: State, ending: &Ending) -> RunOutcome {
        match (state, ending) {
            (State::Succeeded, _) => RunOutcome::Succeeded,
            (State::Cancelled, _) => RunOutcome::Cancelled,
            (State::Dead, _) => RunOutcome::Dead,
            (_, Ending::Snoozed { .. }) => RunOutcome::Snoozed,
            (_, Ending::Throttled { .. }) => RunOutcome::Throttled,
            (_, Ending::GivenBack) => RunOutcome::GivenBack,
            (
                _,
                Ending::Failed { .. }
                | Ending::Dead { .. }
                | Ending::Succeeded { .. }
                | Ending::Cancelled { .. },
            ) => RunOutcome::Failed,
        }
    }
}
