//! A photo to show things with.

/// A cup of coffee, 600 × 400 pixels, JPEG. By Rachel Michetti, CC0; see `tests/photos/README.md`.
pub const COFFEE_JPG: &[u8] = include_bytes!("../tests/photos/coffee.jpg");
