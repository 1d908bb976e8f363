//! Lists and counts: `store/look.rs` says where to look, the statements here do.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::job::{JobRow, State};
use crate::query::wanted::{Names, Wanted};
use crate::query::{Filter, Pattern};
use crate::store::look::{self, For, Found, Probe, Rows, Seen, Snapshot, Table};
use crate::store::query::{PREVIEW_BYTES, preview};
use crate::store::{Count, Detail, Effort, ListQuery, Page, Position, Result};
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::ranges;
use super::read::job_row;
use super::session::{Session, within};

const BEGIN: &str = include_str!("list_begin.sql");
const LIST: &str = include_str!("list.sql");
const LIST_ENDED: &str = include_str!("list_ended.sql");
const LOOK: &str = include_str!("look.sql");
const LOOK_ENDED: &str = include_str!("look_ended.sql");
const PROBE: &str = include_str!("probe.sql");

/// Ids in `claim` that a look for running jobs checks. Those of jobs that are over stay for a
/// heartbeat, so there may be many more than run.
const MAX_HELD: i64 = 20_000;

impl PostgresStore {
    pub(super) async fn page(&self, query: &ListQuery) -> Result<Page> {
        if let Position::After(cursor) | Position::Before(cursor) = query.at {
            cursor.check(&query.filter)?;
        }
        self.repeated("list jobs", || self.try_page(query)).await
    }

    async fn try_page(&self, query: &ListQuery) -> Result<Page, Fault> {
        let (mut view, now) = self.view().await?;
        let page = look::page(&mut view, query, now).await?;
        view.0.done().await?;
        Ok(page)
    }

    pub(super) async fn number(&self, filter: &Filter, effort: Effort) -> Result<Count> {
        let mut tries = Tries::repeatable("count jobs");
        loop {
            let count = self.try_number(filter, effort);
            let counted = match effort {
                Effort::Bounded => within(self.patience(), count).await,
                Effort::Within(span) => within(self.patience() + span, count).await,
                Effort::Unbounded => count.await,
            };
            match counted {
                Ok(count) => return Ok(count),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_number(&self, filter: &Filter, effort: Effort) -> Result<Count, Fault> {
        let (mut view, now) = self.view().await?;
        let count = look::count(&mut view, &filter.wanted(now), effort).await?;
        view.0.done().await?;
        Ok(count)
    }

    pub(super) async fn view(&self) -> Result<(View, Timestamp), Fault> {
        let mut session = Session::snapshot(&self.pools.general, self.mode).await?;
        let row = session.query(BEGIN).bind(self.clock.fixed()).fetch_one(session.conn()).await?;
        Ok((View(session), row.try_get("now")?))
    }
}

/// A transaction that sees the database as it was at its first statement.
pub(super) struct View(pub(super) Session);

#[async_trait]
impl Snapshot for View {
    type Fault = Fault;

    const QUEUES_KNOW_BLOCKED: bool = true;

    /// 0.5 to 2 µs a row.
    const COUNT_LOOK: u64 = 30_000;

    async fn probe(&mut self, probe: Probe<'_>, most: u64) -> Result<Option<Vec<Uuid>>, Fault> {
        let (mut nodes, mut keys, mut queues) = (None, None, None);
        match probe {
            Probe::Running(of) => nodes = of,
            Probe::Keys(these) => keys = Some(these),
            Probe::Queues(these, _) => queues = Some(these),
            Probe::Dead => {}
        }
        let row = self
            .0
            .query(PROBE)
            .bind((most + 1) as i64)
            .bind(matches!(probe, Probe::Dead))
            .bind(matches!(probe, Probe::Running(_)))
            .bind(nodes)
            .bind(keys)
            .bind(queues)
            .bind(MAX_HELD)
            .fetch_one(self.0.conn())
            .await?;
        let ids: Option<Vec<Option<Uuid>>> = row.try_get("ids")?;
        let ids: Option<Vec<Uuid>> = ids.unwrap_or_default().into_iter().collect();
        Ok(ids.filter(|ids| ids.len() as u64 <= most))
    }

    async fn look(
        &mut self,
        table: Table,
        rows: Rows<'_>,
        wanted: &Wanted,
        purpose: For,
    ) -> Result<Seen, Fault> {
        let (sql, states, all) = match table {
            Table::Hot => (LOOK, wanted.hot_states(), 6),
            Table::Cold => (LOOK_ENDED, wanted.cold_states(), 2),
        };
        let (ended_from, ended_before) = wanted.ended_between();
        let (way, from, count, ids) = match rows {
            Rows::Down(from, count) => (0, from, count, None),
            Rows::Up(from, count) => (1, from, count, None),
            Rows::Ids(ids) => (2, Uuid::nil(), 0, Some(ids)),
        };
        let states: Vec<&str> = states.into_iter().map(State::as_str).collect();
        let mut query = self
            .0
            .query(sql)
            .bind(way)
            .bind(from)
            .bind(count as i64)
            .bind(ids)
            .bind(purpose == For::Rows)
            .bind(match table {
                Table::Hot => Some(wanted.now),
                Table::Cold => ended_from,
            })
            .bind((states.len() < all).then_some(states))
            .bind(some(wanted.ids.not.clone()))
            .bind(wanted.nodes.these.as_deref())
            .bind(some(wanted.nodes.not.clone()));
        for names in [&wanted.kind, &wanted.queue, &wanted.key] {
            query = query
                .bind(names.these.as_deref())
                .bind(some(like(names, whole_name)))
                .bind(some(unlike(names, whole_name)));
        }
        query = query
            .bind(some(like(&wanted.tag, one_tag)))
            .bind(some(unlike(&wanted.tag, one_tag)))
            .bind(ranges::numbers(&wanted.priority))
            .bind(ranges::numbers(&wanted.attempt))
            .bind(ranges::times(&wanted.created))
            .bind(ranges::times(&wanted.due))
            .bind(ranges::times(&wanted.finished));
        if table == Table::Cold {
            query = query.bind(ended_before);
        }
        seen(&query.fetch_one(self.0.conn()).await?)
    }

    async fn jobs(
        &mut self,
        table: Table,
        found: &[Found],
        detail: Detail,
        now: Timestamp,
    ) -> Result<Vec<JobRow>, Fault> {
        let ids: Vec<Uuid> = found.iter().map(|found| found.id).collect();
        let characters = (detail == Detail::Preview).then_some(PREVIEW_BYTES as i32);
        let query = match table {
            Table::Hot => self.0.query(LIST).bind(ids).bind(now),
            Table::Cold => {
                let ended = || found.iter().filter_map(|found| found.finished_at);
                self.0.query(LIST_ENDED).bind(ids).bind(ended().min()).bind(ended().max())
            }
        };
        let rows = query.bind(characters).fetch_all(self.0.conn()).await?;
        let read = |row: &PgRow| -> Result<JobRow, sqlx::Error> {
            let mut job = job_row(row)?;
            let bytes: Option<i32> = row.try_get("payload_bytes")?;
            job.payload_bytes = bytes.map(|bytes| bytes as usize);
            Ok(match detail {
                Detail::Preview => preview(job),
                Detail::Whole | Detail::Revealed => {
                    JobRow { payload_bytes: Some(job.payload.len()), ..job }
                }
            })
        };
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }
}

fn seen(row: &PgRow) -> Result<Seen, Fault> {
    let ids: Option<Vec<Uuid>> = row.try_get("ids")?;
    let ended: Option<Vec<Timestamp>> = row.try_get("ended")?;
    let mut ended = ended.unwrap_or_default().into_iter();
    let these = ids.unwrap_or_default().into_iter();
    Ok(Seen {
        looked: row.try_get::<i64, _>("looked")? as u64,
        found: row.try_get::<i64, _>("found")? as u64,
        these: these.map(|id| Found { id, finished_at: ended.next() }).collect(),
        last: row.try_get("last")?,
    })
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn like(names: &Names, regex: fn(&[Pattern]) -> String) -> Vec<String> {
    names.like.iter().map(|group| regex(group)).collect()
}

fn unlike(names: &Names, regex: fn(&[Pattern]) -> String) -> Vec<String> {
    if names.unlike.is_empty() { Vec::new() } else { vec![regex(&names.unlike)] }
}

/// Fits a whole name.
fn whole_name(patterns: &[Pattern]) -> String {
    format!("^(?:{})$", any_of(patterns, ".*"))
}

/// Fits one of several tags that stand between control characters, which no tag has.
fn one_tag(patterns: &[Pattern]) -> String {
    format!("\u{1f}(?:{})\u{1f}", any_of(patterns, "[^\u{1f}]*"))
}

fn any_of(patterns: &[Pattern], any: &str) -> String {
    let each: Vec<String> = patterns.iter().map(|pattern| pattern.to_regex(any)).collect();
    each.join("|")
}
