//! Pauses as nodes obey them. With a poll once in ten minutes nothing but the pause's end, or a hint, can be the
//! cause of a look; and the jobs are so old that a node's marks have moved past them.

use std::sync::Arc;

use longshore::store::{NewPause, PauseScope};
use longshore::{Client, Run, State, Timestamp};

use super::wakes::{deaf, idle};
use super::*;

/// A job that has been due for an hour.
fn old() -> NewJob {
    job().run_at(Timestamp::now().minus(HOUR))
}

/// It lies there, and the node has looked past it.
async fn is_passed_over(d: &Desk, id: JobId) {
    tokio::time::sleep(300 * MILLI).await;
    assert_eq!(d.t.state(id).await, State::Queued);
}

async fn lies_until_resumed(d: &Desk, client: &Client, pause: NewPause) {
    let (scope, name) = (pause.scope, pause.name.clone());
    client.pause(pause).await.expect("a pause");
    let id = d.enqueue(old()).await;
    is_passed_over(d, id).await;
    assert!(client.resume(scope, &name).await.expect("a resume"));
    d.comes_to(id, State::Succeeded).await;
}

pub async fn what_was_passed_over_runs_at_once_after_a_resume(d: Arc<Desk>) {
    let worker = idle(&d).await;
    for pause in [NewPause::queue("default"), NewPause::kind("k")] {
        lies_until_resumed(&d, &d.client, pause).await;
    }
    worker.stop().await;
}

pub async fn another_process_pauses_and_resumes(d: Arc<Desk>) {
    let worker = idle(&d).await;
    let other = d.beside().await;
    for pause in [NewPause::queue("default"), NewPause::kind("k")] {
        lies_until_resumed(&d, &other, pause).await;
    }
    worker.stop().await;
    other.close().await;
}

pub async fn a_pause_that_ends_by_itself_is_over_at_once(d: Arc<Desk>) {
    let worker = idle(&d).await;
    for pause in [NewPause::queue("default"), NewPause::kind("k")] {
        let set = d.client.pause(pause.lasting(2 * SECOND)).await.expect("a pause");
        let id = d.enqueue(old()).await;
        is_passed_over(&d, id).await;
        let row = d.comes_to(id, State::Succeeded).await;
        let late = row.finished_at.expect("it ended").since(set.until.expect("an end"));
        assert!(late < SECOND, "{late:?} after the end");
    }
    worker.stop().await;
}

pub async fn a_node_that_starts_while_paused_waits(d: Arc<Desk>) {
    d.client.pause(NewPause::queue("default")).await.expect("a pause");
    let id = d.enqueue(old()).await;
    let worker = d.worker().config(deaf()).handle("k", async |_: Run| {}).start().expect("a node");
    is_passed_over(&d, id).await;
    d.client.resume(PauseScope::Queue, "default").await.expect("a resume");
    d.comes_to(id, State::Succeeded).await;
    worker.stop().await;
}

/// Nothing is heard: the poll obeys and finds, and within a second.
pub async fn polling_alone_obeys(d: Arc<Desk>) {
    let worker = d.worker().handle("k", async |_: Run| {}).start().expect("a worker");
    let other = d.beside().await;
    lies_until_resumed(&d, &other, NewPause::queue("default")).await;
    worker.stop().await;
    other.close().await;
}
