//! Waits for the end of an operation, and shows how far it is.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use longshore::operation::OperationState;
use longshore::store::Relation;

use crate::connect::patiently;
use crate::door::Door;
use crate::exit::Failure;
use crate::print::grouped;
use crate::signals::Signals;
use longshore_server::wire::OperationView;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(200);

/// Where no node leads, the steps are done here. Ctrl-C ends the waiting, not the operation.
pub(super) async fn to_its_end(
    door: &Door,
    mut row: OperationView,
) -> Result<OperationView, Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::failed(format!("could not hear signals: {error}")))?;
    let helper = door.help_with_operations();
    let mut line = Line { shown: std::io::stderr().is_terminal(), told_pause: false };
    let ended = loop {
        if row.state.is_end() {
            break Ok(row);
        }
        line.tell(&row);
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = signals.next() => {
                line.end();
                let id = row.id;
                eprintln!(
                    "operation {id} goes on with the nodes; `longshore operations wait {id}` waits for it, \
                     `longshore operations cancel {id}` ends it"
                );
                break Ok(row);
            }
        }
        match patiently("look at the operation", || door.operation(row.id)).await {
            Ok(fresh) => row = fresh,
            Err(error) => break Err(error),
        }
    };
    line.end();
    if let Some(helper) = helper {
        helper.end().await;
    }
    ended
}

/// One line on a terminal, written over and over.
struct Line {
    shown: bool,
    told_pause: bool,
}

impl Line {
    fn tell(&mut self, row: &OperationView) {
        let paused = row.state == OperationState::Paused;
        if paused && !self.told_pause {
            self.end();
            eprintln!("operation {} is paused; it goes on when somebody resumes it", row.id);
        }
        self.told_pause = paused;
        if !self.shown || paused {
            return;
        }
        let plus = if row.total.relation == Relation::AtLeast { "+" } else { "" };
        let (total, done) = (grouped(row.total.value), grouped(row.done));
        let skipped = match row.skipped {
            0 => String::new(),
            skipped => format!(", {} skipped", grouped(skipped)),
        };
        eprint!("\r\x1b[K{done} of {total}{plus} done{skipped}");
        let _ = std::io::stderr().flush();
    }

    fn end(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
            let _ = std::io::stderr().flush();
        }
    }
}
