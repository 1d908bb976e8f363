//! The folder and the pictures that the tests use.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use image::{DynamicImage, GenericImageView, ImageEncoder, Rgb, RgbImage};
use longshore_kinds::{FilesRoot, Format, ImageLimits, KindError, ResizeImage, Resized, resize};
use tempfile::TempDir;

pub const FORMATS: [Format; 3] = [Format::Jpeg, Format::Png, Format::Webp];
pub const RED: Rgb<u8> = Rgb([255, 0, 0]);
pub const GREEN: Rgb<u8> = Rgb([0, 255, 0]);
pub const BLUE: Rgb<u8> = Rgb([0, 0, 255]);
pub const WHITE: Rgb<u8> = Rgb([255, 255, 255]);

/// A files folder in a fresh place, with a folder beside it that jobs must never reach.
pub struct Folder {
    place: TempDir,
    pub root: FilesRoot,
    pub limits: ImageLimits,
}

impl Folder {
    pub fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        for name in ["files", "outside"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        let root = FilesRoot::open(place.path().join("files")).unwrap();
        Self { place, root, limits: ImageLimits::default() }
    }

    pub fn with(name: &str, bytes: &[u8]) -> Self {
        let folder = Self::new();
        folder.put(name, bytes);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("files").join(name)
    }

    pub fn outside(&self, name: &str) -> PathBuf {
        self.place.path().join("outside").join(name)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn resize(&self, job: &ResizeImage) -> Result<Resized, KindError> {
        resize(job, &self.root, &self.limits, &|| false)
    }

    /// Does the job, which must succeed, and opens what it wrote.
    pub fn resized(&self, job: &ResizeImage) -> (Resized, DynamicImage) {
        let resized = self.resize(job).unwrap();
        (resized, self.open(&job.output))
    }

    /// Does the job, which must fail, and gives the text and whether it is for good.
    pub fn refused(&self, job: &ResizeImage) -> (String, bool) {
        let error = self.resize(job).unwrap_err();
        (error.to_string(), error.is_permanent())
    }

    /// Opens a picture by its content, as another program would.
    pub fn open(&self, name: &str) -> DynamicImage {
        image::load_from_memory(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// All files and folders below the files folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
                let name = entry.path().strip_prefix(self.path("")).unwrap().to_owned();
                names.push(name.into_os_string().into_string().unwrap());
            }
        }
        names.sort();
        names
    }
}

/// The photograph: 600 × 400.
pub fn photo() -> &'static [u8] {
    include_bytes!("../photos/coffee.jpg")
}

/// `coffee.jpg` scaled into a box of 60 × 60 as `output`: what most tests ask for.
pub fn job(output: &str) -> ResizeImage {
    ResizeImage::new("coffee.jpg", output, 60, 60)
}

/// A picture whose quarters are red and green above, blue and white below.
pub fn quarters(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| match (x < width / 2, y < height / 2) {
        (true, true) => RED,
        (false, true) => GREEN,
        (true, false) => BLUE,
        (false, false) => WHITE,
    })
}

/// Stores a picture, with EXIF bytes if there are any.
pub fn encoded(picture: &DynamicImage, format: Format, exif: Option<Vec<u8>>) -> Vec<u8> {
    fn write(mut encoder: impl ImageEncoder, picture: &DynamicImage, exif: Option<Vec<u8>>) {
        if let Some(exif) = exif {
            encoder.set_exif_metadata(exif).unwrap();
        }
        picture.write_with_encoder(encoder).unwrap();
    }
    use image::codecs::{jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder};
    let mut file = Cursor::new(Vec::new());
    match format {
        Format::Jpeg => write(JpegEncoder::new_with_quality(&mut file, 95), picture, exif),
        Format::Png => write(PngEncoder::new(&mut file), picture, exif),
        Format::Webp => write(WebPEncoder::new_lossless(&mut file), picture, exif),
    }
    file.into_inner()
}

/// Whether two colours are the same but for what JPEG does to them.
pub fn alike(one: Rgb<u8>, other: Rgb<u8>) -> bool {
    one.0.iter().zip(other.0).all(|(a, b)| a.abs_diff(b) < 24)
}

/// How far two pictures of one size are apart, on average, of 255.
pub fn distance(one: &DynamicImage, other: &DynamicImage) -> f64 {
    assert_eq!(one.dimensions(), other.dimensions());
    let (one, other) = (one.to_rgb8().into_raw(), other.to_rgb8().into_raw());
    let sum: u64 = one.iter().zip(&other).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / one.len() as f64
}
