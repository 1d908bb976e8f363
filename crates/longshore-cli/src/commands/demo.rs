//! The built-in kinds, and the jobs that show them.

use std::path::Path;
use std::time::Duration;

use longshore::{Backoff, NewJob, State, Worker};
use longshore_kinds::{Fail, ImageLimits, KindsConfig, Noop, ResizeImage, Sleep, sample};

use crate::app::{BoxError, Demo};
use crate::settings::Settings;

/// Where the demo's pictures go, below the folder for files.
const FOLDER: &str = "longshore-demo";

pub(crate) fn register(worker: Worker, settings: &Settings) -> Result<Worker, BoxError> {
    let files_root = settings.kinds.files_root.clone();
    let config = KindsConfig { files_root, image_limits: ImageLimits::default() };
    longshore_kinds::register(worker, &config).map_err(|error| {
        format!("kinds.files_root: {}: {error}", config.files_root.display()).into()
    })
}

pub(crate) fn demos(settings: &Settings) -> Result<Vec<Demo>, BoxError> {
    let photo = write_photo(&settings.kinds.files_root)?;
    let small = format!("{FOLDER}/coffee-small.webp");
    Ok(vec![
        demo("does nothing", NewJob::new("noop").json(&Noop {}), State::Succeeded),
        demo("waits 0.3 s", NewJob::new("sleep").json(&Sleep { seconds: 0.3 }), State::Succeeded),
        demo(
            "a photo made small",
            NewJob::new("resize_image").json(&ResizeImage::new(photo, small, 320, 320)),
            State::Succeeded,
        ),
        demo(
            "fails once, then works",
            NewJob::new("fail")
                .json(&Fail { times: Some(1), ..Fail::default() })
                .backoff(Backoff::fixed(Duration::from_millis(500))),
            State::Succeeded,
        ),
        demo(
            "gives up at once",
            NewJob::new("fail").json(&Fail { dead: true, ..Fail::default() }),
            State::Dead,
        ),
    ])
}

fn demo(shows: &str, job: NewJob, ends: State) -> Demo {
    Demo { shows: shows.to_owned(), job, ends }
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
