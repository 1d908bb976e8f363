//! The built-in kinds, and the jobs that show them.

use std::path::Path;
use std::time::Duration;

use longshore::{Backoff, NewJob, State, Worker};
use longshore_kinds::{Fail, ImageFile, Noop, ResizeImage, Resized, Sleep, sample};

use crate::app::{BoxError, Demo};
use crate::settings::Settings;

/// Where the demo's pictures go, below the folder for files.
const FOLDER: &str = "longshore-demo";

pub(crate) fn register(worker: Worker, settings: &Settings) -> Result<Worker, BoxError> {
    let config = settings.kinds.config(settings.secrets())?;
    longshore_kinds::register(worker, &config).map_err(|error| {
        format!("kinds.files_root: {}: {error}", config.files_root.display()).into()
    })
}

pub(crate) fn demos(settings: &Settings) -> Result<Vec<Demo>, BoxError> {
    let photo = write_photo(&settings.kinds.files_root)?;
    let small = format!("{FOLDER}/coffee-small.webp");
    let resize = ResizeImage::new(photo, small, 320, 320);
    let fail_once = Fail { times: Some(1), ..Fail::default() };
    let give_up = Fail { dead: true, ..Fail::default() };
    let soon = Backoff::fixed(Duration::from_millis(500));
    Ok(vec![
        demo("does nothing", NewJob::new("noop").json(&Noop {}), State::Succeeded),
        demo("waits 0.3 s", NewJob::new("sleep").json(&Sleep { seconds: 0.3 }), State::Succeeded),
        Demo {
            tell: tell_pictures,
            ..demo(
                "a photo made small",
                NewJob::new("resize_image").json(&resize),
                State::Succeeded,
            )
        },
        demo(
            "fails once, then works",
            NewJob::new("fail").json(&fail_once).backoff(soon),
            State::Succeeded,
        ),
        demo("gives up at once", NewJob::new("fail").json(&give_up), State::Dead),
    ])
}

fn demo(shows: &str, job: NewJob, ends: State) -> Demo {
    Demo { shows: shows.to_owned(), job, ends, tell: |_| None }
}

/// `600×400 jpeg, 70 KiB → …`.
fn tell_pictures(output: &str) -> Option<String> {
    let Resized { source, output } = serde_json::from_str(output).ok()?;
    let tell = |file: ImageFile| {
        let ImageFile { width, height, format, size_bytes, .. } = file;
        format!("{width}×{height} {format}, {} KiB", size_bytes.div_ceil(1024))
    };
    Some(format!("{} → {}", tell(source), tell(output)))
}

/// Puts a photo where jobs can read it; answers its path as a payload names it.
fn write_photo(files_root: &Path) -> Result<String, BoxError> {
    let path = format!("{FOLDER}/coffee.jpg");
    let file = files_root.join(&path);
    let written = std::fs::create_dir_all(files_root.join(FOLDER))
        .and_then(|()| std::fs::write(&file, sample::COFFEE_JPG));
    written.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(path)
}
