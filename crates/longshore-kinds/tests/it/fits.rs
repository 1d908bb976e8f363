//! Contain, cover, fill. The quarters show where the picture went.

use image::DynamicImage;
use longshore_kinds::{Fit, Format, ResizeImage};

use crate::files::{BLUE, Folder, GREEN, RED, WHITE, alike, encoded, quarters};

fn fitted(source: (u32, u32), wanted: (u32, u32), fit: Fit) -> DynamicImage {
    let picture = quarters(source.0, source.1).into();
    let folder = Folder::with("in.png", &encoded(&picture, Format::Png, None));
    let job = ResizeImage { fit, ..ResizeImage::new("in.png", "out.png", wanted.0, wanted.1) };
    let (resized, picture) = folder.resized(&job);
    assert_eq!((resized.output.width, resized.output.height), size(&picture));
    picture
}

fn size(picture: &DynamicImage) -> (u32, u32) {
    (picture.width(), picture.height())
}

/// Whether all four quarters are where they belong, and as large as one another.
fn is_whole_and_centred(picture: &DynamicImage) -> bool {
    let (w, h) = size(picture);
    let (l, r, t, b) = (w / 2 - w / 8, w / 2 + w / 8, h / 2 - h / 8, h / 2 + h / 8);
    let at = |x, y| *picture.to_rgb8().get_pixel(x, y);
    let near_the_middle = [(at(l, t), RED), (at(r, t), GREEN), (at(l, b), BLUE), (at(r, b), WHITE)];
    let corners =
        [(at(0, 0), RED), (at(w - 1, 0), GREEN), (at(0, h - 1), BLUE), (at(w - 1, h - 1), WHITE)];
    near_the_middle.into_iter().chain(corners).all(|(got, right)| alike(got, right))
}

#[test]
fn contain_shows_all_of_it_within_the_box() {
    for (source, wanted, right) in [
        ((400, 200), (100, 100), (100, 50)),
        ((200, 400), (100, 100), (50, 100)),
        ((400, 200), (100, 20), (40, 20)),
        ((4000, 10), (100, 100), (100, 1)),
    ] {
        assert_eq!(size(&fitted(source, wanted, Fit::Contain)), right, "{source:?} in {wanted:?}");
    }
    assert!(is_whole_and_centred(&fitted((400, 200), (100, 100), Fit::Contain)));
}

#[test]
fn contain_leaves_a_picture_that_fits_as_it_is() {
    let picture = fitted((40, 20), (100, 100), Fit::Contain);
    assert_eq!(picture.to_rgb8(), quarters(40, 20));
}

#[test]
fn cover_fills_the_box_and_cuts_both_sides_alike() {
    for source in [(400, 100), (100, 400), (400, 300), (30, 20), (60, 60)] {
        let picture = fitted(source, (80, 80), Fit::Cover);
        assert_eq!(size(&picture), (80, 80));
        assert!(is_whole_and_centred(&picture), "{source:?}");
    }
}

#[test]
fn cover_does_not_stretch() {
    // A square on a wide ground stays a square: the ground is cut, the square is not squeezed.
    let ground = image::RgbImage::from_fn(400, 100, |x, y| {
        if (175..225).contains(&x) && (25..75).contains(&y) { RED } else { WHITE }
    });
    let folder = Folder::with("in.png", &encoded(&ground.into(), Format::Png, None));
    let job = ResizeImage { fit: Fit::Cover, ..ResizeImage::new("in.png", "o.png", 100, 100) };

    let (_, picture) = folder.resized(&job);

    let red = picture.to_rgb8().pixels().filter(|p| **p == RED).count();
    assert_eq!(red, 50 * 50);
}

#[test]
fn fill_stretches_to_the_box_exactly() {
    for (source, wanted) in [((400, 100), (80, 80)), ((40, 40), (200, 50)), ((16, 16), (16, 160))] {
        let picture = fitted(source, wanted, Fit::Fill);
        assert_eq!(size(&picture), wanted);
        assert!(is_whole_and_centred(&picture), "{source:?}");
    }
}
