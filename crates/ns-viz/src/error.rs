//! What can be wrong with a picture's input or with writing it.

use std::path::PathBuf;

use thiserror::Error;

/// Why a picture could not be drawn or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// There is nothing to draw.
    #[error("{picture}: `{field}` has no usable value; give {remedy}")]
    Empty {
        /// Which picture.
        picture: &'static str,
        /// The field without usable values.
        field: String,
        /// What to give instead.
        remedy: &'static str,
    },
    /// Two fields that belong together have different lengths.
    #[error("{picture}: `{field}` has {found} entries, but `{reference}` asks for {expected}")]
    Length {
        /// Which picture.
        picture: &'static str,
        /// The field with the wrong length.
        field: String,
        /// Its length.
        found: usize,
        /// The field that says how long it has to be.
        reference: String,
        /// How long it has to be.
        expected: usize,
    },
    /// Values that have to increase do not.
    #[error(
        "{picture}: `{field}` has to increase strictly, but entry {index} is not above the one before it"
    )]
    NotIncreasing {
        /// Which picture.
        picture: &'static str,
        /// The field.
        field: String,
        /// Position of the first entry that does not increase.
        index: usize,
    },
    /// A number outside its range.
    #[error("{picture}: `{field}` is {value}, but it has to be {range}")]
    OutOfRange {
        /// Which picture.
        picture: &'static str,
        /// The field.
        field: String,
        /// The value given.
        value: f64,
        /// The values that are possible.
        range: &'static str,
    },
    /// The file name's extension names no picture format.
    #[error("cannot tell the picture format of '{}': {}; end the name in .svg, .png or .pdf", path.display(), described(extension.as_deref()))]
    UnknownExtension {
        /// The file asked for.
        path: PathBuf,
        /// Its extension, if it has one.
        extension: Option<String>,
    },
    /// The pixels of a picture would not fit into memory.
    #[error(
        "a PNG of {width:.0} x {height:.0} pixels is too large (at most {limit} pixels); use a smaller scale, or SVG or PDF"
    )]
    TooLarge {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
        /// The most pixels that are drawn.
        limit: usize,
    },
    /// An encoder or the font refused.
    #[error("cannot encode the picture as {format}: {message}; write it as SVG instead")]
    Encode {
        /// The format being written.
        format: &'static str,
        /// What the encoder said.
        message: String,
    },
    /// The file could not be written.
    #[error("cannot write '{}': {source}", path.display())]
    Write {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

fn described(extension: Option<&str>) -> String {
    extension.map_or_else(|| "it has no extension".into(), |known| format!("'.{known}' is none of them"))
}

/// Fails unless `found` equals `expected`.
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

/// Fails unless the values increase strictly (which NaN does not) and are usable numbers.
pub(crate) fn increasing(picture: &'static str, field: &str, values: &[f64]) -> Result<(), PictureError> {
    if let Some(index) = values.iter().position(|value| crate::number::usable(*value).is_none()) {
        let value = values.get(index).copied().unwrap_or(f64::NAN);
        let range = "a finite number below 1e100";
        return Err(PictureError::OutOfRange { picture, field: format!("{field}[{index}]"), value, range });
    }
    match values.windows(2).position(|pair| !(pair[1] > pair[0])) {
        None => Ok(()),
        Some(before) => Err(PictureError::NotIncreasing { picture, field: field.into(), index: before + 1 }),
    }
}
