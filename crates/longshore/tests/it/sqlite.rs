//! The conformance suite on SQLite, and what only SQLite does.

conformance!(Sqlite);
