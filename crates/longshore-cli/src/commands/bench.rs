//! Measures a database with our worker, and the floor beneath it.
