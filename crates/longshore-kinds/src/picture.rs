//! Pixels: decode, scale, encode. Knows no files, only bytes.

use std::fmt;
use std::io::Cursor;

use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::metadata::Orientation;
use image::{
    DynamicImage, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits, Rgb,
    RgbImage,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{KindError, at_most};

/// The longest side a picture may have, in pixels, on the way in and out: the most that WebP readers
/// take.
pub const MAX_SIDE: u32 = 16_383;

/// A picture in memory takes 8 bytes a pixel at most: four channels of 16 bits.
const MAX_BYTES_PER_PIXEL: u64 = 8;

/// What a decoder may use beside the pixels (rows, colour profile, texts). Chosen so that honest
/// files never come near it.
const DECODER_EXTRA_BYTES: u64 = 64 << 20;

/// A colour profile over this many bytes is left out. Those of cameras and screens have a few
/// hundred bytes to some hundred thousand, and a file format may not take more than 16 MiB.
const MAX_PROFILE_BYTES: usize = 4 << 20;

/// How a picture is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Lossy, no transparency: for photographs. Also `"jpg"` in a payload.
    #[serde(alias = "jpg")]
    Jpeg,
    /// Lossless, with transparency: for drawings and screenshots.
    Png,
    /// Read lossy and lossless, written lossless: like PNG, and smaller.
    Webp,
}

/// How a picture is made to fit `width` × `height`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// All of the picture, as large as fits within `width` × `height`, its aspect ratio kept; so one
    /// side may come out smaller. Never enlarged: a picture that fits already keeps its size.
    #[default]
    Contain,
    /// Exactly `width` × `height`, filled, its aspect ratio kept: what stands out on two opposite
    /// sides is cut off there in equal parts. A smaller picture is enlarged.
    Cover,
    /// Exactly `width` × `height`, stretched or squeezed. A smaller picture is enlarged.
    Fill,
}

/// Width and height in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// A picture whose header has been read and found to be within the limits, and no more.
pub(crate) struct Source<'a> {
    pub(crate) format: Format,
    decoder: Box<dyn ImageDecoder + 'a>,
    orientation: Orientation,
    bytes: &'a [u8],
}

/// Pixels as they were stored, with what is needed to show them the right way.
pub(crate) struct Picture {
    pixels: DynamicImage,
    orientation: Orientation,
    /// ICC profile.
    profile: Option<Vec<u8>>,
}

impl Format {
    /// The format that a file's extension promises, in whatever case.
    pub(crate) fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "png" => Some(Self::Png),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }

    /// The format that the first bytes tell; what a file is called does not count.
    fn of_bytes(bytes: &[u8]) -> Result<Self, KindError> {
        match image::guess_format(bytes) {
            Ok(ImageFormat::Jpeg) => Ok(Self::Jpeg),
            Ok(ImageFormat::Png) => Ok(Self::Png),
            Ok(ImageFormat::WebP) => Ok(Self::Webp),
            Ok(other) => Err(KindError::UnsupportedFormat {
                field: "source",
                found: other.extensions_str().first().unwrap_or(&"strange"),
            }),
            Err(_) => Err(KindError::NotAnImage { field: "source" }),
        }
    }

    fn in_crate_image(self) -> ImageFormat {
        match self {
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Png => ImageFormat::Png,
            Self::Webp => ImageFormat::WebP,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::Webp => "webp",
        })
    }
}

impl Fit {
    /// The size that a picture of size `source` gets if `wanted` is asked for.
    pub(crate) fn size(self, source: Size, wanted: Size) -> Size {
        match self {
            Self::Cover | Self::Fill => wanted,
            Self::Contain if source.width <= wanted.width && source.height <= wanted.height => {
                source
            }
            Self::Contain => {
                let [sw, sh, w, h] =
                    [source.width, source.height, wanted.width, wanted.height].map(u64::from);
                // Rounded to the nearest pixel; a hair-thin picture keeps one. Both results are
                // within `wanted`, so they fit into 32 bits.
                let scaled =
                    |side: u64, by: u64, of: u64| ((side * by + of / 2) / of).max(1) as u32;
                if sw * h >= w * sh {
                    Size { width: wanted.width, height: scaled(sh, w, sw) }
                } else {
                    Size { width: scaled(sw, h, sh), height: wanted.height }
                }
            }
        }
    }
}

impl Size {
    /// Refuses a size that is over the limits; `field` is the file that has it or would get it.
    pub(crate) fn check(self, field: &'static str, max_pixels: u64) -> Result<(), KindError> {
        let longer = self.width.max(self.height);
        at_most(field, longer.into(), "pixels on a side", MAX_SIDE.into())?;
        at_most(field, u64::from(self.width) * u64::from(self.height), "pixels", max_pixels)
    }

    fn turned_if(self, turned: bool) -> Self {
        if turned { Self { width: self.height, height: self.width } } else { self }
    }
}

/// Whether width and height change places when the picture is shown the right way.
fn lies_on_its_side(orientation: Orientation) -> bool {
    use Orientation::*;
    matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

impl<'a> Source<'a> {
    /// Reads the header in `bytes` and checks it, before any room for pixels is made.
    pub(crate) fn open(bytes: &'a [u8], max_pixels: u64) -> Result<Self, KindError> {
        let format = Format::of_bytes(bytes)?;
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(
            max_pixels.saturating_mul(MAX_BYTES_PER_PIXEL).saturating_add(DECODER_EXTRA_BYTES),
        );

        let mut reader = ImageReader::with_format(Cursor::new(bytes), format.in_crate_image());
        reader.limits(limits);
        let mut decoder = reader.into_decoder().map_err(|e| undecodable(format, e))?;

        let (width, height) = decoder.dimensions();
        Size { width, height }.check("source", max_pixels)?;
        if width == 0 || height == 0 {
            return Err(undecodable(format, "it has no pixels"));
        }
        // A picture is worth more than a broken note about it.
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        Ok(Self { format, decoder: Box::new(decoder), orientation, bytes })
    }

    /// The size in which the picture is shown, so after its EXIF orientation.
    pub(crate) fn size(&self) -> Size {
        let (width, height) = self.decoder.dimensions();
        Size { width, height }.turned_if(lies_on_its_side(self.orientation))
    }

    pub(crate) fn decode(mut self) -> Result<Picture, KindError> {
        let format = self.format;
        // The decoder paints what is missing grey and calls it a success.
        if format == Format::Jpeg && !reaches_end_marker(self.bytes) {
            return Err(undecodable(format, "it is cut off before its end"));
        }
        let profile = self.decoder.icc_profile().ok().flatten();
        let pixels =
            DynamicImage::from_decoder(self.decoder).map_err(|e| undecodable(format, e))?;
        Ok(Picture { pixels, orientation: self.orientation, profile })
    }
}

/// Whether the JPEG goes on to its end marker.
fn reaches_end_marker(jpeg: &[u8]) -> bool {
    const END: u8 = 0xD9;
    let mut rest = jpeg.get(2..).unwrap_or_default(); // after the start marker
    while let Some(at) = rest.iter().position(|&byte| byte == 0xFF) {
        rest = &rest[at + 1..];
        match rest {
            [END, ..] => return true,
            // An escaped 0xFF among the pixels, padding, or a marker without a segment.
            [0x00 | 0x01 | 0xD0..=0xD7 | 0xFF, ..] => {}
            // A segment, which may hold another JPEG (a preview): step over it.
            [_, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                rest = rest.get(1 + length..).unwrap_or_default();
            }
            _ => return false,
        }
    }
    false
}

impl Picture {
    /// Makes the picture `to` large, as `fit` says, and turns it the right way up.
    pub(crate) fn scale(mut self, fit: Fit, to: Size) -> Self {
        // Scaled first, turned afterwards: mostly there is less to turn then.
        let to = to.turned_if(lies_on_its_side(self.orientation));
        if (self.pixels.width(), self.pixels.height()) != (to.width, to.height) {
            let mut options =
                ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3));
            if fit == Fit::Cover {
                options = options.fit_into_destination(Some((0.5, 0.5)));
            }
            let mut scaled = DynamicImage::new(to.width, to.height, self.pixels.color());
            Resizer::new()
                .resize(&self.pixels, &mut scaled, &options)
                .expect("both have the same kind of pixels, and the cut is inside the picture");
            self.pixels = scaled;
        }
        self.pixels.apply_orientation(self.orientation);
        self.orientation = Orientation::NoTransforms;
        self
    }

    /// The finished file. `quality` counts for JPEG only.
    pub(crate) fn encode(self, format: Format, quality: u8) -> Result<Vec<u8>, KindError> {
        let mut file = Vec::new();
        let Self { pixels, profile, .. } = self;
        let written = match format {
            Format::Jpeg => {
                let encoder = JpegEncoder::new_with_quality(&mut file, quality);
                write(encoder, for_jpeg(pixels), profile)
            }
            Format::Png => write(PngEncoder::new(&mut file), pixels, profile),
            Format::Webp => write(WebPEncoder::new_lossless(&mut file), for_webp(pixels), profile),
        };
        match written {
            Ok(()) => Ok(file),
            Err(e) => Err(KindError::Unencodable { format, source: e.into() }),
        }
    }
}

/// Encodes `pixels`, with `profile` if it speaks of this kind of pixels: a photograph that came in
/// printing colours (CMYK) is RGB by now, and its profile would only spoil it.
fn write(
    mut encoder: impl ImageEncoder,
    pixels: DynamicImage,
    profile: Option<Vec<u8>>,
) -> image::ImageResult<()> {
    let colours = if pixels.color().has_color() { b"RGB " } else { b"GRAY" };
    let fits = |p: &Vec<u8>| p.len() <= MAX_PROFILE_BYTES && p.get(16..20) == Some(colours);
    if let Some(profile) = profile.filter(fits) {
        encoder.set_icc_profile(profile).map_err(ImageError::Unsupported)?;
    }
    pixels.write_with_encoder(encoder)
}

/// JPEG has no transparency: what lies behind is white. Grey stays grey.
fn for_jpeg(pixels: DynamicImage) -> DynamicImage {
    let colour = pixels.color();
    if !colour.has_alpha() {
        return if colour.has_color() {
            pixels.into_rgb8().into()
        } else {
            pixels.into_luma8().into()
        };
    }
    let see_through = pixels.into_rgba8();
    let on_white = |c: u8, alpha: u8| {
        let (c, alpha) = (u32::from(c), u32::from(alpha));
        ((c * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    let mut solid = RgbImage::new(see_through.width(), see_through.height());
    for (to, from) in solid.pixels_mut().zip(see_through.pixels()) {
        let [r, g, b, alpha] = from.0;
        *to = Rgb([r, g, b].map(|c| on_white(c, alpha)));
    }
    solid.into()
}

/// WebP has 8 bits a channel and no grey.
fn for_webp(pixels: DynamicImage) -> DynamicImage {
    if pixels.color().has_alpha() { pixels.into_rgba8().into() } else { pixels.into_rgb8().into() }
}

fn undecodable(
    format: Format,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> KindError {
    KindError::Undecodable { field: "source", format, source: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contained(source: (u32, u32), wanted: (u32, u32)) -> (u32, u32) {
        let size = |(width, height)| Size { width, height };
        let got = Fit::Contain.size(size(source), size(wanted));
        (got.width, got.height)
    }

    #[test]
    fn contain_keeps_the_ratio_never_enlarges_and_never_vanishes() {
        assert_eq!(contained((600, 400), (300, 300)), (300, 200));
        assert_eq!(contained((400, 600), (300, 300)), (200, 300));
        assert_eq!(contained((600, 400), (601, 400)), (600, 400));
        assert_eq!(contained((600, 400), (6000, 200)), (300, 200));
        assert_eq!(contained((16_384, 1), (100, 100)), (100, 1));
        assert_eq!(contained((3, 16_384), (100, 100)), (1, 100));
        assert_eq!(contained((1000, 999), (10, 10)), (10, 10));
    }

    #[test]
    fn the_end_marker_is_found_only_where_it_ends_the_picture() {
        let preview = [0xFF, 0xE1, 0, 4, 0xFF, 0xD9]; // a segment with an end marker in it
        let scan = [0xFF, 0xDA, 0, 2, 1, 0xFF, 0x00, 0xD9, 0xFF, 0xD0, 2];
        let whole = [&[0xFF, 0xD8], &preview[..], &scan, &[0xFF, 0xFF, 0xD9, 7]].concat();
        assert!(reaches_end_marker(&whole));
        for cut in 0..whole.len() - 1 {
            assert!(!reaches_end_marker(&whole[..cut]), "cut to {cut}");
        }
    }
}
