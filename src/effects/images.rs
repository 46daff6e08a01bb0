//! Images of a request, made to fit: what every vendor takes, and less where one refused that.
//!
//! An image that fits is sent byte for byte, so that a prefix stays what it was. One that cannot be
//! read is sent as it is: its vendor may know better. Nothing here is remembered; the same image
//! under the same limit always gives the same bytes.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, GenericImageView, ImageFormat, ImageReader, Limits};

use crate::providers::Image;

/// Longest side that all vendors take, in pixels (Anthropic and Amazon refuse more).
const SIDE_PX_MAX: u32 = 8_000;
/// Most bytes that all vendors take (Amazon's limit of 3.75 MB).
const BYTES_MAX: usize = 3_750_000;
/// Side that an image with too many bytes is brought to first, in pixels; vendors scale down to
/// about that themselves.
const SIDE_PX_USUAL: u32 = 1_568;
/// Memory that reading an image may take, in bytes.
const DECODED_BYTES_MAX: u64 = 512 << 20;
/// Quality of a picture that is encoded anew, of 100.
const JPEG_QUALITY: u8 = 85;
/// Times that a side is halved, at most.
const HALVINGS_MAX: u32 = 4;

/// `image` with no side longer than `side_px_max`, and within what every vendor takes.
pub fn fitted(image: Image, side_px_max: Option<u32>) -> Image {
    let side = side_px_max.unwrap_or(SIDE_PX_MAX).min(SIDE_PX_MAX);
    let Some(size) = size_of(&image.bytes) else {
        return image;
    };
    if size.0.max(size.1) <= side && image.bytes.len() <= BYTES_MAX {
        return image;
    }
    shrunk(&image, side).unwrap_or(image)
}

/// Width and height in pixels, from the head of the file alone.
fn size_of(bytes: &[u8]) -> Option<(u32, u32)> {
    ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?.into_dimensions().ok()
}

fn shrunk(image: &Image, side_px_max: u32) -> Option<Image> {
    let mut reader = ImageReader::new(Cursor::new(&image.bytes)).with_guessed_format().ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let picture = reader.decode().ok()?;
    let longest = picture.dimensions().0.max(picture.dimensions().1);
    let mut side = side_px_max.min(longest);
    if image.bytes.len() > BYTES_MAX {
        side = side.min(SIDE_PX_USUAL);
    }
    for _ in 0..=HALVINGS_MAX {
        let smaller = picture.resize(side, side, FilterType::Triangle);
        let encoded = encoded(&smaller)?;
        if encoded.bytes.len() <= BYTES_MAX {
            return Some(encoded);
        }
        side = (side / 2).max(1);
    }
    None
}

/// What can be seen through stays PNG; everything else is a JPEG.
fn encoded(picture: &DynamicImage) -> Option<Image> {
    let mut bytes = Cursor::new(Vec::new());
    let media_type = if picture.color().has_alpha() {
        picture.write_to(&mut bytes, ImageFormat::Png).ok()?;
        "image/png"
    } else {
        let rgb = picture.to_rgb8();
        rgb.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY)).ok()?;
        "image/jpeg"
    };
    Some(Image { media_type: media_type.to_owned(), bytes: bytes.into_inner().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture that does not compress well.
    fn picture(width: u32, height: u32, alpha: bool) -> Image {
        let noise =
            |x: u32, y: u32| (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503) >> 3).to_le_bytes();
        let picture = image::RgbaImage::from_fn(width, height, |x, y| {
            let [r, g, b, a] = noise(x, y);
            image::Rgba([r, g, b, if alpha { a } else { 255 }])
        });
        let mut bytes = Cursor::new(Vec::new());
        let picture = DynamicImage::ImageRgba8(picture);
        let picture = if alpha { picture } else { DynamicImage::ImageRgb8(picture.to_rgb8()) };
        picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
        Image { media_type: "image/png".into(), bytes: bytes.into_inner().into() }
    }

    #[test]
    fn what_fits_is_sent_byte_for_byte() {
        let small = picture(40, 30, false);
        assert_eq!(fitted(small.clone(), None), small);
        assert_eq!(fitted(small.clone(), Some(40)), small);
    }

    #[test]
    fn a_side_that_is_too_long_is_brought_to_the_limit_and_the_shape_stays() {
        let fitted = fitted(picture(400, 100, false), Some(200));
        assert_eq!((size_of(&fitted.bytes), fitted.media_type.as_str()), (Some((200, 50)), "image/jpeg"));
        let seen_through = super::fitted(picture(100, 400, true), Some(200));
        assert_eq!(
            (size_of(&seen_through.bytes), seen_through.media_type.as_str()),
            (Some((50, 200)), "image/png")
        );
    }

    #[test]
    fn an_image_with_too_many_bytes_becomes_one_with_fewer() {
        let large = picture(1_400, 1_200, true);
        assert!(large.bytes.len() > BYTES_MAX, "{} bytes", large.bytes.len());
        let fitted = fitted(large, None);
        assert!(fitted.bytes.len() <= BYTES_MAX);
    }

    #[test]
    fn what_is_no_image_is_left_as_it_is() {
        let odd = Image { media_type: "image/png".into(), bytes: b"not at all".as_slice().into() };
        assert_eq!(fitted(odd.clone(), Some(10)), odd);
    }
}
