//! Longshore over HTTP: a router that serves the API of one database, alone or mounted in another application.
//!
//! A request travels one way: layers -> identity -> right -> handler -> client. Everything that goes wrong
//! becomes a [`problem::Problem`]. No SQL, no flags and no files are known here.

mod api; // the route table, and a handler each
mod audit; // what they do leaves a trace
mod bucket; // how much may be done at once
mod config; // what may be set
mod cookie; // how a browser shows its session
mod events; // hears that something has changed, for all who listen
mod health; // whether this process lives, and whether it serves
mod identity; // who asks
mod trace; // which trace a request belongs to
mod layers; // what every request goes through
mod meta; // notes of a job, changed without touching the rest
mod metrics; // what this process counts
mod once; // a request that is sent again
mod openapi; // the document, made from the route table
mod password; // hashed, compared
pub mod problem; // what went wrong
mod reference; // the page that shows the document to people
mod request; // what requests bring
mod rights; // what may be done, and by whom
mod secrets; // with what they come in
mod server; // the router
mod sign_in; // how a user comes in
pub mod wire; // what goes over the wire

pub use config::{Access, Rate, ServerConfig};
pub use health::Readiness;
pub use identity::{Identity, Kind};
pub use openapi::document;
pub use password::{BadPassword, PASSWORD_LENGTH, check as check_password, hash as hash_password};
pub use rights::{Grant, Right, Role, UnknownWord};
pub use server::Server;
