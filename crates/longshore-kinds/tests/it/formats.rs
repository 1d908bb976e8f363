//! Every format in and out, transparency, colour profiles.

use std::fs;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{
    DynamicImage, GrayImage, ImageBuffer, ImageDecoder, ImageEncoder, ImageReader, Luma, Rgba,
    RgbaImage,
};
use longshore_kinds::{Format, ResizeImage};

use crate::files::{FORMATS, Folder, WHITE, alike, distance, encoded, job, photo, quarters};

#[test]
fn a_photo_gets_smaller_and_the_output_tells_both_sizes() {
    let folder = Folder::with("coffee.jpg", photo());

    let (resized, small) = folder.resized(&ResizeImage::new("coffee.jpg", "small.jpg", 300, 300));

    let written = fs::metadata(folder.path("small.jpg")).unwrap().len();
    assert!(written < 30_000, "{written} bytes");
    assert_eq!((small.width(), small.height()), (300, 200));
    assert_eq!(
        serde_json::to_value(&resized).unwrap(),
        serde_json::json!({
            "source": {"path": "coffee.jpg", "format": "jpeg", "width": 600, "height": 400,
                       "size_bytes": 71_540},
            "output": {"path": "small.jpg", "format": "jpeg", "width": 300, "height": 200,
                       "size_bytes": written},
        })
    );
}

#[test]
fn every_format_becomes_every_other_and_looks_the_same() {
    let original = image::load_from_memory(photo()).unwrap();
    let same_way = original.resize_exact(150, 100, image::imageops::FilterType::Lanczos3);
    for from in FORMATS {
        let folder = Folder::with("source", &encoded(&original, from, None));
        for to in FORMATS {
            let output = format!("out.{to}");
            let (resized, picture) = folder.resized(&ResizeImage::new("source", &output, 150, 150));

            assert_eq!((resized.source.format, resized.output.format), (from, to));
            let kind = ImageReader::open(folder.path(&output)).unwrap();
            let kind = kind.with_guessed_format().unwrap().format().unwrap();
            assert_eq!(format!("{kind:?}").to_lowercase(), to.to_string());
            let apart = distance(&picture, &same_way);
            assert!(apart < 4.0, "{from} to {to}: {apart} apart");
        }
    }
}

#[test]
fn the_content_tells_the_source_format_not_the_name() {
    let png = encoded(&quarters(40, 20).into(), Format::Png, None);
    let folder = Folder::with("really-a-png.jpg", &png);

    let (resized, _) = folder.resized(&ResizeImage::new("really-a-png.jpg", "o.webp", 20, 20));

    assert_eq!(resized.source.format, Format::Png);
}

#[test]
fn a_format_in_the_payload_wins_over_the_extension() {
    let folder = Folder::with("coffee.jpg", photo());

    for output in ["thumbnail", "thumbnail.jpg"] {
        let job = ResizeImage { format: Some(Format::Png), ..job(output) };
        assert_eq!(folder.resized(&job).0.output.format, Format::Png);
        assert!(fs::read(folder.path(output)).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn less_quality_makes_a_smaller_jpeg() {
    let folder = Folder::with("coffee.jpg", photo());
    let bytes = |quality| {
        let job = ResizeImage { quality, ..ResizeImage::new("coffee.jpg", "o.jpg", 300, 300) };
        folder.resized(&job).0.output.size_bytes
    };
    assert!(bytes(1) < bytes(50) && bytes(50) < bytes(85) && bytes(85) < bytes(100));
}

#[test]
fn colours_that_cannot_be_seen_do_not_bleed_into_those_that_can() {
    // Left half red, right half a green that is fully transparent.
    let picture = RgbaImage::from_fn(64, 64, |x, _| {
        if x < 32 { Rgba([255, 0, 0, 255]) } else { Rgba([0, 255, 0, 0]) }
    });
    let folder = Folder::with("in.png", &encoded(&picture.into(), Format::Png, None));

    for output in ["out.png", "out.webp"] {
        let (_, picture) = folder.resized(&ResizeImage::new("in.png", output, 9, 9));
        let [red, green, _, alpha] = picture.to_rgba8().get_pixel(4, 4).0;
        assert!(red > 250 && green < 5, "{output}: the edge is {red} red, {green} green");
        assert!((100..156).contains(&alpha), "{output}: alpha {alpha}");
    }
}

#[test]
fn transparent_parts_become_white_in_a_jpeg() {
    let clear = RgbaImage::from_pixel(32, 32, Rgba([10, 20, 30, 0]));
    let folder = Folder::with("in.png", &encoded(&clear.into(), Format::Png, None));

    let (_, picture) = folder.resized(&ResizeImage::new("in.png", "out.jpg", 16, 16));

    assert!(alike(*picture.to_rgb8().get_pixel(8, 8), WHITE));
}

#[test]
fn grey_and_16_bit_pictures_go_through_every_format() {
    let grey = GrayImage::from_fn(50, 50, |x, _| Luma([5 * x as u8]));
    let deep = ImageBuffer::<Luma<u16>, _>::from_fn(50, 50, |x, _| Luma([1285 * x as u16]));
    for (what, picture) in
        [("grey", DynamicImage::ImageLuma8(grey)), ("deep", DynamicImage::ImageLuma16(deep))]
    {
        let folder = Folder::with("in.png", &encoded(&picture, Format::Png, None));
        for to in FORMATS {
            let output = format!("{what}.{to}");
            let (_, got) = folder.resized(&ResizeImage::new("in.png", &output, 25, 25));
            let middle = got.to_luma8().get_pixel(12, 12).0[0];
            assert!((115..135).contains(&middle), "{what} {to}: {middle}");
            assert_eq!(got.color().has_color(), to == Format::Webp, "{what} {to}");
        }
    }
}

/// As much of an ICC profile as is looked at: 128 bytes of header, the colour space at 16.
fn profile(colours: &[u8; 4]) -> Vec<u8> {
    let mut profile = vec![0; 128];
    profile[16..20].copy_from_slice(colours);
    profile
}

#[test]
fn a_colour_profile_goes_along() {
    let mut jpeg = Vec::new();
    let mut encoder = JpegEncoder::new(&mut jpeg);
    encoder.set_icc_profile(profile(b"RGB ")).unwrap();
    quarters(40, 40).write_with_encoder(encoder).unwrap();
    let folder = Folder::with("in.jpg", &jpeg);

    for to in FORMATS {
        assert_eq!(profile_after(&folder, "in.jpg", to), Some(profile(b"RGB ")), "{to}");
    }
}

#[test]
fn a_profile_for_other_colours_than_the_output_has_is_left_out() {
    let mut png = Vec::new();
    let mut encoder = PngEncoder::new(&mut png);
    encoder.set_icc_profile(profile(b"GRAY")).unwrap();
    GrayImage::new(40, 40).write_with_encoder(encoder).unwrap();
    let folder = Folder::with("in.png", &png);

    assert_eq!(profile_after(&folder, "in.png", Format::Png), Some(profile(b"GRAY")));
    assert_eq!(profile_after(&folder, "in.png", Format::Jpeg), Some(profile(b"GRAY")));
    assert_eq!(profile_after(&folder, "in.png", Format::Webp), None);
}

fn profile_after(folder: &Folder, source: &str, to: Format) -> Option<Vec<u8>> {
    let output = format!("out.{to}");
    folder.resized(&ResizeImage::new(source, &output, 20, 20));
    let reader = ImageReader::open(folder.path(&output)).unwrap();
    reader.into_decoder().unwrap().icc_profile().unwrap()
}

#[test]
fn an_animation_gives_its_first_frame() {
    let folder = Folder::with("in.webp", &animated_webp());

    let (_, picture) = folder.resized(&ResizeImage::new("in.webp", "out.png", 16, 16));

    let first = *picture.to_rgb8().get_pixel(8, 8);
    assert!(alike(first, image::Rgb([200, 0, 0])), "{first:?}");
}

/// Two frames of 16 × 16: red, then blue. Put together by hand (the container is simple), since
/// nothing here writes animations.
fn animated_webp() -> Vec<u8> {
    fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_le_bytes();
        let padding = &[0][..content.len() % 2];
        [name, &length[..], content, padding].concat()
    }
    let frame = |colour| {
        let still = RgbaImage::from_pixel(16, 16, Rgba(colour));
        let still = encoded(&still.into(), Format::Webp, None);
        let place_size_and_span = [[0, 0, 0], [0, 0, 0], [15, 0, 0], [15, 0, 0], [100, 0, 0]];
        // A still file is `RIFF`, its length, `WEBP` and then the chunk with the pixels.
        chunk(b"ANMF", &[&place_size_and_span.concat()[..], &[0], &still[12..]].concat())
    };
    let chunks = [
        chunk(b"VP8X", &[0b10, 0, 0, 0, 15, 0, 0, 15, 0, 0]),
        chunk(b"ANIM", &[0; 6]),
        frame([200, 0, 0, 255]),
        frame([0, 0, 200, 255]),
    ];
    chunk(b"RIFF", &[b"WEBP", &chunks.concat()[..]].concat())
}
