//! A web application that takes an order and enqueues its e-mail in one transaction, with the worker in the
//! same process. Its SQLite file lies in a temporary folder; Ctrl-C stops it when all is done.
//!
//! `cargo run -p longshore --example axum_transaction`, then
//! `curl http://127.0.0.1:3000/orders --json '{"id": 7, "to": "ada@example.com"}'`. There are three pieces to
//! sell. Another address to listen on is its argument.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use longshore::{Client, Job, Worker};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::net::TcpListener;

#[derive(Clone)]
struct Shop {
    pool: SqlitePool,
    jobs: Client,
}

#[derive(Deserialize)]
struct Order {
    id: i64,
    to: String,
}

#[derive(Serialize, Deserialize)]
struct SendReceipt {
    order: i64,
    to: String,
}

impl Job for SendReceipt {
    const KIND: &'static str = "send_receipt";
    type Output = ();
}

/// Would send an e-mail.
async fn send(job: SendReceipt) {
    println!("to {}: thank you for order {}", job.to, job.order);
}

/// The order, its e-mail and the piece that it takes: all of them or none.
async fn take(
    State(shop): State<Shop>,
    Json(order): Json<Order>,
) -> Result<(StatusCode, String), Fault> {
    // IMMEDIATE: it will write, so it waits for other writers here and not in the middle.
    let mut tx = shop.pool.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query("INSERT INTO orders (id) VALUES ($1)").bind(order.id).execute(&mut *tx).await?;
    let receipt = SendReceipt { order: order.id, to: order.to };
    let added = shop.jobs.enqueue_in(&mut tx, receipt).await?;
    let sold = sqlx::query("UPDATE stock SET pieces = pieces - 1 WHERE pieces > 0");
    if sold.execute(&mut *tx).await?.rows_affected() == 0 {
        // The transaction is dropped here, and with it the order and the e-mail.
        return Err(Fault(StatusCode::CONFLICT, "sold out\n".to_owned()));
    }
    tx.commit().await?;
    Ok((StatusCode::CREATED, format!("order {}, e-mail by job {}\n", order.id, added.id)))
}

/// What a request is answered that went wrong.
struct Fault(StatusCode, String);

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"))
    }
}

impl axum::response::IntoResponse for Fault {
    fn into_response(self) -> axum::response::Response {
        (self.0, self.1).into_response()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shop.db");
    let jobs = Client::open(&format!("sqlite:{}", file.display())).await?;
    jobs.migrate().await?;
    // The application's own tables lie in the same file, or there would be no common transaction.
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&file)).await?;
    let tables = "CREATE TABLE orders (id INTEGER PRIMARY KEY);
        CREATE TABLE stock (pieces INTEGER NOT NULL); INSERT INTO stock VALUES (3)";
    sqlx::raw_sql(tables).execute(&pool).await?;
    let worker = Worker::new(jobs.clone()).queue("default", 4).job(send).start()?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/orders", listener.local_addr()?);
    let shop = Shop { pool: pool.clone(), jobs: jobs.clone() };
    let app = Router::new().route("/orders", post(take)).with_state(shop);
    let stop = async { tokio::signal::ctrl_c().await.expect("Ctrl-C can be heard") };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;

    // No more orders come in. E-mails on their way are sent; those that wait would be sent after the next start.
    worker.stop().await;
    jobs.close().await;
    pool.close().await;
    println!("stopped");
    Ok(())
}
