use longshore::{Client, Job, StoreError, Worker};

#[derive(serde::Serialize, serde::Deserialize, Job)]
#[job(kind = "greet")]
struct Greet(String);

async fn greet(Greet(name): Greet) {
    println!("hello, {name}");
}

#[tokio::main]
async fn main() -> Result<(), StoreError> {
    let client = Client::open("sqlite:shop.db").await?;
    client.migrate().await?;
    let job = client.enqueue(Greet("Ada".to_owned())).await?;
    let worker = Worker::new(client.clone()).queue("default", 4).job(greet);
    worker.run_until(client.wait(job.id, None)).await
}
