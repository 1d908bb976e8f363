use longshore::StoreError;
use longshore::testing::TestStore;
use shop::{Mailer, SendReceipt};

#[longshore::test]
async fn a_busy_server_is_asked_again(store: TestStore) -> Result<(), StoreError> {
    store.enqueue(SendReceipt { order: 7 }).await?;
    store.assert_enqueued::<SendReceipt>().with(|job| job.order == 7).queue("mail").once().await;

    let worker = shop::worker(store.client(), Mailer::default());
    let done = store.drain(worker).with_scheduled().await;
    assert_eq!((done.failed, done.succeeded), (1, 1));
    Ok(())
}

#[longshore::test]
async fn a_receipt_is_sent_once(store: TestStore) -> Result<(), StoreError> {
    let first = store.enqueue(SendReceipt { order: 7 }).await?;
    let again = store.enqueue(SendReceipt { order: 7 }).await?;
    assert_eq!((again.id, again.is_duplicate()), (first.id, true));
    Ok(())
}
