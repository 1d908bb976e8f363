//! No path leads out of the files folder.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use longshore_kinds::{Format, KindError, ResizeImage};

use crate::files::{Folder, encoded, job, photo, quarters};

/// A folder where the only picture lies outside.
fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.outside("secret.jpg"), photo()).unwrap();
    folder
}

fn from(source: &str) -> ResizeImage {
    ResizeImage::new(source, "out.jpg", 9, 9)
}

#[test]
fn a_path_that_climbs_or_starts_at_the_top_is_refused_for_good() {
    let folder = folder();
    folder.put("coffee.jpg", photo());
    fs::create_dir(folder.path("a")).unwrap();
    let absolute = folder.outside("secret.jpg").to_str().unwrap().to_owned();
    let inside = folder.path("coffee.jpg").to_str().unwrap().to_owned();

    for bad in [
        "../outside/secret.jpg",
        "a/../../outside/secret.jpg",
        "..",
        "a/..",
        "/",
        "a/../coffee.jpg",
    ]
    .into_iter()
    .chain([&absolute[..], &inside])
    {
        let right = |field| (format!("`{field}` must be a relative path without `..`"), true);
        assert_eq!(folder.refused(&from(bad)), right("source"), "{bad}");
        assert_eq!(folder.refused(&job(bad)), right("output"), "{bad}");
    }
    assert_eq!(folder.names(), ["a", "coffee.jpg"]);
}

#[test]
fn a_zero_byte_does_not_cut_the_path_short() {
    let folder = folder();
    folder.put("coffee.jpg", photo());
    let complaint = |field| (format!("`{field}` has a zero byte in it"), true);
    assert_eq!(folder.refused(&from("coffee.jpg\0.txt")), complaint("source"));
    assert_eq!(folder.refused(&job("out.jpg\0.png")), complaint("output"));
}

#[test]
fn a_link_that_leads_out_is_refused_wherever_it_stands() {
    let folder = folder();
    symlink(folder.outside("secret.jpg"), folder.path("absolute.jpg")).unwrap();
    symlink("../outside/secret.jpg", folder.path("climbs.jpg")).unwrap();
    symlink(folder.outside(""), folder.path("absolute")).unwrap();
    symlink("../outside", folder.path("climbs")).unwrap();
    symlink("climbs", folder.path("twice")).unwrap();
    symlink("/proc/self/root", folder.path("magic")).unwrap();

    for source in [
        "absolute.jpg",
        "climbs.jpg",
        "absolute/secret.jpg",
        "climbs/secret.jpg",
        "twice/secret.jpg",
        "magic/etc/passwd",
    ] {
        let complaint = "`source` leads out of the files folder".to_owned();
        assert_eq!(folder.refused(&from(source)), (complaint, true), "{source}");
    }
    folder.put("coffee.jpg", photo());
    for output in
        ["absolute/o.jpg", "climbs/o.jpg", "twice/o.jpg", "twice/new/o.jpg", "magic/o.jpg"]
    {
        let complaint = "`output` leads out of the files folder".to_owned();
        assert_eq!(folder.refused(&job(output)), (complaint, true), "{output}");
    }
    assert_untouched(&folder);
}

#[test]
fn a_refusal_does_not_tell_what_lies_outside() {
    let folder = folder();
    for (name, target) in
        [("there.jpg", "../outside/secret.jpg"), ("not.jpg", "../outside/none.jpg")]
    {
        symlink(target, folder.path(name)).unwrap();
    }
    let text = |source| format!("{:?}", folder.resize(&from(source)).unwrap_err());
    assert_eq!(text("there.jpg"), text("not.jpg"));
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let folder = Folder::new();
    fs::create_dir(folder.path("real")).unwrap();
    folder.put("real/coffee.jpg", photo());
    symlink("real", folder.path("folder")).unwrap();
    symlink("folder/../real/coffee.jpg", folder.path("picture.jpg")).unwrap();

    folder.resized(&from("folder/coffee.jpg"));
    folder.resized(&from("picture.jpg"));
    folder.resized(&ResizeImage::new("picture.jpg", "folder/new/o.png", 9, 9));
    assert!(folder.path("real/new/o.png").is_file());
}

#[test]
fn a_link_in_the_place_of_the_output_is_replaced_and_its_target_left_alone() {
    let folder = folder();
    folder.put("coffee.jpg", photo());
    for target in ["../outside/secret.jpg", "../outside/new.jpg", "coffee.jpg", "nowhere"] {
        symlink(target, folder.path("out.jpg")).unwrap();
        folder.resized(&job("out.jpg"));
        assert!(fs::symlink_metadata(folder.path("out.jpg")).unwrap().is_file(), "{target}");
        fs::remove_file(folder.path("out.jpg")).unwrap();
    }
    assert_eq!(fs::read(folder.path("coffee.jpg")).unwrap(), photo());
    assert_untouched(&folder);
}

#[test]
fn a_link_that_changes_its_mind_during_the_look_up_lets_nothing_out() {
    let folder = folder();
    folder.put("coffee.jpg", &encoded(&quarters(9, 9).into(), Format::Png, None));
    fs::create_dir(folder.path("inside")).unwrap();
    symlink("inside", folder.path("sub")).unwrap();
    let done = AtomicBool::new(false);

    let (mut written, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for target in ["../outside", "inside"].into_iter().cycle() {
                symlink(target, folder.path("next")).unwrap();
                fs::rename(folder.path("next"), folder.path("sub")).unwrap();
                if done.load(Relaxed) {
                    return;
                }
            }
        });
        for _ in 0..100 {
            match folder.resize(&job("sub/out.jpg")) {
                Ok(_) => written += 1,
                Err(KindError::Outside { .. }) => refused += 1,
                Err(other) => panic!("writing: {other:?}"),
            }
            match folder.resize(&from("sub/secret.jpg")) {
                Err(KindError::Outside { .. } | KindError::Missing { .. }) => {}
                other => panic!("reading: {other:?}"),
            }
        }
        done.store(true, Relaxed);
    });
    println!("{written} written inside, {refused} refused");
    assert_untouched(&folder);
}

fn assert_untouched(folder: &Folder) {
    let names = fs::read_dir(folder.outside("")).unwrap().map(|e| e.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["secret.jpg"]);
    assert_eq!(fs::read(folder.outside("secret.jpg")).unwrap(), photo());
}
