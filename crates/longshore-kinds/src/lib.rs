//! Built-in kinds: jobs that do real work.
