//! Runs the built executable as a person or a script would.

mod fake;
mod harness;

mod audit;
mod bad_input;
mod bench;
mod clients;
mod dev;
mod docs;
mod doctor;
mod enqueue;
mod http;
mod jobs;
mod lists;
mod mails;
mod migrate;
mod operations;
#[cfg(feature = "otel")]
mod otel;
mod queues;
mod remote;
mod retention;
mod schemathesis;
mod serve;
mod settings;
mod token;
mod user;
mod versions;
#[cfg(not(feature = "otel"))]
mod without_otel;
