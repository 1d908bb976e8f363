use longshore::testing::TestStore;

#[longshore::test]
fn not_async(_store: TestStore) {}

#[longshore::test]
async fn without_a_store() {}

#[longshore::test(mysql)]
async fn on_another(_store: TestStore) {}

fn main() {}
