//! Hints that there may be work. They may be lost, late or double; polling alone is correct.

use tokio::sync::watch;

/// What a hint says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// There may be new jobs.
    Look,
    /// There may be jobs below the low-water marks: look from the start.
    LookFromStart,
    /// A running job was asked to cancel.
    Cancels,
    /// A node was asked to be something else.
    Wishes,
}

impl Wake {
    /// The words other processes hear; a notification says nothing about queues or jobs.
    pub const ALL: [(Wake, &'static str); 4] = [
        (Wake::Look, "look"),
        (Wake::LookFromStart, "start"),
        (Wake::Cancels, "cancel"),
        (Wake::Wishes, "wish"),
    ];
}

/// How many hints of each kind there were so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    looks: u64,
    starts: u64,
    cancels: u64,
}

/// Where hints come in and are handed to all who wait. Hints that nobody took up yet run together.
#[derive(Debug, Default)]
pub struct WakeHub {
    heard: watch::Sender<Heard>,
    /// Apart, so that a heartbeat does not wake for every new job.
    wishes: watch::Sender<u64>,
}

/// One who waits for hints.
#[derive(Debug)]
pub struct Woken {
    heard: watch::Receiver<Heard>,
    last: Heard,
}

/// What came since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// There may be new jobs.
    pub look: bool,
    /// They may lie below the marks.
    pub from_start: bool,
    /// A running job was asked to cancel.
    pub cancels: bool,
}

impl WakeHub {
    /// Passes a hint on to all who wait in this process.
    pub fn wake(&self, wake: Wake) {
        if wake == Wake::Wishes {
            self.wishes.send_modify(|wishes| *wishes += 1);
            return;
        }
        self.heard.send_modify(|heard| match wake {
            Wake::Look => heard.looks += 1,
            Wake::LookFromStart => {
                heard.looks += 1;
                heard.starts += 1;
            }
            Wake::Cancels => heard.cancels += 1,
            Wake::Wishes => {}
        });
    }

    /// Changes whenever some node was asked to be something else.
    pub fn wishes(&self) -> watch::Receiver<u64> {
        self.wishes.subscribe()
    }

    /// Waits from now on.
    pub fn subscribe(&self) -> Woken {
        let mut heard = self.heard.subscribe();
        let last = *heard.borrow_and_update();
        Woken { heard, last }
    }
}

impl Woken {
    /// Waits for the next hint; takes up what came since the last. Never ends while the hub lives.
    /// May be dropped at any time without losing a hint.
    pub async fn news(&mut self) -> News {
        if self.heard.changed().await.is_err() {
            // The hub is gone, so nothing will ever come.
            std::future::pending::<()>().await;
        }
        self.take()
    }

    /// Takes up what came, without waiting.
    pub fn take(&mut self) -> News {
        let now = *self.heard.borrow_and_update();
        let last = std::mem::replace(&mut self.last, now);
        News {
            look: now.looks > last.looks,
            from_start: now.starts > last.starts,
            cancels: now.cancels > last.cancels,
        }
    }
}
