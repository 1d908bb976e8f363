//! Where a file lies: SQLite's locks and its shared memory work among processes of one host, on a disk
//! of that host. On a network file system they fail in silence, and the file with them.

#[cfg(target_os = "linux")]
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::store::{Result, StoreError};

/// File systems that another host can write to, or that hand a host's files into a virtual machine.
/// None of them keeps a memory map of several hosts the same, which is what the `-shm` file needs; the
/// cluster file systems that nearly do (ocfs2, gfs2) are here too, since SQLite cannot see the difference.
const SHARED: [&str; 42] = [
    "9p",
    "acfs",
    "afs",
    "auristorfs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "davfs",
    "exafs",
    "fakeowner",
    "fuse.ceph-fuse",
    "fuse.cephfs",
    "fuse.davfs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.goofys",
    "fuse.grpcfuse",
    "fuse.juicefs",
    "fuse.osxfs",
    "fuse.portal",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "prl_fs",
    "pvfs2",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Its type, in the kernel's word: `ext4`, `nfs4`, `fuse.sshfs`.
    pub kind: String,
}

impl Mount {
    /// Whether more than this host may write to it.
    pub fn is_shared(&self) -> bool {
        SHARED.contains(&self.kind.as_str())
    }
}

/// Refuses a file on a shared file system, or warns of it if that is allowed.
pub(super) fn check(file: &Path, allowed: bool) -> Result<()> {
    judge(file, under(file), allowed)
}

fn judge(file: &Path, mount: Option<Mount>, allowed: bool) -> Result<()> {
    let Some(mount) = mount.filter(Mount::is_shared) else { return Ok(()) };
    if allowed {
        tracing::warn!(
            file = %file.display(),
            mount = %mount.point.display(),
            kind = mount.kind,
            "the database {} lies on {}, of type {}: if ever two hosts open it, it will be damaged",
            file.display(),
            mount.point.display(),
            mount.kind
        );
        return Ok(());
    }
    Err(StoreError::SharedMount {
        file: file.display().to_string(),
        mount: mount.point.display().to_string(),
        kind: mount.kind,
    })
}

/// The file system that `file` lies on, or will lie on; `None` where this cannot be told, which is
/// everywhere but on Linux.
#[cfg(target_os = "linux")]
pub(super) fn under(file: &Path) -> Option<Mount> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    found_in(&table, &real(file)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn under(_file: &Path) -> Option<Mount> {
    None
}

/// The path without links. Of a file that is not there yet, its folder's; of one behind a connection
/// that broke, as it was written.
#[cfg(target_os = "linux")]
fn real(file: &Path) -> Option<PathBuf> {
    let file = std::path::absolute(file).ok()?;
    let folder = || {
        let folder = file.parent()?.canonicalize().ok()?;
        Some(folder.join(file.file_name()?))
    };
    file.canonicalize().ok().or_else(folder).or(Some(file))
}

/// The mount with the longest point above `path`; of several at one point the last, which hides the others.
#[cfg(target_os = "linux")]
fn found_in(table: &[u8], path: &Path) -> Option<Mount> {
    let mounts = table.split(|byte| *byte == b'\n').filter_map(read_line);
    let above = mounts.filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.as_os_str().len())
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw`: the fifth word, and the first after
/// the dash. Any number of words may stand before that.
#[cfg(target_os = "linux")]
fn read_line(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ');
    let point = PathBuf::from(OsString::from_vec(plain(words.nth(4)?)));
    words.find(|word| *word == b"-")?;
    let kind = OsString::from_vec(plain(words.next()?)).to_string_lossy().into_owned();
    point.as_os_str().as_bytes().starts_with(b"/").then_some(Mount { point, kind })
}

/// Blanks, tabs, line ends and backslashes stand in the table as `\` and three octal digits.
#[cfg(target_os = "linux")]
fn plain(word: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(word.len()), word);
    while let [first, after @ ..] = rest {
        if let (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) =
            (first, after)
        {
            plain.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
            rest = after;
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 27 0:20 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
40 27 0:35 / /srv rw,relatime shared:19 master:3 propagate_from:2 - nfs4 nas:/export rw,vers=4.2,addr=10.0.0.2
41 40 8:17 / /srv/local rw,relatime - xfs /dev/sdb1 rw
42 27 0:39 / /mnt/my\\040data\\134x rw,relatime - cifs //nas/my\\040data rw,vers=3.1.1
43 27 0:40 / /app rw,relatime - virtiofs mount0 rw
44 27 0:41 / /data rw,relatime - 9p drvfs rw,aname=drvfs
45 27 8:1 /var/data /data rw,relatime - ext4 /dev/sda1 rw
46 27 0:42 / /win rw - 9p C:\\134 rw,trans=fd
broken line
";

    fn at(path: &str) -> (String, String) {
        let mount = found_in(TABLE.as_bytes(), Path::new(path)).expect("the root is there");
        (mount.point.display().to_string(), mount.kind)
    }

    #[test]
    fn the_longest_mount_point_above_a_file_is_its_own() {
        for (path, point, kind) in [
            ("/var/lib/t.db", "/", "ext4"),
            ("/srv/t.db", "/srv", "nfs4"),
            ("/srv/local/t.db", "/srv/local", "xfs"),
            ("/srv/locally/t.db", "/srv", "nfs4"),
            ("/srvx/t.db", "/", "ext4"),
            ("/mnt/my data\\x/t.db", "/mnt/my data\\x", "cifs"),
            ("/data/t.db", "/data", "ext4"),
            ("/win/t.db", "/win", "9p"),
        ] {
            assert_eq!(at(path), (point.to_owned(), kind.to_owned()), "{path}");
        }
        assert_eq!(found_in(b"", Path::new("/t.db")), None);
    }

    #[test]
    fn a_shared_one_is_refused_by_name_unless_it_is_allowed() {
        let mount = |path: &str| found_in(TABLE.as_bytes(), Path::new(path));
        let file = Path::new("/app/t.db");
        let refused = judge(file, mount("/app/t.db"), false).expect_err("virtiofs");
        let words = refused.to_string();
        for named in ["/app/t.db", "on /app", "virtiofs", "store.allow_shared_mount"] {
            assert!(words.contains(named), "{words}");
        }
        judge(file, mount("/app/t.db"), true).expect("allowed");
        judge(file, mount("/srv/local/t.db"), false).expect("a disk of this host");
        judge(file, None, false).expect("nobody can tell");
        assert!(SHARED.is_sorted(), "so that a missing one is seen");
    }

    #[test]
    fn this_host_tells_where_a_file_lies() {
        let folder = tempfile::tempdir().expect("a folder");
        let there = under(folder.path()).expect("on Linux");
        assert_eq!(under(&folder.path().join("not/yet.db")), Some(there.clone()));
        std::os::unix::fs::symlink("/proc", folder.path().join("link")).expect("a link");
        assert_eq!(under(&folder.path().join("link/x")).expect("on Linux").kind, "proc");
        assert!(!there.is_shared());
    }
}
