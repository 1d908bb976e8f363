//! Being told by the system that a file was written to, in place of looking again and again. Linux only.

#[cfg(target_os = "linux")]
pub(super) use told::Watch;
#[cfg(not(target_os = "linux"))]
pub(super) use untold::Watch;

/// What there was since it was asked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    Written,
    /// The file is no longer there, so nothing more will come.
    Gone,
}

#[cfg(target_os = "linux")]
mod told {
    use std::path::Path;

    use futures_util::{FutureExt, StreamExt};
    use inotify::{EventMask, EventStream, Inotify, WatchMask};

    use super::News;

    pub(in super::super) struct Watch(EventStream<[u8; 512]>);

    impl Watch {
        /// `None` where the system will not tell: no such file, no more watches. The file itself is not opened.
        pub fn of(path: &Path) -> Option<Watch> {
            let told = Inotify::init().ok()?;
            told.watches().add(path, WatchMask::MODIFY | WatchMask::DELETE_SELF).ok()?;
            told.into_event_stream([0; 512]).ok().map(Watch)
        }

        /// Waits until there is some.
        pub async fn news(&mut self) -> News {
            match self.0.next().await {
                Some(Ok(event)) if !event.mask.intersects(over()) => match self.take() {
                    News::Nothing => News::Written,
                    news => news,
                },
                _ => News::Gone,
            }
        }

        /// What there is, without waiting.
        pub fn take(&mut self) -> News {
            let mut news = News::Nothing;
            while let Some(told) = self.0.next().now_or_never() {
                match told {
                    Some(Ok(event)) if !event.mask.intersects(over()) => news = News::Written,
                    _ => return News::Gone,
                }
            }
            news
        }
    }

    /// Deleted, though somebody may have it open still; or its file system is gone.
    fn over() -> EventMask {
        EventMask::IGNORED | EventMask::UNMOUNT | EventMask::DELETE_SELF
    }
}

#[cfg(not(target_os = "linux"))]
mod untold {
    use std::path::Path;

    use super::News;

    /// There is none.
    pub(in super::super) enum Watch {}

    impl Watch {
        pub fn of(_: &Path) -> Option<Watch> {
            None
        }

        pub async fn news(&mut self) -> News {
            match *self {}
        }

        pub fn take(&mut self) -> News {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn writes_are_told_and_the_end_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(Watch::of(&path).is_none(), "there is no such file");
        let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let mut watch = Watch::of(&path).unwrap();
        assert_eq!(watch.take(), News::Nothing);
        for _ in 0..1_000 {
            file.write_all(b"more").unwrap();
        }
        assert_eq!(watch.news().await, News::Written);
        assert_eq!(watch.take(), News::Nothing, "all are taken at once");
        let quiet = tokio::time::timeout(Duration::from_millis(50), watch.news()).await;
        assert!(quiet.is_err(), "nothing was written since");
        file.write_all(b"more").unwrap();
        assert_eq!(watch.news().await, News::Written);
        drop(file);
        fs::remove_file(&path).unwrap();
        assert_eq!(watch.news().await, News::Gone);
    }
}
