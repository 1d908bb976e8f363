//! One `enqueue_many` of many jobs. Takes an address and how many; prints jobs a second, and the most
//! memory this process ever had, in MiB. `scripts/show/12-bulk` holds them against their bars.

use std::time::Instant;

use longshore::{Client, NewJob};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, count] = args.as_slice() else { return Err("usage: bulk URL COUNT".into()) };
    let count: u64 = count.parse()?;
    let client = Client::open(url).await?;
    client.migrate().await?;
    let began = Instant::now();
    let job = |n| NewJob::new("bench.bulk").payload(format!("{{\"n\": {n}, \"pad\": \"{PAD}\"}}"));
    let answers = client.enqueue_many((0..count).map(job)).await?;
    let took = began.elapsed().as_secs_f64();
    assert_eq!(answers.len() as u64, count);
    println!("{:.0} {}", count as f64 / took, peak_mib()?);
    client.close().await;
    Ok(())
}

/// So that a payload has some 100 bytes.
const PAD: &str =
    "eighty bytes of a payload as applications have it, ids and names and a line of text";

fn peak_mib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}
