//! What others do while a handler's transaction is open. PostgreSQL only: on SQLite nobody else can write then.

use super::cut::{on, through};
use super::transactions::{Then, Till};
use super::*;
use crate::harness::proxy::Way;

pub async fn a_cancel_meanwhile_takes_the_effect_back(d: Arc<Desk>) {
    let till = Till::new(d).await;
    let worker = till.pays(till.d.worker()).start().expect("a worker");
    let id = till.enqueue(1, Then::Wait).await;
    until("it runs", async || till.begun.get() == 1).await;
    till.d.cancel(id).await;
    till.gate.open();
    let row = till.d.comes_to(id, State::Cancelled).await;
    assert_eq!(row.output, None);
    assert_eq!(till.paid().await, (0, 0));
    worker.stop().await;
}

pub async fn a_lost_lease_takes_the_effect_back(d: Arc<Desk>) {
    let till = Till::new(d).await;
    let worker = till.pays(till.d.worker()).start().expect("a worker");
    let id = till.enqueue(1, Then::Wait).await;
    until("it runs", async || till.begun.get() == 1).await;
    // Somebody declares the node lost and gives its job away; not due at once, or its poll could take the job back
    // before the late result arrives, which would then be in time.
    let given = format!(
        "update {} set node = null, lease = null, run_at = now() + interval '1 second' where id = {}",
        till.d.t.table("job"),
        till.d.t.literal(id.as_uuid()),
    );
    till.d.t.execute(given).await;
    till.gate.open();
    until("the late result is refused", async || worker.health().lost_leases_total > 0).await;
    // The next owner finds nothing of the first one's work in its way.
    let row = till.d.comes_to(id, State::Succeeded).await;
    assert_eq!((row.attempt, row.errors.len()), (2, 0));
    assert_eq!(till.paid().await, (1, 1));
    worker.stop().await;
}

/// The reply to the commit is lost: it counts all the same, and only once.
pub async fn a_commit_whose_reply_is_lost_counts_once(d: Arc<Desk>) {
    let till = Till::new(d).await;
    let (proxy, client) = through(&till.d).await;
    let worker = till.pays(on(&client)).start().expect("a worker");
    let id = till.enqueue(1, Then::Wait).await;
    until("it runs", async || till.begun.get() == 1).await;
    proxy.lose_reply_to("COMMIT");
    till.gate.open();
    let row = till.d.comes_to(id, State::Succeeded).await;
    assert_eq!((row.attempt, row.output.as_deref()), (1, Some("1")));
    assert_eq!(proxy.lost_replies(), 1, "the reply was lost");
    assert_eq!(till.paid().await, (1, 1));
    assert_eq!(till.begun.get(), 1);
    proxy.set(Way::Open);
    worker.stop().await;
    client.close().await;
}

/// The server goes away before the commit reaches it: neither the effect nor the completion is there.
pub async fn a_commit_that_never_arrives_does_nothing(d: Arc<Desk>) {
    let till = Till::new(d).await;
    let (proxy, client) = through(&till.d).await;
    let worker = till.pays(on(&client)).start().expect("a worker");
    let id = till.enqueue(1, Then::Wait).await;
    until("it runs", async || till.begun.get() == 1).await;
    proxy.set(Way::Shut);
    till.gate.open();
    tokio::time::sleep(200 * MILLI).await;
    assert_eq!(till.paid().await, (0, 0));
    proxy.set(Way::Open);
    let row = till.d.comes_to(id, State::Dead).await;
    assert!(row.errors[0].message.contains("commit a handler's transaction"), "{row:?}");
    assert_eq!(till.paid().await, (0, 0));
    worker.stop().await;
    client.close().await;
}
