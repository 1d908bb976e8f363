//! `#[longshore::test]`.

use longshore::StoreError;
use longshore::testing::TestStore;

use super::*;

#[longshore::test]
async fn one_on_sqlite(store: TestStore) -> Result<(), StoreError> {
    store.enqueue(mail("ada")).await?;
    store.assert_enqueued::<SendMail>().once().await;
    assert!(format!("{store:?}").contains("sqlite:"), "{store:?}");
    Ok(())
}

#[longshore::test(postgres)]
async fn one_on_postgres(store: TestStore) {
    assert!(format!("{store:?}").contains("postgres"), "{store:?}");
}

#[longshore::test(both)]
async fn two(store: TestStore) {
    store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued");
    assert_eq!(store.drain(app(&store)).await.succeeded, 1);
}

#[longshore::test]
#[should_panic = "expected such a job, but none waits"]
async fn other_attributes_stay(store: TestStore) {
    store.assert_enqueued::<SendMail>().await;
}

#[longshore::test]
#[should_panic = "the test returned an error"]
async fn an_error_fails_the_test(store: TestStore) -> Result<(), StoreError> {
    store.get(longshore::JobId::new()).await?;
    Ok(())
}
