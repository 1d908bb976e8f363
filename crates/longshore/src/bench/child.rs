//! What a process does that the benchmark has started; `children.rs` says in which words it tells of it.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::bare::Bare;
use super::children::{LOOP, wall_us};
use super::seen::{Seen, number_in};
use super::{KIND, PROBE, QUEUE, Refused, worker_named};
use crate::client::Client;
use crate::worker::Run;

/// How often a child looks how many of its jobs ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What a child does: works on the queue of the benchmark from the first line of its input until that
/// ends.
pub async fn child(client: &Client, slots: u32) -> Result<(), Refused> {
    let (tell, mut input) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    say("open");
    match input.recv().await {
        None => return Ok(()),
        Some(word) if word == LOOP => return bare_loop(client, input).await,
        Some(_) => {}
    }
    let seen = Seen::new(u32::MAX);
    let (jobs, most) = (Arc::clone(&seen), Arc::new(AtomicUsize::new(0)));
    let highest = Arc::clone(&most);
    let working = worker_named(client)
        .queue(QUEUE, slots)
        .handle(KIND, move |run: Run| {
            highest.fetch_max(number_in(run.payload()), Ordering::Relaxed);
            jobs.ran(&run);
            std::future::ready(())
        })
        .handle(PROBE, |run: Run| {
            say(&format!("probe {} {}", number_in(run.payload()), wall_us()));
            std::future::ready(())
        })
        .start()?;
    let (mut ready, mut first, mut ended) = (false, false, 0);
    loop {
        let health = working.health();
        if health.ready && !ready {
            ready = true;
            say("ready");
        }
        if seen.any() && !first {
            first = true;
            say("first");
        }
        if health.finished_total > ended {
            ended = health.finished_total;
            say(&format!("ended {ended}"));
        }
        // The end of its input, or whatever comes, stops it.
        if tokio::time::timeout(LOOK_EVERY, input.recv()).await.is_ok() {
            break;
        }
    }
    working.stop().await;
    say(&ran(&seen, most.load(Ordering::Relaxed)));
    Ok(())
}

/// The floor of a child. It tells of its jobs one by one, as a worker does.
async fn bare_loop(client: &Client, mut input: UnboundedReceiver<String>) -> Result<(), Refused> {
    let store = Arc::clone(client.store());
    let looping = client.engine().run(async move {
        let mut bare = Bare::join(&store).await?;
        let seen = Seen::new(u32::MAX);
        let (mut ended, mut most) = (0, 0);
        while input.is_empty() && !input.is_closed() {
            let taken = bare.take_again().await?;
            if taken.is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            }
            if ended == 0 {
                say("first");
            }
            for number in taken.iter().map(|job| number_in(&job.payload)) {
                seen.saw(number, 1);
                most = most.max(number);
            }
            ended += bare.end(&taken).await?;
            say(&format!("ended {ended}"));
        }
        input.close();
        bare.leave().await?;
        Ok::<_, Refused>(ran(&seen, most))
    });
    say(&looping.await?);
    Ok(())
}

/// To whoever started this process. If that is gone, the end of the input says so.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// What `note` in `children.rs` reads: what ran once in ranges, what ran more often once for each time.
fn ran(seen: &Seen, most: usize) -> String {
    let mut said = "ran".to_owned();
    let mut open: Option<usize> = None;
    for number in 0..=most {
        let times = seen.times(number);
        match (times, open) {
            (1, None) => open = Some(number),
            (1, Some(_)) => {}
            (_, Some(first)) => {
                said.push_str(&format!(" {first}-{}", number - 1));
                open = None;
            }
            (_, None) => {}
        }
        let again = if times > 1 { times } else { 0 };
        (0..again).for_each(|_| said.push_str(&format!(" {number}")));
    }
    match open {
        Some(first) => said + &format!(" {first}-{most}"),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::super::children::note;
    use super::*;

    #[test]
    fn what_a_child_ran_is_what_its_parent_hears() {
        let child = Seen::new(1);
        for number in [0, 1, 2, 5, 7, 7, 8, 8, 8, 9, 70_000] {
            child.saw(number, 1);
        }
        let said = ran(&child, 70_000);
        assert_eq!(said, "ran 0-2 5-5 7 7 8 8 8 9-9 70000-70000");
        let parent = Seen::new(1);
        note(&said, &parent);
        note("ended 12", &parent);
        assert!((0..=70_001).all(|number| parent.times(number) == child.times(number)));
    }
}
