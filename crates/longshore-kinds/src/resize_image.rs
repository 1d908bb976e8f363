//! The kind `resize_image`: a picture in, a smaller one out.
//!
//! Read the file, decode, scale, encode, write; between any two of these the job may be cancelled.
//! Nothing is written before the result is complete, and running it again gives the same file, so
//! the job may be run any number of times.

use std::collections::BTreeMap;

use hyper::body::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{KindError, in_range};
use crate::files::{FilesRoot, Place};
use crate::http::{Http, Target};
use crate::picture::{Fit, Format, MAX_SIDE, Size, Source};

/// The payload: which picture to resize, and how.
///
/// `source` and `output` are paths relative to the files folder, without `..`. Links that lead out
/// of that folder are refused. They may be the same file, which is then replaced. A `source` that begins with
/// `https://` or `http://` is fetched, as a [`crate::HttpRequest`] would be.
///
/// The picture is shown the right way up (its EXIF orientation is applied) and keeps its ICC colour
/// profile where the output has the same kind of colours (WebP has no grey; printing colours become
/// RGB). All other metadata is left out: camera, place, previews. Of an animation only the first
/// frame is taken. Scaling is Lanczos3 on the stored values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResizeImage {
    /// The picture to read: JPEG, PNG or WebP, told by its content, whatever its name says. It must
    /// be complete when the job runs; write it elsewhere and rename it, or enqueue afterwards. Or where to fetch it.
    pub source: String,
    /// Where to write the result. Missing folders are made; an older file is replaced in one step.
    pub output: String,
    /// In pixels, 1 to [`MAX_SIDE`].
    #[schemars(range(min = 1, max = 16_383))]
    pub width: u32,
    /// In pixels, 1 to [`MAX_SIDE`].
    #[schemars(range(min = 1, max = 16_383))]
    pub height: u32,
    /// How to fit the picture into `width` × `height`. Default `"contain"`.
    #[serde(default)]
    pub fit: Fit,
    /// How to store the result, whatever `output` is called. Default: as `output`'s extension says
    /// (`jpg`, `jpeg`, `png`, `webp`). Transparent parts become white in a JPEG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// JPEG only: 1 (small) to 100 (good). Default 85.
    #[serde(default = "default_quality")]
    #[schemars(range(min = 1, max = 100))]
    pub quality: u8,
}

/// What one `resize_image` job may use. A picture takes up to 8 bytes a pixel in memory (a usual
/// photograph 3), source and output at the same time, and decoding may take as much again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// Size of the source in bytes. Default 32 MiB. It is read into memory whole.
    pub source_bytes: u64,
    /// Pixels of the source: width times height. Default 64,000,000. Checked before decoding, so
    /// that a small file cannot claim a huge picture.
    pub source_pixels: u64,
    /// Pixels of the output. Default 64,000,000.
    pub output_pixels: u64,
}

/// A job's output: the picture before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resized {
    /// The picture as it was read.
    pub source: ImageFile,
    /// The picture as it was written.
    pub output: ImageFile,
}

/// One picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFile {
    /// Its path or address, as the payload gave it.
    pub path: String,
    /// How it is stored.
    pub format: Format,
    /// In pixels, as shown: after the EXIF orientation.
    pub width: u32,
    /// In pixels, as shown: after the EXIF orientation.
    pub height: u32,
    /// Size of the file in bytes.
    pub size_bytes: u64,
}

/// A payload that has been found to make sense.
struct Plan<'a> {
    source: From<'a>,
    output: Place<'a>,
    format: Format,
    wanted: Size,
}

/// Where a picture comes from.
enum From<'a> {
    File(Place<'a>),
    Address(Target),
}

/// Does the work of one `resize_image` job: reads `job.source` below `root`, resizes it and writes
/// `job.output`. Blocks, mostly on the processor: call it off the async threads.
///
/// `cancelled` is asked between the steps (read, decode, scale, encode, write); a step itself is not
/// interrupted. A source that is not there may still come, so that error is worth another attempt. A source to
/// fetch is refused: only the handler does that.
///
/// # Errors
/// See [`KindError`]. `output` is then what it was before.
pub fn resize(
    job: &ResizeImage,
    root: &FilesRoot,
    limits: &ImageLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Resized, KindError> {
    resize_from(job, None, (root, limits), cancelled)
}

/// The same, of a source that was fetched.
pub(crate) fn resize_from(
    job: &ResizeImage,
    fetched: Option<Bytes>,
    (root, limits): (&FilesRoot, &ImageLimits),
    cancelled: &dyn Fn() -> bool,
) -> Result<Resized, KindError> {
    let unless_cancelled = || {
        if cancelled() { Err(KindError::Cancelled) } else { Ok(()) }
    };
    let plan = job.plan()?;

    unless_cancelled()?;
    let bytes = match (plan.source, fetched) {
        (From::File(place), _) => root.read(place, limits.source_bytes)?.into(),
        (From::Address(_), Some(bytes)) => bytes,
        (From::Address(_), None) => {
            return Err(KindError::payload("source", "is an address, and nobody fetched it"));
        }
    };
    let source = Source::open(&bytes, limits.source_pixels)?;
    let (source_format, source_size) = (source.format, source.size());
    let output_size = job.fit.size(source_size, plan.wanted);
    output_size.check("output", limits.output_pixels)?;

    unless_cancelled()?;
    let picture = source.decode()?;
    unless_cancelled()?;
    let picture = picture.scale(job.fit, output_size);
    unless_cancelled()?;
    let encoded = picture.encode(plan.format, job.quality)?;
    unless_cancelled()?;
    root.write(plan.output, &encoded)?;

    Ok(Resized {
        source: ImageFile::new(&job.source, source_format, source_size, &bytes),
        output: ImageFile::new(&job.output, plan.format, output_size, &encoded),
    })
}

impl ResizeImage {
    /// The job with every default; change fields as needed.
    pub fn new(
        source: impl Into<String>,
        output: impl Into<String>,
        width: u32,
        height: u32,
    ) -> Self {
        Self {
            source: source.into(),
            output: output.into(),
            width,
            height,
            fit: Fit::default(),
            format: None,
            quality: default_quality(),
        }
    }

    /// Looks at the payload alone, not at any file; [`resize`] does the same first.
    ///
    /// # Errors
    /// [`KindError::Payload`], which names the first field that makes no sense.
    pub fn check(&self) -> Result<(), KindError> {
        self.plan().map(|_| ())
    }

    /// Fetches the source, if it is not a file.
    pub(crate) async fn fetch(
        &self,
        http: &Http,
        limits: &ImageLimits,
    ) -> Result<Option<Bytes>, KindError> {
        match self.plan()?.source {
            From::File(_) => Ok(None),
            From::Address(target) => {
                let most = usize::try_from(limits.source_bytes).unwrap_or(usize::MAX);
                let answer = http.ask("source", target.request(Bytes::new(), None), most).await?;
                Ok(Some(answer.body))
            }
        }
    }

    fn plan(&self) -> Result<Plan<'_>, KindError> {
        let source = if self.source.starts_with("https://") || self.source.starts_with("http://") {
            From::Address(Target::new("GET", ("source", &self.source), &BTreeMap::new())?)
        } else {
            From::File(Place::new("source", &self.source)?)
        };
        let output = Place::new("output", &self.output)?;
        in_range("width", self.width, MAX_SIDE)?;
        in_range("height", self.height, MAX_SIDE)?;
        in_range("quality", self.quality.into(), 100)?;

        let promised = || output.extension().and_then(Format::of_extension);
        let wrong = "must end in .jpg, .jpeg, .png or .webp unless `format` is given";
        let format =
            self.format.or_else(promised).ok_or_else(|| KindError::payload("output", wrong))?;
        let wanted = Size { width: self.width, height: self.height };
        Ok(Plan { source, output, format, wanted })
    }
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { source_bytes: 32 << 20, source_pixels: 64_000_000, output_pixels: 64_000_000 }
    }
}

impl ImageFile {
    fn new(path: &str, format: Format, size: Size, bytes: &[u8]) -> Self {
        let (Size { width, height }, size_bytes) = (size, bytes.len() as u64);
        Self { path: path.to_owned(), format, width, height, size_bytes }
    }
}

fn default_quality() -> u8 {
    85
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::testing::{Receiver, open};

    const PHOTO: &[u8] = include_bytes!("../tests/photos/coffee.jpg");

    fn answer(body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    async fn fetched(job: &ResizeImage, limits: &ImageLimits) -> Result<Option<Bytes>, KindError> {
        job.fetch(&open(), limits).await
    }

    #[tokio::test]
    async fn a_source_may_be_an_address() {
        let receiver = Receiver::of(&[answer(PHOTO)]).await;
        let folder = tempfile::tempdir().unwrap();
        let root = FilesRoot::open(folder.path()).unwrap();
        let job = ResizeImage::new(receiver.url(), "small.jpg", 40, 40);
        let limits = ImageLimits::default();
        let bytes = fetched(&job, &limits).await.unwrap();
        let resized = resize_from(&job, bytes, (&root, &limits), &|| false).unwrap();
        assert_eq!(resized.source.path, receiver.url());
        assert_eq!(resized.source.size_bytes, PHOTO.len() as u64);
        assert_eq!(resized.output.width.max(resized.output.height), 40);
        assert!(folder.path().join("small.jpg").exists());
        let alone = resize(&job, &root, &limits, &|| false).unwrap_err().to_string();
        assert_eq!(alone, "`source` is an address, and nobody fetched it");
    }

    #[tokio::test]
    async fn an_address_is_held_to_what_files_and_requests_are() {
        let receiver = Receiver::of(&[answer(PHOTO)]).await;
        let job = ResizeImage::new(receiver.url(), "small.jpg", 40, 40);
        let small = ImageLimits { source_bytes: 1_000, ..ImageLimits::default() };
        let error = fetched(&job, &small).await.unwrap_err();
        assert_eq!(error.to_string(), "`source` answers with more than 1000 bytes");
        let guarded = job.fetch(&Http::new(Vec::new()), &small).await.unwrap_err();
        let words = "`source` leads to an address that is not allowed (loopback)";
        assert_eq!((guarded.to_string().as_str(), guarded.is_permanent()), (words, true));
        let away = ResizeImage::new("http://u:p@x/", "small.jpg", 40, 40);
        assert!(away.check().unwrap_err().to_string().starts_with("`source` has a user in it"));
        let receiver = Receiver::of(&["HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"]).await;
        let error =
            fetched(&ResizeImage::new(receiver.url(), "a.jpg", 4, 4), &small).await.unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.is_permanent()),
            ("`source` answers 404", false)
        );
    }
}
