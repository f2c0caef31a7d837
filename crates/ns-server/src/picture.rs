//! Formats of pictures, and the media types of responses.

use ns_viz::Format;

/// Media type of JSON responses.
pub(crate) const JSON: &str = "application/json";

/// Returns the picture format with this name, as in `?plot=svg`; `None` for an unknown name.
pub(crate) fn format(name: &str) -> Option<Format> {
    [Format::Svg, Format::Png, Format::Pdf].into_iter().find(|format| self::name(*format) == name)
}

/// Returns the name of a picture format.
pub(crate) fn name(format: Format) -> &'static str {
    match format {
        Format::Png => "png",
        Format::Pdf => "pdf",
        _ => "svg",
    }
}

/// Returns the media type of a picture format.
pub(crate) fn media(format: Format) -> &'static str {
    match format {
        Format::Png => "image/png",
        Format::Pdf => "application/pdf",
        _ => "image/svg+xml",
    }
}

/// Returns the media type with this name as static text. For an unknown name, returns the media type of JSON.
pub(crate) fn media_named(name: &str) -> &'static str {
    let known = [Format::Svg, Format::Png, Format::Pdf].into_iter().map(media);
    known.into_iter().find(|media| *media == name).unwrap_or(JSON)
}
