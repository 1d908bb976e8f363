use longshore::{Client, StoreError};
use shop::{Mailer, SendReceipt};

#[tokio::main]
async fn main() -> Result<(), StoreError> {
    let url = std::env::var("DATABASE_URL").unwrap_or("sqlite:shop.db".to_owned());
    let client = Client::open(&url).await?;
    client.migrate().await?;
    let worker = shop::worker(client.clone(), Mailer::default()).start()?;
    for order in [7, 7, 0] {
        let job = client.enqueue(SendReceipt { order }).await?;
        if job.is_duplicate() {
            println!("order {order} has its job already");
        }
        let job = client.wait(job.id, None).await?;
        println!("order {order}: {}", job.state);
        for error in job.errors {
            println!("  attempt {}: {}", error.attempt, error.message);
        }
    }
    worker.stop().await;
    Ok(())
}
