//! What a payload may say.

use longshore_kinds::{Fit, Format, MAX_SIDE, ResizeImage};
use serde_json::json;

use crate::files::{Folder, job, photo};

#[test]
fn a_short_payload_means_contain_quality_85_and_the_extensions_format() {
    let payload = json!({"source": "a.png", "output": "b.jpg", "width": 10, "height": 20});
    let read: ResizeImage = serde_json::from_value(payload).unwrap();
    assert_eq!(read, ResizeImage::new("a.png", "b.jpg", 10, 20));
    assert_eq!((read.fit, read.format, read.quality), (Fit::Contain, None, 85));
    read.check().unwrap();
}

#[test]
fn a_full_payload_is_read_and_written_alike() {
    let payload = json!({
        "source": "a", "output": "b", "width": 1, "height": MAX_SIDE,
        "fit": "cover", "format": "webp", "quality": 1,
    });
    let read: ResizeImage = serde_json::from_value(payload.clone()).unwrap();
    assert_eq!((read.fit, read.format), (Fit::Cover, Some(Format::Webp)));
    assert_eq!(serde_json::to_value(&read).unwrap(), payload);
    read.check().unwrap();
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let with = |field: &str, value: serde_json::Value| {
        let mut payload = json!({"source": "a", "output": "b.png", "width": 1, "height": 1});
        payload[field] = value;
        serde_json::from_value::<ResizeImage>(payload)
    };
    for (field, value, complaint) in [
        ("widht", json!(1), "unknown field `widht`"),
        ("fit", json!("stretch"), "unknown variant `stretch`, expected one of `contain`"),
        ("format", json!("gif"), "unknown variant `gif`"),
        ("width", json!(-1), "expected u32"),
        ("height", json!(1.5), "expected u32"),
        ("quality", json!(256), "expected u8"),
        ("source", json!(null), "expected a string"),
    ] {
        let error = with(field, value).unwrap_err().to_string();
        assert!(error.contains(complaint), "{field}: {error}");
    }
    assert_eq!(with("format", json!("jpg")).unwrap().format, Some(Format::Jpeg));
}

#[test]
fn values_out_of_range_are_refused_for_good_with_the_range() {
    let folder = Folder::with("coffee.jpg", photo());
    let good = || job("out.jpg");
    for (bad, complaint) in [
        (ResizeImage { width: 0, ..good() }, "`width` is 0, it must be from 1 to 16383"),
        (ResizeImage { height: 0, ..good() }, "`height` is 0, it must be from 1 to 16383"),
        (ResizeImage { width: 16_384, ..good() }, "`width` is 16384, it must be from 1 to 16383"),
        (ResizeImage { quality: 0, ..good() }, "`quality` is 0, it must be from 1 to 100"),
        (ResizeImage { quality: 101, ..good() }, "`quality` is 101, it must be from 1 to 100"),
        (job("out"), "`output` must end in .jpg, .jpeg, .png or .webp unless `format` is given"),
        (
            job("out.gif"),
            "`output` must end in .jpg, .jpeg, .png or .webp unless `format` is given",
        ),
        (job(".jpg"), "`output` must end in .jpg, .jpeg, .png or .webp unless `format` is given"),
        (job(""), "`output` is empty"),
    ] {
        assert_eq!(folder.refused(&bad), (complaint.to_owned(), true));
        assert!(bad.check().is_err());
    }
    assert_eq!(folder.names(), ["coffee.jpg"]);
}

#[test]
fn names_may_be_in_any_script_and_extensions_in_any_case() {
    let folder = Folder::with("Käffchen ☕ 咖啡.JPG", photo());
    let longest = format!("{}.png", "n".repeat(251));
    for output in ["مقهى/صورة.JPEG", "кофе.PnG", "-rf", " .webp", "a\\b.png", &longest]
    {
        let format = (output == "-rf").then_some(Format::Png);
        let job =
            ResizeImage { format, ..ResizeImage::new("Käffchen ☕ 咖啡.JPG", output, 9, 9) };
        assert_eq!(folder.resized(&job).0.output.path, output);
    }
}
