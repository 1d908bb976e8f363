//! Clients that add jobs, each in a transaction of its own beside a row of its own, in short turns with
//! and without telling other nodes. Takes an address of PostgreSQL, how many clients, how many seconds
//! a turn and how many turns of each kind; prints what came of it, a figure a line.
//! `scripts/show/16-notify` holds them against their bars.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use longshore::{Client, Limits, NewJob, StoreOptions};
use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{Acquire, PgPool};

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// What was heard at the end of a turn still belongs to it.
const SILENCE: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, clients, seconds, turns] = args.as_slice() else {
        return Err("usage: notify_cost URL CLIENTS SECONDS TURNS".into());
    };
    let (clients, seconds): (u32, f64) = (clients.parse()?, seconds.parse()?);
    let turn = Duration::from_secs_f64(seconds);
    let client = |notify: bool| {
        let options = StoreOptions { notify, ..StoreOptions::default() };
        Client::open_with(url, options, Limits::default())
    };
    let (telling, silent) = (client(true).await?, client(false).await?);
    telling.migrate().await?;
    let pool = PgPoolOptions::new().min_connections(clients).max_connections(clients);
    let pool = pool.connect(url).await?;
    sqlx::query("CREATE TABLE purchase (id bigserial PRIMARY KEY, item text NOT NULL)")
        .execute(&pool)
        .await?;
    let heard = listen(url).await?;

    // Nobody's turn: connections, caches and plans are warm when it counts.
    buy_for(&silent, &pool, clients, turn).await?;
    let (mut on, mut off) = (Sums::default(), Sums::default());
    for round in 0..turns.parse::<u32>()? {
        // Whoever comes second meets a larger table, so the order changes.
        for telling_now in if round % 2 == 0 { [true, false] } else { [false, true] } {
            let (client, sums) =
                if telling_now { (&telling, &mut on) } else { (&silent, &mut off) };
            let before = heard.load(Ordering::SeqCst);
            let (commits, took) = buy_for(client, &pool, clients, turn).await?;
            tokio::time::sleep(SILENCE).await;
            sums.commits += commits;
            sums.rates.push(commits as f64 / took.as_secs_f64());
            sums.heard += heard.load(Ordering::SeqCst) - before;
        }
    }
    for (name, sums) in [("on", on), ("off", off)] {
        let rates: Vec<String> = sums.rates.iter().map(|rate| format!("{rate:.0}")).collect();
        println!("{name}_rates {}", rates.join(" "));
        println!("{name}_commits {}", sums.commits);
        println!("{name}_per_second {:.0}", median(sums.rates));
        println!("{name}_heard {}", sums.heard);
    }
    telling.close().await;
    silent.close().await;
    Ok(())
}

#[derive(Default)]
struct Sums {
    rates: Vec<f64>,
    commits: u64,
    heard: u64,
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

/// Counts what any node hears.
async fn listen(url: &str) -> Result<Arc<AtomicU64>> {
    let mut listener = PgListener::connect(url).await?;
    listener.listen("longshore").await?;
    let heard = Arc::new(AtomicU64::new(0));
    let count = heard.clone();
    tokio::spawn(async move {
        while listener.recv().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    Ok(heard)
}

/// All clients at once, until the turn is over; how many commits, and how long they took.
async fn buy_for(
    client: &Client,
    pool: &PgPool,
    clients: u32,
    turn: Duration,
) -> Result<(u64, Duration)> {
    let begun = Instant::now();
    let buyers: Vec<_> = (0..clients)
        .map(|_| tokio::spawn(buy(client.clone(), pool.clone(), begun + turn)))
        .collect();
    let mut commits = 0;
    for buyer in buyers {
        commits += buyer.await??;
    }
    Ok((commits, begun.elapsed()))
}

/// One client: a row of its own and a job, in one transaction, again and again.
async fn buy(client: Client, pool: PgPool, until: Instant) -> Result<u64> {
    let mut conn = pool.acquire().await?;
    let mut commits = 0;
    while Instant::now() < until {
        let mut tx = conn.begin().await?;
        sqlx::query("INSERT INTO purchase (item) VALUES ('rope')").execute(&mut *tx).await?;
        client.enqueue_in(&mut tx, NewJob::new("deliver")).await?;
        tx.commit().await?;
        commits += 1;
    }
    Ok(commits)
}
