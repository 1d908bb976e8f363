//! Whose file it is: processes of one host may share it, those of two would damage it. A node's row names
//! its host, and its heartbeat says that it lives.

use std::time::{Duration, Instant};

use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::SqliteStore;
use super::error::failed;
use super::sql::HOST;
use crate::store::{Result, StoreError};
use crate::time::Timestamp;

/// Between two looks at another host's heartbeat.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A row that claims a longer lease than this was made by a clock that is wrong.
const LONGEST_WATCH: Duration = Duration::from_secs(60);

/// A node of another host whose lease holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Other {
    pub node: Uuid,
    pub host: String,
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
}

/// What tells this host from others, and not from its containers: they share the kernel, and its start has
/// an id. `machine-id` would not do, since images bring one along and several hosts then have the same.
pub(super) fn this_host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    let name = name.unwrap_or_default();
    match (name.trim(), boot.trim()) {
        ("", "") => "this host".to_owned(),
        (name, "") => name.to_owned(),
        (name, boot) => format!("{name} {boot}"),
    }
}

/// What decides whether two hosts are one: the kernel's start where it is known, the name elsewhere.
fn identity(host: &str) -> &str {
    host.rsplit_once(' ').map_or(host, |(_, boot)| boot)
}

impl SqliteStore {
    /// Refuses a file that a node of another host serves. A node that stopped without leaving (a power cut,
    /// and this host has another id since) is watched for the rest of its lease: one that beats is alive,
    /// whatever the clocks say; one that does not is over, and its lease is ended.
    pub(super) async fn must_be_ours(&self) -> Result<()> {
        let (Some(file), false) = (&self.file, self.allow_other_host) else { return Ok(()) };
        let began = Instant::now();
        let mut first: Option<Vec<Other>> = None;
        loop {
            let others = self.others().await;
            let Some(longest) = others.iter().map(|other| other.lease()).max() else {
                return Ok(());
            };
            let beaten = |other: &&Other| {
                first.as_ref().is_some_and(|known| {
                    !known.iter().any(|k| (k.node, k.seen_at) == (other.node, other.seen_at))
                })
            };
            if let Some(other) = others.iter().find(beaten) {
                return Err(other.refused(&file.display().to_string(), self.clock.now()));
            }
            if began.elapsed() >= longest {
                return self.end_leases(&others).await;
            }
            first.get_or_insert(others);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Live nodes of other hosts. A schema without them, or a file that cannot be read, has none: the calls
    /// that follow say what is wrong.
    pub(super) async fn others(&self) -> Vec<Other> {
        let Ok(mut conn) = self.readers.acquire().await else { return Vec::new() };
        others(&mut conn, self.clock.now(), &self.host).await.unwrap_or_default()
    }

    /// In the transaction of a join: of two hosts that start at once, the second is refused.
    pub(super) async fn no_others(&self, conn: &mut SqliteConnection) -> Result<()> {
        let (Some(file), false) = (&self.file, self.allow_other_host) else { return Ok(()) };
        let now = self.clock.now();
        let others = others(conn, now, &self.host).await.map_err(failed("join as a node"))?;
        match others.first() {
            None => Ok(()),
            Some(other) => Err(other.refused(&file.display().to_string(), now)),
        }
    }

    async fn end_leases(&self, others: &[Other]) -> Result<()> {
        let doing = "take over from another host";
        let mut tx = self.begin(doing).await?;
        for other in others {
            tracing::warn!("node {} of host {} is over: it does not beat", other.node, other.host);
            sqlx::query(HOST.step("end"))
                .bind(other.node)
                .bind(other.seen_at.as_micros())
                .bind(self.clock.now().as_micros())
                .execute(&mut *tx)
                .await
                .map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))
    }
}

impl Other {
    fn lease(&self) -> Duration {
        self.expires_at.since(self.seen_at).min(LONGEST_WATCH)
    }

    fn refused(&self, file: &str, now: Timestamp) -> StoreError {
        StoreError::OtherHost {
            file: file.to_owned(),
            host: self.host.clone(),
            seen: now.since(self.seen_at),
        }
    }
}

async fn others(
    conn: &mut SqliteConnection,
    now: Timestamp,
    host: &str,
) -> sqlx::Result<Vec<Other>> {
    let rows = sqlx::query(HOST.step("others")).bind(now.as_micros()).fetch_all(conn).await?;
    let mut others = Vec::new();
    for row in rows {
        let other = Other {
            node: row.try_get("id")?,
            host: row.try_get("host")?,
            seen_at: Timestamp::from_micros(row.try_get("seen_at")?),
            expires_at: Timestamp::from_micros(row.try_get("expires_at")?),
        };
        if identity(&other.host) != identity(host) {
            others.push(other);
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_one_host_are_one() {
        assert_eq!(identity("web-1 2f1c"), identity("web-2 2f1c"));
        assert_ne!(identity("web 2f1c"), identity("web 77aa"));
        assert_ne!(identity("mac"), identity("other mac 1"));
        assert_eq!(this_host(), this_host());
    }
}
