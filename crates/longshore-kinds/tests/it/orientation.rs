//! Photographs that lie on their side: EXIF says how the camera was held.

use image::{DynamicImage, RgbImage};
use longshore_kinds::{Fit, Format, ResizeImage};

use crate::files::{FORMATS, Folder, alike, distance, encoded, job, photo, quarters};

/// EXIF bytes that say `orientation` and nothing else: one entry, tag 0x0112, one 16-bit number.
fn exif(orientation: u8) -> Vec<u8> {
    let header = [b"II*\0", &8u32.to_le_bytes()[..]].concat();
    let entry = [0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0];
    [&header[..], &[1, 0], &entry, &[0; 4]].concat()
}

/// What a camera stores so that a viewer who heeds `orientation` sees `upright`. Written after the
/// EXIF standard's words "the 0th row is the visual …, the 0th column the visual …".
fn stored(upright: &RgbImage, orientation: u8) -> RgbImage {
    let (w, h) = upright.dimensions();
    let (right, bottom) = (w - 1, h - 1);
    let (stored_w, stored_h) = if orientation < 5 { (w, h) } else { (h, w) };
    RgbImage::from_fn(stored_w, stored_h, |column, row| {
        let (x, y) = match orientation {
            1 => (column, row),                  // row: top, column: left
            2 => (right - column, row),          // top, right
            3 => (right - column, bottom - row), // bottom, right
            4 => (column, bottom - row),         // bottom, left
            5 => (row, column),                  // left, top
            6 => (right - row, column),          // right, top
            7 => (right - row, bottom - column), // right, bottom
            8 => (row, bottom - column),         // left, bottom
            _ => panic!("EXIF knows no orientation {orientation}"),
        };
        *upright.get_pixel(x, y)
    })
}

#[test]
fn all_eight_orientations_come_out_upright_from_every_format() {
    for format in FORMATS {
        for orientation in 1..=8 {
            let picture = stored(&quarters(96, 48), orientation).into();
            let file = encoded(&picture, format, Some(exif(orientation)));
            let folder = Folder::with("in", &file);

            let (resized, got) = folder.resized(&ResizeImage::new("in", "out.png", 48, 48));

            let what = format!("{format}, orientation {orientation}");
            assert_eq!((resized.source.width, resized.source.height), (96, 48), "{what}");
            assert_eq!((got.width(), got.height()), (48, 24), "{what}");
            let (got, right) = (got.to_rgb8(), quarters(48, 24));
            for (x, y) in [(4, 4), (43, 4), (4, 19), (43, 19)] {
                let (got, right) = (*got.get_pixel(x, y), *right.get_pixel(x, y));
                assert!(alike(got, right), "{what} at {x}, {y}: {got:?}, not {right:?}");
            }
        }
    }
}

#[test]
fn the_box_is_meant_for_the_upright_picture() {
    let picture = stored(&quarters(96, 48), 6).into();
    let folder = Folder::with("in.png", &encoded(&picture, Format::Png, Some(exif(6))));
    for (fit, right) in [(Fit::Contain, (60, 30)), (Fit::Cover, (60, 40)), (Fit::Fill, (60, 40))] {
        let job = ResizeImage { fit, ..ResizeImage::new("in.png", "out.png", 60, 40) };
        let (_, got) = folder.resized(&job);
        assert_eq!((got.width(), got.height()), right, "{fit:?}");
    }
}

#[test]
fn a_photo_taken_with_the_camera_turned_is_turned_back_and_not_a_second_time() {
    // The marker of an EXIF segment, its length, its name: put right after the start marker.
    let exif = [b"Exif\0\0", &exif(6)[..]].concat();
    let length = (exif.len() as u16 + 2).to_be_bytes();
    let (start, rest) = photo().split_at(2);
    let turned = [start, &[0xFF, 0xE1], &length, &exif, rest].concat();
    let folder = Folder::with("coffee.jpg", &turned);

    let (_, once) = folder.resized(&ResizeImage::new("coffee.jpg", "once.jpg", 300, 300));
    let (_, twice) = folder.resized(&ResizeImage::new("once.jpg", "twice.jpg", 300, 300));

    let right = image::load_from_memory(photo()).unwrap().rotate90();
    let right = right.resize_exact(200, 300, image::imageops::FilterType::Lanczos3);
    assert!(distance(&once, &right) < 4.0);
    assert!(distance(&twice, &once) < 4.0);
}

#[test]
fn a_broken_note_about_the_orientation_spoils_no_picture() {
    let picture: DynamicImage = quarters(96, 48).into();
    for exif in [exif(0), exif(9), exif(6)[..15].to_vec(), b"II*\0\xff\xff\xff\xff".to_vec()] {
        for format in FORMATS {
            let folder = Folder::with("coffee.jpg", &encoded(&picture, format, Some(exif.clone())));
            let (resized, _) = folder.resized(&job("out.png"));
            assert_eq!((resized.output.width, resized.output.height), (60, 30), "{format}");
        }
    }
}
