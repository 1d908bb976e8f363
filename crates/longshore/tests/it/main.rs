//! The one integration-test binary: both stores, held to the same words.

mod harness;
#[macro_use]
mod conformance;

mod cases;
mod checkup;
#[cfg(feature = "postgres")]
mod days;
#[cfg(feature = "macros")]
mod derive;
mod docs;
mod examples;
#[cfg(feature = "postgres")]
mod door;
mod jobs_view;
mod migrations;
mod plans;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
#[cfg(target_os = "linux")]
mod sqlite_faults;
mod sqlite_place;
mod sqlite_side_file;
#[cfg(feature = "testing")]
mod testing;
mod tidy;
#[cfg(all(feature = "macros", feature = "testing"))]
mod tutorial;
#[cfg(feature = "postgres")]
mod walk;
mod worker;
