//! Rows in the binary form that `COPY` takes: PostgreSQL's manual, "COPY", "Binary Format".

use sqlx::PgConnection;
use sqlx::postgres::PgCopyIn;
use uuid::Uuid;

use super::types::to_wire;
use crate::time::Timestamp;

/// The type of `text`, in an array's head.
const TEXT: i32 = 25;

/// A `COPY` under way.
pub(super) struct Copy<'c> {
    copy: PgCopyIn<&'c mut PgConnection>,
    rows: Rows,
}

impl<'c> Copy<'c> {
    pub async fn begin(
        conn: &'c mut PgConnection,
        sql: &'static str,
    ) -> Result<Copy<'c>, sqlx::Error> {
        Ok(Copy { copy: conn.copy_in_raw(sql).await?, rows: Rows::new() })
    }

    /// A whole one, of rows that are made already.
    pub async fn at_once(
        conn: &'c mut PgConnection,
        sql: &'static str,
        rows: Rows,
    ) -> Result<(), sqlx::Error> {
        Copy { rows, ..Copy::begin(conn, sql).await? }.end().await
    }

    /// Sends rows; the server takes them in while others are made.
    pub async fn send(&mut self, add: impl FnOnce(&mut Rows)) -> Result<(), sqlx::Error> {
        add(&mut self.rows);
        self.copy.send(self.rows.0.as_slice()).await?;
        self.rows.0.clear();
        Ok(())
    }

    /// Whatever was wrong with a row is told here at the latest.
    pub async fn end(mut self) -> Result<(), sqlx::Error> {
        self.rows.end();
        self.copy.send(self.rows.0.as_slice()).await?;
        self.copy.finish().await.map(|_| ())
    }
}

/// Rows of a `COPY`, ready to be sent.
pub(super) struct Rows(Vec<u8>);

impl Rows {
    pub fn new() -> Rows {
        let mut bytes = b"PGCOPY\n\xff\r\n\0".to_vec();
        // No flags, no extension of the head.
        bytes.extend([0; 8]);
        Rows(bytes)
    }

    /// Begins a row of so many columns.
    pub fn row(&mut self, columns: i16) {
        self.0.extend(columns.to_be_bytes());
    }

    pub fn uuid(&mut self, id: Uuid) {
        self.value(id.as_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.value(text.as_bytes());
    }

    pub fn maybe_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    pub fn int2(&mut self, number: i16) {
        self.value(&number.to_be_bytes());
    }

    pub fn int4(&mut self, number: i32) {
        self.value(&number.to_be_bytes());
    }

    pub fn maybe_int8(&mut self, number: Option<i64>) {
        match number {
            Some(number) => self.value(&number.to_be_bytes()),
            None => self.null(),
        }
    }

    pub fn time(&mut self, at: Timestamp) {
        self.value(&to_wire(at.as_micros()).to_be_bytes());
    }

    /// An array; without entries, null.
    pub fn texts(&mut self, texts: &[String]) {
        if texts.is_empty() {
            return self.null();
        }
        let bytes: usize = texts.iter().map(|text| 4 + text.len()).sum();
        self.length(20 + bytes);
        // One dimension, no nulls, its type, its length, from 1.
        for number in [1, 0, TEXT, length(texts.len()), 1] {
            self.0.extend(number.to_be_bytes());
        }
        texts.iter().for_each(|text| self.text(text));
    }

    fn null(&mut self) {
        self.0.extend((-1_i32).to_be_bytes());
    }

    fn value(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend(bytes);
    }

    fn length(&mut self, bytes: usize) {
        self.0.extend(length(bytes).to_be_bytes());
    }

    fn end(&mut self) {
        self.0.extend((-1_i16).to_be_bytes());
    }
}

/// Nothing here comes near two billion: a part of a call has a few MiB.
fn length(count: usize) -> i32 {
    i32::try_from(count).expect("payloads and parts are bounded")
}
