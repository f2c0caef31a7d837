//! Errors in the input of a picture, and errors when a picture is written.

use std::path::PathBuf;

use thiserror::Error;

/// Reasons why a picture cannot be drawn or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// There is nothing to draw.
    #[error("{picture}: `{field}` has no usable value; give {remedy}")]
    Empty {
        /// Kind of the picture.
        picture: &'static str,
        /// Name of the field without usable values.
        field: String,
        /// Description of what the field must contain.
        remedy: &'static str,
    },
    /// Two fields that belong together have different lengths.
    #[error("{picture}: `{field}` has {found} entries, but `{reference}` asks for {expected}")]
    Length {
        /// Kind of the picture.
        picture: &'static str,
        /// Name of the field with the wrong length.
        field: String,
        /// Length of the field.
        found: usize,
        /// Name of the field that determines the right length.
        reference: String,
        /// The right length.
        expected: usize,
    },
    /// The values of a field do not increase strictly.
    #[error(
        "{picture}: `{field}` has to increase strictly, but entry {index} is not above the one before it"
    )]
    NotIncreasing {
        /// Kind of the picture.
        picture: &'static str,
        /// Name of the field with the error.
        field: String,
        /// Index of the first value that is not above the value before it.
        index: usize,
    },
    /// A value of a field is below the value before it.
    #[error("{picture}: `{field}` must not descend, but entry {index} is below the one before it")]
    Descending {
        /// Kind of the picture.
        picture: &'static str,
        /// Name of the field with the error.
        field: String,
        /// Index of the first value that is below the value before it.
        index: usize,
    },
    /// A number is outside the range of its allowed values.
    #[error("{picture}: `{field}` is {value}, but it has to be {range}")]
    OutOfRange {
        /// Kind of the picture.
        picture: &'static str,
        /// Name of the field with the error.
        field: String,
        /// The value given.
        value: f64,
        /// Range of the allowed values, as text.
        range: &'static str,
    },
    /// The extension of the file name is not that of a picture format.
    #[error("cannot tell the picture format of '{}': {}; end the name in .svg, .png or .pdf", path.display(), described(extension.as_deref()))]
    UnknownExtension {
        /// The file.
        path: PathBuf,
        /// Extension of the file name; `None` if there is none.
        extension: Option<String>,
    },
    /// A PNG would have too many pixels.
    #[error(
        "a PNG of {width:.0} x {height:.0} pixels is too large (at most {limit} pixels); use a smaller scale, or SVG or PDF"
    )]
    TooLarge {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
        /// Largest allowed number of pixels.
        limit: usize,
    },
    /// The encoder of the file format returned an error, or the font is damaged.
    #[error("cannot encode the picture as {format}: {message}; write it as SVG instead")]
    Encode {
        /// Name of the format being written.
        format: &'static str,
        /// Message of the encoder.
        message: String,
    },
    /// The file could not be written.
    #[error("cannot write '{}': {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

fn described(extension: Option<&str>) -> String {
    extension.map_or_else(|| "it has no extension".into(), |known| format!("'.{known}' is none of them"))
}

/// Checks that `found`, the length of the field `field`, equals `expected`, the length that follows from the field
/// `reference`.
pub(crate) fn same_length(
    picture: &'static str,
    field: &str,
    found: usize,
    reference: &str,
    expected: usize,
) -> Result<(), PictureError> {
    if found == expected {
        return Ok(());
    }
    Err(PictureError::Length { picture, field: field.into(), found, reference: reference.into(), expected })
}

/// Checks that the values increase strictly and can be drawn. NaN and values above 1e100 in magnitude cannot be
/// drawn.
pub(crate) fn increasing(picture: &'static str, field: &str, values: &[f64]) -> Result<(), PictureError> {
    drawable(picture, field, values)?;
    match values.windows(2).position(|pair| !(pair[1] > pair[0])) {
        None => Ok(()),
        Some(before) => Err(PictureError::NotIncreasing { picture, field: field.into(), index: before + 1 }),
    }
}

/// Checks that no value is below the value before it, and that all values can be drawn.
pub(crate) fn ascending(picture: &'static str, field: &str, values: &[f64]) -> Result<(), PictureError> {
    drawable(picture, field, values)?;
    match values.windows(2).position(|pair| pair[1] < pair[0]) {
        None => Ok(()),
        Some(before) => Err(PictureError::Descending { picture, field: field.into(), index: before + 1 }),
    }
}

/// Checks that all values can be drawn. NaN and values above 1e100 in magnitude cannot be drawn.
pub(crate) fn drawable(picture: &'static str, field: &str, values: &[f64]) -> Result<(), PictureError> {
    if let Some(index) = values.iter().position(|value| crate::number::usable(*value).is_none()) {
        let value = values.get(index).copied().unwrap_or(f64::NAN);
        let range = "a finite number below 1e100";
        return Err(PictureError::OutOfRange { picture, field: format!("{field}[{index}]"), value, range });
    }
    Ok(())
}
