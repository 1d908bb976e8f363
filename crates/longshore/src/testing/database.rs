//! A database for one test, which goes when it is dropped.

use std::fmt;

#[cfg(feature = "postgres")]
use crate::store::postgres::Scratch;

pub(super) enum Database {
    #[cfg(feature = "sqlite")]
    Sqlite(tempfile::TempDir),
    #[cfg(feature = "postgres")]
    Postgres(Scratch),
}

impl Database {
    #[cfg(feature = "sqlite")]
    pub fn sqlite() -> Result<Database, String> {
        tempfile::Builder::new()
            .prefix("longshore-test-")
            .tempdir()
            .map(Database::Sqlite)
            .map_err(|error| format!("could not make a temporary folder: {error}"))
    }

    #[cfg(not(feature = "sqlite"))]
    pub fn sqlite() -> Result<Database, String> {
        Err("SQLite is not in this build; turn on longshore's feature `sqlite`".to_owned())
    }

    #[cfg(feature = "postgres")]
    pub async fn postgres(server: &str) -> crate::store::Result<Database> {
        Scratch::make(server).await.map(Database::Postgres)
    }

    pub fn url(&self) -> String {
        match self {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(folder) => {
                format!("sqlite:{}", folder.path().join("jobs.db").display())
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(scratch) => scratch.url.clone(),
            #[cfg(not(any(feature = "sqlite", feature = "postgres")))]
            _ => unreachable!("without a backend there is no database"),
        }
    }
}

#[cfg(feature = "postgres")]
impl Drop for Database {
    fn drop(&mut self) {
        // A folder removes itself.
        #[cfg_attr(
            not(feature = "sqlite"),
            allow(irrefutable_let_patterns, reason = "the only one")
        )]
        if let Database::Postgres(scratch) = self {
            remove(scratch.clone());
        }
    }
}

/// On a thread with a runtime of its own: a drop cannot wait on the test's, which may be unwinding.
#[cfg(feature = "postgres")]
fn remove(scratch: Scratch) {
    let removing = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map(|runtime| runtime.block_on(scratch.remove()))
    });
    match removing.join() {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => eprintln!("{error}; a later test will"),
        Ok(Err(_)) | Err(_) => eprintln!("a test's database stays; a later test removes it"),
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::store::without_secret(&self.url()))
    }
}
