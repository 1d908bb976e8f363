//! Never half an output, never a left-over.

use std::cell::Cell;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use longshore_kinds::{KindError, ResizeImage, resize};

use crate::files::{Folder, job, photo};

#[test]
fn a_job_cancelled_at_any_step_leaves_nothing() {
    for checks_before in 0.. {
        let folder = Folder::with("coffee.jpg", photo());
        let checks = Cell::new(0);
        let cancelled = || checks.replace(checks.get() + 1) == checks_before;

        let result = resize(&job("new/out.jpg"), &folder.root, &folder.limits, &cancelled);

        let Err(error) = result else {
            assert_eq!(checks_before, 5, "one check before each step");
            return;
        };
        assert!(matches!(error, KindError::Cancelled) && !error.is_permanent());
        assert_eq!(folder.names(), ["coffee.jpg"], "cancelled at check {checks_before}");
    }
}

#[test]
fn a_failed_write_leaves_the_old_output_and_no_other_file() {
    let folder = Folder::with("coffee.jpg", photo());
    // A folder in the way lets everything succeed but the very last step.
    fs::create_dir_all(folder.path("out.jpg/in it")).unwrap();

    assert!(folder.resize(&job("out.jpg")).is_err());

    assert_eq!(folder.names(), ["coffee.jpg", "out.jpg", "out.jpg/in it"]);
}

#[test]
fn a_failed_job_leaves_the_old_output() {
    let folder = Folder::with("coffee.jpg", b"not a picture any more");
    folder.put("out.jpg", b"old");

    assert!(folder.resize(&job("out.jpg")).is_err());

    assert_eq!(fs::read(folder.path("out.jpg")).unwrap(), b"old");
}

#[test]
fn a_second_run_replaces_the_output_by_the_same_bytes() {
    let folder = Folder::with("coffee.jpg", photo());
    folder.put("out.webp", &[7; 1_000_000]);

    let (first, _) = folder.resized(&job("out.webp"));
    let bytes = fs::read(folder.path("out.webp")).unwrap();
    let (second, _) = folder.resized(&job("out.webp"));

    assert_eq!(first, second);
    assert_eq!(fs::read(folder.path("out.webp")).unwrap(), bytes);
    assert_eq!(folder.names(), ["coffee.jpg", "out.webp"]);
}

#[test]
fn a_picture_may_replace_itself() {
    let folder = Folder::with("coffee.jpg", photo());

    let (resized, picture) = folder.resized(&job("coffee.jpg"));

    assert_eq!((resized.source.width, resized.output.width, picture.width()), (600, 60, 60));
    assert_eq!(folder.names(), ["coffee.jpg"]);
}

#[test]
fn missing_folders_are_made() {
    let folder = Folder::with("coffee.jpg", photo());
    folder.resized(&job("a/b/c/out.jpg"));
    folder.resized(&job("./a/out.jpg"));
    let names = ["a", "a/b", "a/b/c", "a/b/c/out.jpg", "a/out.jpg", "coffee.jpg"];
    assert_eq!(folder.names(), names);
}

#[test]
fn jobs_that_write_one_file_at_once_give_one_whole_file() {
    let folder = Folder::with("coffee.jpg", photo());
    let sizes = [40, 80, 160, 320];
    let job = |size| ResizeImage::new("coffee.jpg", "new/out.png", size, size);
    folder.resized(&job(sizes[0]));
    let done = AtomicBool::new(false);

    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !done.load(Relaxed) {
                // Every look, at any moment, finds a complete picture.
                let width = folder.open("new/out.png").width();
                assert!(sizes.contains(&width), "{width} wide");
                reads += 1;
            }
            reads
        });
        let writers = sizes.map(|size| {
            let (folder, job) = (&folder, &job);
            scope.spawn(move || (0..5).for_each(|_| drop(folder.resize(&job(size)).unwrap())))
        });
        let wrote = writers.map(|writer| writer.join());
        done.store(true, Relaxed);
        assert!(wrote.iter().all(Result::is_ok));
        assert!(reader.join().unwrap() > 0);
    });
    assert_eq!(folder.names(), ["coffee.jpg", "new", "new/out.png"]);
}
