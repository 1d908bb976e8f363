//! The one folder that jobs may read and write.
//!
//! Payloads come from strangers, so a path in one is only ever resolved beneath an open handle of
//! that folder, by the kernel where it can (`openat2`). A link that stays inside is followed; an
//! absolute one, or one that climbs out, is refused wherever it stands in the path, even if it
//! comes to stand there during the look-up.

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path};

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::error::{KindError, at_most};

/// The folder that file jobs live in. Holds the folder open: if it is moved, jobs go on in it.
#[derive(Debug)]
pub struct FilesRoot {
    dir: Dir,
}

/// A path out of a payload that is relative, has no `..` and ends in a file's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    field: &'static str,
    path: &'a Path,
}

impl FilesRoot {
    /// Opens an existing folder. Links in `folder` itself are followed: the operator chose it.
    ///
    /// # Errors
    /// Whatever the system says, e.g. that there is no such folder.
    pub fn open(folder: impl AsRef<Path>) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
        Ok(Self { dir })
    }

    /// The whole file, which may have `max_bytes` at most.
    pub(crate) fn read(&self, place: Place<'_>, max_bytes: u64) -> Result<Vec<u8>, KindError> {
        // Without `nonblock`, opening a pipe would wait for a writer, perhaps for ever.
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let file = self.dir.open_with(place.path, &options).map_err(|e| match e.kind() {
            ErrorKind::NotFound => KindError::Missing { field: place.field },
            _ => place.error("open", e),
        })?;

        let metadata = file.metadata().map_err(|e| place.error("read", e))?;
        if !metadata.is_file() {
            return Err(place.wrong("is not a file"));
        }
        at_most(place.field, metadata.len(), "bytes", max_bytes)?;

        // The file may still be growing: count what really comes.
        let mut bytes = Vec::new();
        file.take(max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| place.error("read", e))?;
        at_most(place.field, bytes.len() as u64, "bytes", max_bytes)?;
        Ok(bytes)
    }

    /// Puts `bytes` at `place`, replacing what was there: a reader sees the old file or the whole
    /// new one, and once this returns it survives a power cut. A link at `place` is replaced, not
    /// followed. Missing folders are made. If it fails, `place` is as before and nothing else stays
    /// behind except such folders. (A process killed half-way leaves a `.longshore-….part`.)
    pub(crate) fn write(&self, place: Place<'_>, bytes: &[u8]) -> Result<(), KindError> {
        let name = place.path.file_name().expect("a place ends in a name");
        let folder = self.folder_of(place).map_err(|e| place.error("make the folder of", e))?;

        let unfinished = Unfinished::create(&folder).map_err(|e| place.error("create", e))?;
        unfinished.fill(bytes).map_err(|e| place.error("write", e))?;
        unfinished.rename(name.as_ref()).map_err(|e| place.error("replace", e))?;
        sync(&folder).map_err(|e| place.error("write", e))
    }

    /// Opens an existing folder below it, or itself as `.`.
    pub(crate) fn folder(&self, path: &str, field: &'static str) -> Result<Dir, KindError> {
        if path == "." {
            return self.dir.try_clone().map_err(|source| KindError::Io {
                doing: "open",
                field,
                source,
            });
        }
        let place = Place::new(field, path)?;
        self.dir.open_dir(place.path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => KindError::Missing { field },
            _ => place.error("open", error),
        })
    }

    /// Opens the folder that `place` is in; makes it, and those above it, if need be.
    fn folder_of(&self, place: Place<'_>) -> io::Result<Dir> {
        let path = match place.path.parent() {
            None => return self.dir.try_clone(),
            Some(parent) if parent.as_os_str().is_empty() => return self.dir.try_clone(),
            Some(parent) => parent,
        };
        match self.dir.open_dir(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        self.dir.create_dir_all(path)?;
        // A new folder lasts only once the folder above it is on disk too.
        for above in path.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()) {
            sync(&self.dir.open_dir(above)?)?;
        }
        sync(&self.dir)?;
        self.dir.open_dir(path)
    }
}

impl<'a> Place<'a> {
    /// Takes `path` out of the payload's `field`. Looks only at the text, never at the disk.
    pub(crate) fn new(field: &'static str, path: &'a str) -> Result<Self, KindError> {
        let place = Self { field, path: Path::new(path) };
        if path.is_empty() {
            return Err(place.wrong("is empty"));
        }
        if path.contains('\0') {
            return Err(place.wrong("has a zero byte in it"));
        }
        let stays_inside = |c| matches!(c, Component::Normal(_) | Component::CurDir);
        if !place.path.components().all(stays_inside) {
            return Err(place.wrong("must be a relative path without `..`"));
        }
        // `Path` would quietly drop such an ending.
        if place.path.file_name().is_none() || path.ends_with('/') || path.ends_with("/.") {
            return Err(place.wrong("names a folder, not a file"));
        }
        Ok(place)
    }

    /// What follows the last full stop of the name.
    pub(crate) fn extension(self) -> Option<&'a str> {
        self.path.extension()?.to_str()
    }

    fn wrong(self, problem: &'static str) -> KindError {
        KindError::payload(self.field, problem)
    }

    /// Sorts what the system said: another attempt helps, or the path is to blame.
    fn error(self, doing: &'static str, e: io::Error) -> KindError {
        match e.kind() {
            // The resolver's own word for a way out: not from the system, so it has no number.
            ErrorKind::PermissionDenied if e.raw_os_error().is_none() => {
                KindError::Outside { field: self.field }
            }
            ErrorKind::IsADirectory => self.wrong("names a folder, not a file"),
            ErrorKind::NotADirectory => self.wrong("leads through something that is not a folder"),
            ErrorKind::InvalidFilename => self.wrong("has a name that is too long"),
            _ => KindError::Io { doing, field: self.field, source: e },
        }
    }
}

/// A file that has not got its name yet; removed again unless it gets one.
struct Unfinished<'a> {
    folder: &'a Dir,
    /// Short and of its own, so that neither a long output name nor a second job is in the way.
    name: String,
    file: cap_std::fs::File,
    renamed: bool,
}

impl<'a> Unfinished<'a> {
    fn create(folder: &'a Dir) -> io::Result<Self> {
        let name = format!(".longshore-{:016x}.part", fastrand::u64(..));
        let file = folder.open_with(&name, OpenOptions::new().write(true).create_new(true))?;
        Ok(Self { folder, name, file, renamed: false })
    }

    /// Writes all of `bytes` and waits until they are on disk.
    fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.file).write_all(bytes)?;
        self.file.sync_all()
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, to)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // Nobody is left to tell; the error that brought us here is on its way already.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Makes renames in `folder` last through a power cut.
fn sync(folder: &Dir) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(()); // A folder cannot be opened as a file there.
    }
    // `folder` itself may be a handle for look-ups only, which cannot be synced.
    match folder.open(".")?.sync_all() {
        // Some network file systems know no such call.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(kind: ErrorKind) -> KindError {
        let place = Place::new("output", "a.png").unwrap();
        place.error(
            "write",
            io::Error::from_raw_os_error(match kind {
                ErrorKind::StorageFull => 28,      // ENOSPC
                ErrorKind::PermissionDenied => 13, // EACCES
                other => panic!("no number for {other:?}"),
            }),
        )
    }

    #[test]
    fn a_full_disk_and_a_missing_right_are_worth_another_attempt() {
        for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied] {
            let error = sorted(kind);
            assert!(!error.is_permanent(), "{kind:?}: {error}");
            assert_eq!(error.to_string(), "could not write `output`");
        }
    }

    #[test]
    fn a_path_is_judged_by_its_text_first() {
        for good in
            ["a.jpg", "./a.jpg", "a/b.jpg", "a//b.jpg", "..a/b..jpg", "ä/猫 🐈.jpg", "-", "a\\b"]
        {
            assert!(Place::new("source", good).is_ok(), "{good:?}");
        }
        for bad in ["", "/", "/a", "..", "../a", "a/../b", "a/..", ".", "./", "a/", "a/.", "a\0b"] {
            assert!(Place::new("source", bad).unwrap_err().is_permanent(), "{bad:?}");
        }
    }
}
