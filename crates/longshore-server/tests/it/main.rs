//! The API, called without a socket, on both databases.

mod audit;
mod batch;
mod browser;
mod errors;
mod events;
mod harness;
mod life;
mod lists;
mod metrics;
mod once;
mod operations;
mod openapi;
mod payloads;
mod queues;
mod retention;
mod rights;
mod tokens;
mod users;
mod work;
