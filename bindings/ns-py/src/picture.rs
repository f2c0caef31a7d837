//! `nextstat.Picture`, which the method `plot` of results returns.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};

use ns_inference::picture::BlindRange;
use ns_viz::{
    Channels, Components, Confidence, Corner, Drawing, Format, Linearity, PictureError, Places, Region,
    Spurious, ToyDistribution, Yields,
};
use pyo3::exceptions::{PyOSError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::pickle::{Reduced, read, restorer, written};
use crate::work::released;

/// A drawn picture. Notebooks show it. `save` writes it as SVG, PNG or PDF.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct Picture {
    drawing: Drawing,
}

#[pymethods]
impl Picture {
    /// Width in CSS pixels (96 per inch).
    #[getter]
    fn width(&self) -> f64 {
        self.drawing.width()
    }

    /// Height in CSS pixels (96 per inch).
    #[getter]
    fn height(&self) -> f64 {
        self.drawing.height()
    }

    /// The picture as SVG text.
    #[getter]
    fn svg(&self) -> String {
        self.drawing.to_svg()
    }

    /// Returns the picture as bytes of a PNG, with `scale` pixels per CSS pixel.
    #[pyo3(signature = (scale = 2.0))]
    fn png<'py>(&self, py: Python<'py>, scale: f64) -> PyResult<Bound<'py, PyBytes>> {
        self.warn(py)?;
        let bytes = released(py, || self.drawing.to_png(scale))?.map_err(picture_error)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the picture as bytes of a PDF.
    fn pdf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.warn(py)?;
        let bytes = released(py, || self.drawing.to_pdf())?.map_err(picture_error)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the picture to a file, in the format of its extension: .svg, .png or .pdf.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        if Format::of(&path).is_ok_and(|format| format != Format::Svg) {
            self.warn(py)?;
        }
        released(py, || self.drawing.save(path))?.map_err(picture_error)
    }

    /// Returns the data from which `pickle` and `copy` restore the picture.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((restorer(py, "_picture")?, (written(&self.drawing)?,).into_pyobject(py)?))
    }

    fn _repr_svg_(&self) -> String {
        self.drawing.to_svg()
    }

    fn __repr__(&self) -> String {
        format!("<nextstat.Picture: {} x {} pixels>", self.drawing.width(), self.drawing.height())
    }
}

impl Picture {
    /// Issues a warning if the picture has characters that PNG and PDF cannot show on this machine.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let Some(text) = self.drawing.font_warning() else { return Ok(()) };
        let text = CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
    }
}

/// Restores a pickled picture.
#[pyfunction]
pub(crate) fn _picture(text: &str) -> PyResult<Picture> {
    Ok(Picture { drawing: read(text)? })
}

/// Checks the extension of a path. This is done before the analysis.
///
/// # Errors
/// `ValueError` if the extension is none of .svg, .png and .pdf.
pub(crate) fn check(path: Option<&Path>) -> PyResult<()> {
    path.map_or(Ok(()), |path| Format::of(path).map(|_| ()).map_err(picture_error))
}

/// Returns a drawing as a Python object, and saves it if there is a path.
///
/// # Errors
/// `ValueError` if there is nothing to draw, `OSError` if the file cannot be written.
pub(crate) fn finish(
    py: Python<'_>,
    drawing: Result<Drawing, PictureError>,
    path: Option<PathBuf>,
) -> PyResult<Picture> {
    let picture = Picture { drawing: drawing.map_err(picture_error)? };
    match path {
        Some(path) => picture.save(py, path).map(|()| picture),
        None => Ok(picture),
    }
}

/// Draws the distribution of a statistic in toys, and saves the picture if there is a path. `remedy` is the call that
/// gives a result with toys.
///
/// # Errors
/// The errors of [`check`] and [`finish`]. `ValueError` if the result has no toys.
pub(crate) fn toys(
    py: Python<'_>,
    plot: &ToyDistribution,
    path: Option<PathBuf>,
    log_y: bool,
    (title, subtitle): (Option<String>, Option<String>),
    remedy: &str,
) -> PyResult<Picture> {
    check(path.as_deref())?;
    if plot.histograms.is_empty() {
        return Err(PyValueError::new_err(format!(
            "the result has no toys to draw: get it with toys, as in {remedy}"
        )));
    }
    let mut plot = ToyDistribution { log_y, ..plot.clone() };
    replace(&mut plot.title, title);
    replace(&mut plot.subtitle, subtitle);
    finish(py, plot.draw(), path)
}

/// A picture with titles.
pub(crate) trait Titled {
    /// Returns the picture itself; `None` if the result has none.
    fn with_titles(
        self,
        title: Option<String>,
        subtitle: Option<String>,
    ) -> Option<Result<Drawing, PictureError>>;
}

macro_rules! titled {
    ($($kind:ty),*) => {
        $(impl Titled for $kind {
            fn with_titles(
                mut self,
                title: Option<String>,
                subtitle: Option<String>,
            ) -> Option<Result<Drawing, PictureError>> {
                replace(&mut self.title, title);
                replace(&mut self.subtitle, subtitle);
                Some(self.draw())
            }
        })*
    };
}

titled!(Channels, Confidence, Corner, Linearity, Places, Region, Spurious);

impl<T: Titled> Titled for Option<T> {
    fn with_titles(
        self,
        title: Option<String>,
        subtitle: Option<String>,
    ) -> Option<Result<Drawing, PictureError>> {
        self.and_then(|picture| picture.with_titles(title, subtitle))
    }
}

/// Draws a picture with other titles, and saves it if there is a path. `remedy` is the call that gives a result with a
/// picture.
///
/// # Errors
/// The errors of [`check`] and [`finish`]. `ValueError` if the result has no picture.
pub(crate) fn titled(
    py: Python<'_>,
    picture: impl Titled,
    path: Option<PathBuf>,
    (title, subtitle): (Option<String>, Option<String>),
    remedy: &str,
) -> PyResult<Picture> {
    check(path.as_deref())?;
    let drawing = picture.with_titles(title, subtitle).ok_or_else(|| {
        PyValueError::new_err(format!("the result has no toys to draw: get it with toys, as in {remedy}"))
    })?;
    finish(py, drawing, path)
}

/// Sets a field to the given value; does nothing for `None`.
pub(crate) fn replace<T>(field: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *field = value;
    }
}

/// Keeps only the channels whose names are in `names`, in the order of `names`.
///
/// # Errors
/// `ValueError` for an unknown name.
pub(crate) fn select(yields: &mut Yields, names: &[String]) -> PyResult<()> {
    let find = |name: &String| {
        let channel = yields.channels.iter().find(|channel| channel.name == *name);
        channel.cloned().ok_or_else(|| {
            let known: Vec<&str> = yields.channels.iter().map(|channel| channel.name.as_str()).collect();
            PyValueError::new_err(format!("no channel '{name}'; there are {}", known.join(", ")))
        })
    };
    yields.channels = names.iter().map(find).collect::<PyResult<_>>()?;
    Ok(())
}

/// Blinded ranges of observables: the argument `blind`.
pub(crate) type Blind = BTreeMap<String, Vec<(f64, f64)>>;

/// Applies the arguments `blind` and `components` to a picture of events.
///
/// # Errors
/// `ValueError` for an unknown observable or word, and for an empty range.
pub(crate) fn shape_events(yields: &mut Yields, blind: Option<Blind>, components: &str) -> PyResult<()> {
    yields.components = components
        .parse::<Components>()
        .map_err(|error| PyValueError::new_err(format!("components: {error}")))?;
    for (observable, ranges) in blind.unwrap_or_default() {
        for (from, to) in ranges {
            let range = BlindRange { observable: observable.clone(), from, to };
            ns_inference::picture::blind(yields, &range)
                .map_err(|error| PyValueError::new_err(format!("blind: {error}")))?;
        }
    }
    Ok(())
}

/// Returns the exception for a picture that cannot be drawn or written.
fn picture_error(error: PictureError) -> PyErr {
    let text = error.to_string();
    match error {
        PictureError::Write { source, .. } => match source.raw_os_error() {
            // From the error number Python chooses the right subclass, such as FileNotFoundError.
            Some(number) => PyOSError::new_err((number, text)),
            None => PyOSError::new_err(text),
        },
        _ => PyValueError::new_err(text),
    }
}
