//! Programs of this machine: how they are begun, and how all that they started is ended.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use cap_std::fs::Dir;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// What every program finds in its environment, besides what it is given.
pub(crate) const VARIABLES: [(&str, &str); 2] =
    [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")];

/// A program with pipes to it, in a process group of its own, that begins in `folder`. Nothing of our environment goes
/// with it.
pub(crate) fn command<'e>(
    argv: &[String],
    folder: &Dir,
    variables: impl IntoIterator<Item = (&'e str, &'e str)>,
) -> Command {
    let mut command = Command::new(&argv[0]);
    command
        .args(&argv[1..])
        .env_clear()
        .envs(VARIABLES)
        .envs(variables)
        // By its handle, so that nobody can put another folder in its place meanwhile.
        .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}

/// A process group and the child that leads it. Nothing of the group outlives this.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    /// Its number may be another's by now.
    reaped: bool,
}

impl Group {
    pub fn new(child: Child) -> Group {
        Group { child, reaped: false }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Tells all of them something; if none is left, that is well.
    pub fn signal(&self, signal: Signal) {
        if !self.reaped {
            let _ = kill_process_group(self.pid(), signal);
        }
    }

    /// Whether the child has ended by itself. It stays unreaped, so that its number stays its own.
    pub fn has_ended(&self) -> io::Result<bool> {
        if self.reaped {
            return Ok(true);
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.pid()), options)?.is_some())
    }

    /// Kills what is left, and answers how the child ended.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        // Before it is reaped, while the number of the group can be nobody else's.
        self.signal(Signal::KILL);
        let status = self.child.wait();
        self.reaped = true;
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.end();
        }
    }
}
