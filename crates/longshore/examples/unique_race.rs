//! Clients that race for one key, each in a transaction of its own; every second one rolls back. Takes an
//! address, how many clients and how many rounds; prints what came of it, a figure a line.
//! `scripts/show/11-unique-race` holds them against their bars.

use std::time::Duration;

use longshore::store::Tx;
use longshore::{Client, Enqueued, JobId, NewJob, Unique};
use sqlx::{Acquire, PgPool, SqlitePool};

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The application's own connections.
#[derive(Clone)]
enum Pool {
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

#[derive(Default)]
struct Sums {
    answers: u64,
    created: u64,
    duplicates: u64,
    rolled_back: u64,
    untrue: u64,
    wrong_rounds: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, clients, rounds] = args.as_slice() else {
        return Err("usage: unique_race URL CLIENTS ROUNDS".into());
    };
    let (clients, rounds): (u32, u32) = (clients.parse()?, rounds.parse()?);
    let client = Client::open(url).await?;
    client.migrate().await?;
    let pool = open(url, clients).await?;
    let mut sums = Sums::default();
    for round in 0..rounds {
        let racers: Vec<_> = (0..clients)
            .map(|n| {
                let (client, pool) = (client.clone(), pool.clone());
                tokio::spawn(race(client, pool, format!("round-{round}"), n % 2 == 1))
            })
            .collect();
        let mut answers = Vec::new();
        for racer in racers {
            answers.push(racer.await??);
        }
        judge(&client, &answers, &mut sums).await?;
    }
    let Sums { answers, created, duplicates, rolled_back, untrue, wrong_rounds } = sums;
    println!("answers {answers}");
    println!("created {created}");
    println!("duplicates {duplicates}");
    println!("rolled_back {rolled_back}");
    println!("untrue {untrue}");
    println!("wrong_rounds {wrong_rounds}");
    client.close().await;
    Ok(())
}

async fn open(url: &str, clients: u32) -> Result<Pool> {
    use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
    if let Some(path) = url.strip_prefix("sqlite:") {
        // Waiting is ours: SQLite's own sleeps longer and longer, and lets newcomers pass.
        let options = SqliteConnectOptions::new().filename(path).busy_timeout(Duration::ZERO);
        let pool = SqlitePoolOptions::new().max_connections(clients);
        return Ok(Pool::Sqlite(pool.connect_with(options).await?));
    }
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(clients);
    Ok(Pool::Postgres(pool.connect(url).await?))
}

/// One client's answer, and whether it committed.
async fn race(
    client: Client,
    pool: Pool,
    key: String,
    rolls_back: bool,
) -> Result<(Enqueued, bool)> {
    match pool {
        Pool::Postgres(pool) => {
            let mut conn = pool.acquire().await?;
            let mut tx = conn.begin().await?;
            let answer = enqueue(&client, &mut tx, key).await?;
            if rolls_back {
                tx.rollback().await?
            } else {
                tx.commit().await?
            }
            Ok((answer, !rolls_back))
        }
        Pool::Sqlite(pool) => {
            let mut tx = loop {
                match pool.begin_with("BEGIN IMMEDIATE").await {
                    Err(sqlx::Error::Database(_)) => {
                        tokio::time::sleep(Duration::from_micros(500)).await;
                    }
                    begun => break begun?,
                }
            };
            let answer = enqueue(&client, &mut tx, key).await?;
            if rolls_back {
                tx.rollback().await?
            } else {
                tx.commit().await?
            }
            Ok((answer, !rolls_back))
        }
    }
}

async fn enqueue(client: &Client, tx: &mut impl Tx, key: String) -> Result<Enqueued> {
    Ok(client.enqueue_in(tx, NewJob::new("race").unique(Unique::key(key))).await?)
}

/// Exactly one job came of the round, and whoever was called a duplicate was one of that job.
async fn judge(client: &Client, answers: &[(Enqueued, bool)], sums: &mut Sums) -> Result<()> {
    let created: Vec<JobId> = answers
        .iter()
        .filter(|(answer, committed)| *committed && answer.is_added())
        .map(|(answer, _)| answer.id)
        .collect();
    sums.answers += answers.len() as u64;
    sums.created += created.len() as u64;
    let [job] = created.as_slice() else {
        sums.wrong_rounds += 1;
        return Ok(());
    };
    client.get(*job).await?;
    for (answer, committed) in answers {
        sums.rolled_back += u64::from(!committed);
        sums.duplicates += u64::from(answer.is_duplicate());
        let vanished = !committed && answer.is_added() && client.get(answer.id).await.is_ok();
        sums.untrue += u64::from(vanished || !answer.is_added() && answer.id != *job);
    }
    Ok(())
}
