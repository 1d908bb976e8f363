//! Too large, damaged, not a picture.

use longshore_kinds::{Format, ImageLimits, KindError, ResizeImage};

use crate::files::{FORMATS, Folder, encoded, job, photo, quarters};

/// A PNG of a few dozen bytes whose header claims the size given.
fn png_that_claims(width: u32, height: u32) -> Vec<u8> {
    fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let checked = [name, content].concat();
        let length = (content.len() as u32).to_be_bytes();
        [&length[..], &checked, &crc32(&checked).to_be_bytes()].concat()
    }
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let eight_bit_rgba = [8, 6, 0, 0, 0];
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &[&size[..], &eight_bit_rgba].concat()),
        chunk(b"IDAT", &[0x78, 0x9C, 0x63, 0, 0, 0, 1, 0, 1]),
        chunk(b"IEND", &[]),
    ]
    .concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}

#[test]
fn a_small_file_that_claims_a_huge_picture_is_refused_unread() {
    for (width, height, complaint) in [
        (16_383, 16_383, "`source` is too large: 268402689 pixels, the limit is 64000000"),
        (100_000, 1, "`source` is too large: 100000 pixels on a side, the limit is 16383"),
        (1, 100_000, "`source` is too large: 100000 pixels on a side, the limit is 16383"),
    ] {
        let folder = Folder::with("coffee.jpg", &png_that_claims(width, height));
        assert_eq!(folder.refused(&job("out.png")), (complaint.to_owned(), true));
    }
    // Here already a single row is more than the decoder may use.
    let folder = Folder::with("coffee.jpg", &png_that_claims(0x7FFF_FFFF, 0x7FFF_FFFF));
    assert!(folder.refused(&job("out.png")).1);
}

#[test]
fn a_jpeg_or_webp_that_claims_too_much_is_refused_too() {
    let mut jpeg = encoded(&quarters(16, 16).into(), Format::Jpeg, None);
    let header = jpeg.windows(2).position(|w| w == [0xFF, 0xC0]).unwrap();
    jpeg[header + 5..header + 9].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0xFF]);
    let mut webp = encoded(&quarters(16, 16).into(), Format::Webp, None);
    let header = webp.windows(4).position(|w| w == b"VP8L").unwrap();
    let both_sides: u32 = 16_382 | 16_382 << 14; // each less one, in 14 bits
    webp[header + 9..header + 13].copy_from_slice(&both_sides.to_le_bytes());

    for claims_too_much in [jpeg, webp] {
        let folder = Folder::with("coffee.jpg", &claims_too_much);
        let (complaint, permanent) = folder.refused(&job("out.png"));
        assert!(complaint.starts_with("`source` is too large: "), "{complaint}");
        assert!(permanent);
    }
}

#[test]
fn the_limits_are_exact_and_name_themselves() {
    let size = photo().len() as u64;
    let mut folder = Folder::with("coffee.jpg", photo());
    let mut with = |limits, job: ResizeImage| {
        folder.limits = limits;
        folder.resize(&job).map(|_| ()).map_err(|e| e.to_string())
    };
    let exact = ImageLimits { source_bytes: size, source_pixels: 240_000, output_pixels: 600 };
    let fill = || ResizeImage { fit: longshore_kinds::Fit::Fill, ..job("out.png") };
    let in_30 = || ResizeImage { width: 30, height: 20, ..fill() };

    assert_eq!(with(exact, in_30()), Ok(()));
    assert_eq!(
        with(ImageLimits { source_bytes: size - 1, ..exact }, in_30()),
        Err("`source` is too large: 71540 bytes, the limit is 71539".into())
    );
    assert_eq!(
        with(ImageLimits { source_pixels: 239_999, ..exact }, in_30()),
        Err("`source` is too large: 240000 pixels, the limit is 239999".into())
    );
    assert_eq!(
        with(exact, fill()),
        Err("`output` is too large: 3600 pixels, the limit is 600".into())
    );
    assert_eq!(
        with(ImageLimits::default(), ResizeImage { width: 16_383, height: 16_383, ..fill() }),
        Err("`output` is too large: 268402689 pixels, the limit is 64000000".into())
    );
}

#[test]
fn a_file_over_32_mib_is_refused_without_reading_it() {
    let folder = Folder::with("coffee.jpg", b"");
    let file = std::fs::File::options().write(true).open(folder.path("coffee.jpg")).unwrap();
    file.set_len((32 << 20) + 1).unwrap(); // a hole: takes no room
    assert_eq!(
        folder.refused(&job("out.png")),
        ("`source` is too large: 33554433 bytes, the limit is 33554432".to_owned(), true)
    );
}

#[test]
fn a_picture_that_is_cut_off_is_refused_for_good_wherever_the_cut_is() {
    let picture = image::load_from_memory(photo()).unwrap().thumbnail(60, 40);
    for format in FORMATS {
        let whole = encoded(&picture, format, None);
        for percent in 1..100 {
            let cut = (whole.len() - 20) * percent / 100;
            let folder = Folder::with("coffee.jpg", &whole[..cut]);
            let error = folder.resize(&job("out.png")).unwrap_err();
            assert!(error.is_permanent(), "{format} cut at {percent} %: {error}");
            assert_eq!(folder.names(), ["coffee.jpg"]);
        }
    }
    // A JPEG lacks its last two bytes and would look complete.
    let folder = Folder::with("coffee.jpg", &photo()[..photo().len() - 2]);
    let error = folder.resize(&job("out.png")).unwrap_err();
    assert_eq!(error.to_string(), "`source` cannot be decoded as jpeg");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "it is cut off before its end");
}

#[test]
fn damage_is_refused_or_survived_but_never_a_panic() {
    let picture = image::load_from_memory(photo()).unwrap().thumbnail(60, 40);
    for format in FORMATS {
        let whole = encoded(&picture, format, None);
        for step in 0..200 {
            let mut damaged = whole.clone();
            // Spread over the file, and thick at its start, where the headers are.
            let at = if step < 100 { step } else { whole.len() * (step - 100) / 100 };
            damaged[at] ^= 1 << (step % 8);
            let folder = Folder::with("coffee.jpg", &damaged);
            match folder.resize(&job("out.jpg")) {
                Ok(resized) => assert_eq!(folder.open("out.jpg").width(), resized.output.width),
                Err(error) => assert!(error.is_permanent(), "{format} at {at}: {error}"),
            }
        }
    }
}

#[test]
fn what_is_no_picture_is_refused_for_good() {
    for not_an_image in [&b""[..], b"\xFF", b"hello", b"<svg xmlns='http://www.w3.org/2000/svg'/>"]
    {
        let folder = Folder::with("coffee.jpg", not_an_image);
        let complaint = "`source` is not a jpeg, png or webp image".to_owned();
        assert_eq!(folder.refused(&job("out.png")), (complaint, true));
    }
    for (start, found) in [(&b"GIF89a\x01\0\x01\0\0\0\0;"[..], "gif"), (b"II*\0\x08\0\0\0", "tiff")]
    {
        let folder = Folder::with("coffee.jpg", start);
        let complaint = format!("`source` is a {found} image, only jpeg, png and webp can be read");
        assert_eq!(folder.refused(&job("out.png")), (complaint, true));
    }
}

#[test]
fn a_source_that_is_not_there_may_still_come() {
    let folder = Folder::new();
    for source in ["coffee.jpg", "no/such/folder/coffee.jpg"] {
        let error = folder.resize(&ResizeImage::new(source, "out.png", 9, 9)).unwrap_err();
        assert!(matches!(error, KindError::Missing { field: "source" }));
        assert!(!error.is_permanent());
    }
    folder.put("coffee.jpg", photo());
    folder.resized(&job("out.png"));
}

#[test]
fn what_is_not_a_file_is_refused_for_good() {
    let folder = Folder::with("coffee.jpg", photo());
    std::fs::create_dir(folder.path("folder.jpg")).unwrap();
    let through = "leads through something that is not a folder";
    for (source, output, complaint) in [
        ("folder.jpg", "o.png", "`source` is not a file".to_owned()),
        ("coffee.jpg/a.jpg", "o.png", format!("`source` {through}")),
        ("coffee.jpg", "coffee.jpg/o.png", format!("`output` {through}")),
        ("coffee.jpg", "folder.jpg", "`output` names a folder, not a file".to_owned()),
    ] {
        let job = ResizeImage::new(source, output, 9, 9);
        assert_eq!(folder.refused(&job), (complaint, true));
    }
    let long = ResizeImage::new("coffee.jpg", format!("{}.png", "n".repeat(252)), 9, 9);
    assert_eq!(folder.refused(&long), ("`output` has a name that is too long".to_owned(), true));
    assert_eq!(folder.names(), ["coffee.jpg", "folder.jpg"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_hold_the_job_up() {
    let folder = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(folder.path("coffee.jpg")).status();
    assert!(made.unwrap().success());
    assert_eq!(folder.refused(&job("out.png")), ("`source` is not a file".to_owned(), true));
}
