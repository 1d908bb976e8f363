//! A look at the file, its place and its side file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::SqliteConnection;

use super::sql::CHECKUP;
use super::{SqliteStore, migrate, mount};
use crate::store::Result;
use crate::store::checkup::{self, Check, Depth};

/// Past this the side file is not what commits leave behind: somebody keeps it from being emptied.
const LARGE: u64 = 64 << 20;
/// A rescue takes a moment.
const GRACE: Duration = Duration::from_secs(60);
/// So many of a damaged file's faults are told; SQLite stops at 100.
const TOLD: usize = 5;

impl SqliteStore {
    pub(super) async fn look_over(&self, depth: Depth) -> Result<Vec<Check>> {
        let mut checks = Vec::new();
        if let Some(file) = &self.file {
            checks.push(place(file));
            checks.push(self.hosts().await);
            checks.push(self.side_file(file));
        }
        let mut conn = self.read("look at the database").await?;
        let needed = migrate::KNOWN.len() as u32;
        checks.push(match self.version_in(&mut conn).await {
            Ok(found) => checkup::schema(found, needed),
            Err(error) => Check::unseen("schema", with_cause(&error)),
        });
        if self.file.is_some() {
            checks.push(journal(&mut conn).await);
        }
        checks.push(integrity(&mut conn, depth).await);
        let now = self.clock.now();
        let live: sqlx::Result<i64> = sqlx::query_scalar(CHECKUP.step("nodes"))
            .bind(now.as_micros())
            .fetch_one(&mut *conn)
            .await;
        checks.push(live.map_or_else(|error| Check::unseen("nodes", error), checkup::nodes));
        let jobs: sqlx::Result<i64> = sqlx::query_scalar(CHECKUP.step("orphans"))
            .bind(now.minus(GRACE).as_micros())
            .fetch_one(&mut *conn)
            .await;
        checks.push(jobs.map_or_else(|error| Check::unseen("orphans", error), checkup::orphans));
        let unowned: sqlx::Result<i64> =
            sqlx::query_scalar(CHECKUP.step("unowned")).fetch_one(&mut *conn).await;
        checks.push(unowned.map_or_else(|error| Check::unseen("logs", error), checkup::unowned));
        Ok(checks)
    }

    /// Bytes of the side file; `None` in memory.
    pub(super) fn side_bytes(&self) -> Option<u64> {
        let file = self.file.as_ref()?;
        Some(std::fs::metadata(side(file)).map_or(0, |file| file.len()))
    }

    async fn hosts(&self) -> Check {
        let others = self.others().await;
        match others.first() {
            None => Check::ok("hosts", "no node of another host"),
            Some(other) => Check::fail(
                "hosts",
                format!(
                    "a node of another host, `{}`, serves this file; heard of {} s ago",
                    other.host,
                    self.clock.now().since(other.seen_at).as_secs()
                ),
                "stop one of the two at once, then check again: a SQLite file belongs to one host",
            ),
        }
    }

    fn side_file(&self, file: &Path) -> Check {
        let bytes = self.side_bytes().unwrap_or_default();
        let detail = format!("{bytes} bytes");
        if bytes <= LARGE {
            return Check::ok("side file", detail);
        }
        let holders = holders(file);
        let who = if holders.is_empty() { "unknown".to_owned() } else { holders.join(", ") };
        Check::warn(
            "side file",
            format!("{detail}; a reader keeps it from shrinking, one of: {who}"),
            "end the transaction that has been reading for long, in one of these processes",
        )
    }
}

fn side(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn place(file: &Path) -> Check {
    let Some(mount) = mount::under(file) else {
        return Check::ok("place", "this system does not tell where the file lies");
    };
    let detail = format!("on {}, {}", mount.point.display(), mount.kind);
    if mount.is_shared() {
        let advice = "move the file to a disk of this host, or use PostgreSQL";
        return Check::fail("place", format!("{detail}: a shared file system"), advice);
    }
    Check::ok("place", detail)
}

async fn journal(conn: &mut SqliteConnection) -> Check {
    let mode: sqlx::Result<String> =
        sqlx::query_scalar(CHECKUP.step("journal")).fetch_one(conn).await;
    match mode {
        Ok(mode) if mode == "wal" => Check::ok("journal", mode),
        Ok(mode) => {
            Check::fail("journal", mode, "something changed the file's journal; it must be `wal`")
        }
        Err(error) => Check::unseen("journal", error),
    }
}

async fn integrity(conn: &mut SqliteConnection, depth: Depth) -> Check {
    let step = match depth {
        Depth::Quick => "quick",
        Depth::Full => "whole",
    };
    let advice = "stop all that use it, keep a copy, and restore a backup, or save what can be read: \
        `sqlite3 FILE .recover`";
    let faults: Vec<String> = match sqlx::query_scalar(CHECKUP.step(step)).fetch_all(conn).await {
        Ok(faults) => faults,
        Err(error) => return Check::fail("integrity", error.to_string(), advice),
    };
    if faults == ["ok"] {
        return Check::ok(
            "integrity",
            if step == "quick" { "sound, by a quick look" } else { "sound" },
        );
    }
    let lines: Vec<&str> = faults.iter().flat_map(|fault| fault.lines()).collect();
    let told = lines.iter().take(TOLD).copied().collect::<Vec<_>>().join("; ");
    Check::fail("integrity", format!("the file is damaged, {} faults: {told}", lines.len()), advice)
}

/// Processes that have the file open, as far as this one may look.
fn holders(file: &Path) -> Vec<String> {
    let Ok(file) = file.canonicalize() else { return Vec::new() };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut holders = Vec::new();
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(open) = std::fs::read_dir(process.path().join("fd")) else { continue };
        if open.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == file)) {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            holders.push(format!("{pid} ({})", name.trim()));
        }
    }
    holders
}

fn with_cause(error: &crate::store::StoreError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}
