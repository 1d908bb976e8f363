//! Lists and counts: `store/look.rs` says where to look, the statements here do.

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};
use uuid::Uuid;

use super::error::failed;
use super::sql::{LIST, LOOK, PROBE};
use super::{SqliteStore, json_array, rows};
use crate::job::{JobRow, State};
use crate::query::Filter;
use crate::query::wanted::{Names, Wanted};
use crate::store::look::{self, For, Found, Probe, Rows, Seen, Snapshot, Table};
use crate::store::query::{PREVIEW_BYTES, preview};
use crate::store::{Count, Detail, Effort, ListQuery, Page, Position, Result};
use crate::time::Timestamp;

impl SqliteStore {
    pub(super) async fn page(&self, query: &ListQuery) -> Result<Page> {
        if let Position::After(cursor) | Position::Before(cursor) = query.at {
            cursor.check(&query.filter)?;
        }
        let doing = "list jobs";
        let mut view = self.view(doing).await?;
        look::page(&mut view, query, self.clock.now()).await.map_err(failed(doing))
    }

    pub(super) async fn number(&self, filter: &Filter, effort: Effort) -> Result<Count> {
        let doing = "count jobs";
        let mut view = self.view(doing).await?;
        let wanted = filter.wanted(self.clock.now());
        look::count(&mut view, &wanted, effort).await.map_err(failed(doing))
    }

    pub(super) async fn view(&self, doing: &'static str) -> Result<View> {
        Ok(View(self.readers.begin().await.map_err(failed(doing))?))
    }
}

/// A reading transaction: it sees the file as it was at its first statement.
pub(super) struct View(pub(super) Transaction<'static, Sqlite>);

#[async_trait]
impl Snapshot for View {
    type Fault = sqlx::Error;

    const QUEUES_KNOW_BLOCKED: bool = false;

    /// 1.5 to 3.5 µs a row.
    const COUNT_LOOK: u64 = 15_000;

    async fn probe(&mut self, probe: Probe<'_>, most: u64) -> sqlx::Result<Option<Vec<Uuid>>> {
        let limit = (most + 1) as i64;
        match probe {
            Probe::Dead => self.ids("dead", limit, None, most).await,
            Probe::Running(nodes) => self.ids("running", limit, nodes.map(hex_array), most).await,
            Probe::Keys(keys) => self.ids("keys", limit, Some(json_array(keys)), most).await,
            Probe::Queues(queues, states) => {
                let mut ways = vec![("queues", Some(json_array(queues)))];
                ways.extend(states.contains(&State::Dead).then_some(("dead", None)));
                ways.extend(states.contains(&State::Running).then_some(("running", None)));
                let mut all = Vec::new();
                for (step, set) in ways {
                    let Some(ids) = self.ids(step, limit, set, most).await? else {
                        return Ok(None);
                    };
                    all.extend(ids);
                }
                Ok((all.len() as u64 <= most).then_some(all))
            }
        }
    }

    async fn look(
        &mut self,
        table: Table,
        rows: Rows<'_>,
        wanted: &Wanted,
        purpose: For,
    ) -> sqlx::Result<Seen> {
        let (step, states, all) = match table {
            Table::Hot => ("hot", wanted.hot_states(), 6),
            Table::Cold => ("cold", wanted.cold_states(), 2),
        };
        let (way, from, count, ids) = match rows {
            Rows::Down(from, count) => (0, from, count, None),
            Rows::Up(from, count) => (1, from, count, None),
            Rows::Ids(ids) => (2, Uuid::nil(), 0, Some(hex_array(ids))),
        };
        let mut query = sqlx::query(LOOK.step(step))
            .bind(way)
            .bind(from)
            .bind(count as i64)
            .bind(ids)
            .bind(purpose == For::Rows)
            .bind(wanted.now.as_micros())
            .bind((states.len() < all).then(|| json_array(&states)))
            .bind(some(&wanted.ids.not))
            .bind(wanted.nodes.these.as_deref().map(hex_array))
            .bind(some(&wanted.nodes.not))
            .bind(wanted.kind.these.as_deref().map(json_array))
            .bind(wanted.queue.these.as_deref().map(json_array))
            .bind(wanted.key.these.as_deref().map(json_array))
            .bind(groups(wanted));
        let spans =
            [&wanted.priority, &wanted.attempt, &wanted.created, &wanted.due, &wanted.finished];
        for spans in spans {
            let ((from, to), gaps) = (spans.hull(), spans.gaps());
            query = query.bind(from).bind(to);
            query = query.bind((!gaps.is_empty()).then(|| json_array(&gaps)));
        }
        let row = query.fetch_one(&mut *self.0).await?;
        let found = from_hex(&row)?.into_iter().map(|id| Found { id, finished_at: None });
        Ok(Seen {
            looked: row.try_get::<i64, _>("looked")? as u64,
            found: row.try_get::<i64, _>("found")? as u64,
            these: found.collect(),
            last: row.try_get("last")?,
        })
    }

    async fn jobs(
        &mut self,
        table: Table,
        found: &[Found],
        detail: Detail,
        now: Timestamp,
    ) -> sqlx::Result<Vec<JobRow>> {
        let ids: Vec<Uuid> = found.iter().map(|found| found.id).collect();
        let step = match table {
            Table::Hot => "hot",
            Table::Cold => "cold",
        };
        let rows = sqlx::query(LIST.step(step))
            .bind(hex_array(&ids))
            .bind(now.as_micros())
            .bind((detail == Detail::Preview).then_some(PREVIEW_BYTES))
            .fetch_all(&mut *self.0)
            .await?;
        let whole = |mut job: JobRow| {
            job.payload_bytes = Some(job.payload.len());
            job
        };
        let cut = match detail {
            Detail::Preview => preview,
            Detail::Whole | Detail::Revealed => whole,
        };
        rows.iter().map(|row| rows::job_row(row).map(cut)).collect()
    }
}

impl View {
    async fn ids(
        &mut self,
        step: &str,
        limit: i64,
        set: Option<String>,
        most: u64,
    ) -> sqlx::Result<Option<Vec<Uuid>>> {
        let mut query = sqlx::query(PROBE.step(step)).bind(limit);
        if step != "dead" {
            query = query.bind(set);
        }
        let ids = from_hex(&query.fetch_one(&mut *self.0).await?)?;
        Ok((ids.len() as u64 <= most).then_some(ids))
    }
}

/// Names that no set says: with a star, or left out. A JSON array of groups, if there are any.
fn groups(wanted: &Wanted) -> Option<String> {
    let mut groups = Vec::new();
    for (field, names) in [
        ("kind", &wanted.kind),
        ("queue", &wanted.queue),
        ("key", &wanted.key),
        ("tag", &wanted.tag),
    ] {
        let Names { like, unlike, .. } = names;
        let globs = |names: &[crate::query::Pattern]| -> Vec<String> {
            names.iter().map(crate::query::Pattern::to_glob).collect()
        };
        groups.extend(like.iter().map(|names| (field, 0, globs(names))));
        groups.extend((!unlike.is_empty()).then(|| (field, 1, globs(unlike))));
    }
    (!groups.is_empty()).then(|| json_array(&groups))
}

pub(super) fn hex_array(ids: &[Uuid]) -> String {
    let hex: Vec<String> = ids.iter().map(|id| id.simple().to_string()).collect();
    json_array(&hex)
}

fn some(ids: &[Uuid]) -> Option<String> {
    (!ids.is_empty()).then(|| hex_array(ids))
}

/// Ids in hex, one after the other, as one column: a row for each would change threads for each.
fn from_hex(row: &SqliteRow) -> sqlx::Result<Vec<Uuid>> {
    let text: Option<&str> = row.try_get("ids")?;
    let ids = text.unwrap_or_default().as_bytes().chunks(32);
    ids.map(|hex| Uuid::try_parse_ascii(hex).map_err(|error| sqlx::Error::Decode(error.into())))
        .collect()
}
