//! Formats of pictures, and the media types of answers.

use ns_viz::Format;

/// Media type of JSON answers.
pub(crate) const JSON: &str = "application/json";

/// Returns the format with this name, as in `?plot=svg`; `None` for an unknown name.
pub(crate) fn format(name: &str) -> Option<Format> {
    [Format::Svg, Format::Png, Format::Pdf].into_iter().find(|format| self::name(*format) == name)
}

/// Returns the name of a format.
pub(crate) fn name(format: Format) -> &'static str {
    match format {
        Format::Png => "png",
        Format::Pdf => "pdf",
        _ => "svg",
    }
}

/// Returns the media type of a format.
pub(crate) fn media(format: Format) -> &'static str {
    match format {
        Format::Png => "image/png",
        Format::Pdf => "application/pdf",
        _ => "image/svg+xml",
    }
}

/// Returns the known media type that equals this name; the media type of JSON if none does.
pub(crate) fn media_named(name: &str) -> &'static str {
    let known = [Format::Svg, Format::Png, Format::Pdf].into_iter().map(media);
    known.into_iter().find(|media| *media == name).unwrap_or(JSON)
}
