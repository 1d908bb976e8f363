//! Which claims still have jobs under way. The heartbeat forgets those that have none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Claim numbers that are over, on their way to the heartbeat.
#[derive(Clone, Default)]
pub(super) struct Over(Arc<Mutex<Vec<i64>>>);

impl Over {
    /// Takes what came so far.
    pub fn take(&self) -> Vec<i64> {
        std::mem::take(&mut *self.0.lock().expect("nothing here panics"))
    }

    /// Puts back what could not be written.
    pub fn put(&self, numbers: impl IntoIterator<Item = i64>) {
        self.0.lock().expect("nothing here panics").extend(numbers);
    }
}

/// Counts the jobs under way of each claim.
#[derive(Default)]
pub(super) struct Ledger {
    open: HashMap<i64, usize>,
    over: Over,
}

impl Ledger {
    pub fn over(&self) -> Over {
        self.over.clone()
    }

    /// A claim came back with so many jobs.
    pub fn opened(&mut self, no: i64, jobs: usize) {
        if jobs == 0 {
            // There may be a note of it all the same, if its reply was lost.
            self.over.put([no]);
        } else {
            *self.open.entry(no).or_default() += jobs;
        }
    }

    /// One job of this claim is over.
    pub fn closed(&mut self, no: i64) {
        let Some(left) = self.open.get_mut(&no) else { return };
        *left -= 1;
        if *left == 0 {
            self.open.remove(&no);
            self.over.put([no]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_over_with_its_last_job() {
        let mut ledger = Ledger::default();
        ledger.opened(1, 2);
        ledger.opened(2, 1);
        ledger.closed(1);
        ledger.closed(2);
        assert_eq!(ledger.over().take(), [2]);
        ledger.closed(1);
        ledger.closed(1);
        assert_eq!(ledger.over().take(), [1]);
    }
}
