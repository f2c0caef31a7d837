//! Saves a picture to a file.

use std::io::Write;
use std::path::Path;

use crate::drawing::Drawing;
use crate::error::PictureError;
use crate::png::MOST_PIXELS;

/// Number of pixels above which [`Drawing::encode`] writes a PNG with fewer than two pixels per CSS pixel.
const USUAL_PIXELS: f64 = 4e7;

/// A file format of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Scalable Vector Graphics, for the web and for editing.
    Svg,
    /// Portable Network Graphics, with two pixels per CSS pixel.
    Png,
    /// Portable Document Format, for LaTeX.
    Pdf,
}

impl Format {
    /// Returns the format that belongs to the extension of a file name; upper and lower case are equivalent.
    ///
    /// # Errors
    /// [`PictureError::UnknownExtension`] if the extension is none of `.svg`, `.png` and `.pdf`.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, PictureError> {
        let path = path.as_ref();
        let extension = path.extension().map(|found| found.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some("pdf") => Ok(Self::Pdf),
            _ => Err(PictureError::UnknownExtension { path: path.to_owned(), extension }),
        }
    }
}

impl Drawing {
    /// Returns the picture as a file in the given format. A PNG has two pixels per CSS pixel, or fewer if it
    /// would have more than 40 million pixels.
    ///
    /// # Errors
    /// If the picture cannot be encoded.
    pub fn encode(&self, format: Format) -> Result<Vec<u8>, PictureError> {
        match format {
            Format::Svg => Ok(self.to_svg().into_bytes()),
            Format::Png => {
                let size = self.width * self.height;
                let most = (0.99 * MOST_PIXELS as f64 / size).sqrt();
                let usual = (USUAL_PIXELS / size).sqrt().clamp(1.0, 2.0);
                self.to_png(usual.min(most))
            }
            Format::Pdf => self.to_pdf(),
        }
    }

    /// Writes the picture to a file in the format of its extension. The file is written completely or not at
    /// all.
    ///
    /// # Errors
    /// If the extension is none of `.svg`, `.png` and `.pdf`, or the picture cannot be encoded or written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        let path = path.as_ref();
        let bytes = self.encode(Format::of(path)?)?;
        let failed = |source| PictureError::Write { path: path.to_owned(), source };
        // If the path is a link, the link stays and its target is replaced.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = target.parent().filter(|found| !found.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".nextstat-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // The message of an error must not contain the name of the temporary file.
        let mut file = builder.tempfile_in(folder).map_err(|error| {
            failed(if folder.exists() {
                // The message of the system is used, because the error kind has no text for rare errors
                // ("uncategorized error").
                let words = error.to_string();
                std::io::Error::new(error.kind(), words.split(" at path ").next().unwrap_or_default())
            } else {
                std::io::Error::new(error.kind(), format!("the folder {} does not exist", folder.display()))
            })
        })?;
        file.write_all(&bytes).map_err(failed)?;
        file.persist(&target).map(|_| ()).map_err(|error| failed(error.error))
    }
}
