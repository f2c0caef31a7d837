//! The bytes of a histogram: version 3 of `TH1D` and `TH1F`, 8 of `TH1`, 10 of `TAxis`.

use super::bytes::Bytes;
use crate::axis::{Axis, uniform};
use crate::histogram::Histogram;

/// What ROOT takes for limits of a picture that nobody has chosen.
const NO_LIMIT: f64 = -1111.0;

/// The class that a histogram is written as.
pub(super) fn class(histogram: &Histogram) -> &'static str {
    if histogram.class == "TH1F" { "TH1F" } else { "TH1D" }
}

/// The bytes of a histogram behind a key of length `key`.
pub(super) fn object(histogram: &Histogram, key: usize) -> Vec<u8> {
    let mut b = Bytes::behind(key);
    b.sized(3, |b| {
        b.sized(8, |b| base(b, histogram));
        b.size(histogram.cells().len());
        for &value in histogram.cells() {
            if class(histogram) == "TH1F" {
                b.f32(value as f32);
            } else {
                b.f64(value);
            }
        }
    });
    b.out
}

fn base(b: &mut Bytes, histogram: &Histogram) {
    b.named(&histogram.name, &histogram.title);
    // Colours, styles and widths as ROOT has them without a style.
    b.sized(2, |b| [602, 1, 1].into_iter().for_each(|v| b.i16(v)));
    b.sized(2, |b| [0, 1001].into_iter().for_each(|v| b.i16(v)));
    b.sized(2, |b| {
        b.i16(1);
        b.i16(1);
        b.f32(1.0);
    });
    b.size(histogram.cells().len());
    let unit = Axis::new(vec![0.0, 1.0]);
    axis(b, "xaxis", histogram.axes.first().unwrap_or(&unit));
    axis(b, "yaxis", &unit);
    axis(b, "zaxis", &unit);
    b.i16(0);
    b.i16(1000);
    b.f64(histogram.entries);
    for sum in sums(histogram) {
        b.f64(sum);
    }
    b.f64(NO_LIMIT);
    b.f64(NO_LIMIT);
    b.f64(0.0);
    b.doubles(&[]);
    b.doubles(histogram.cells_sumw2().unwrap_or_default());
    b.text("");
    b.list(std::iter::empty::<()>(), |_, ()| {});
    // No buffer; the usual errors; statistics without underflow and overflow as the session of ROOT says.
    b.u32(0);
    b.u8(0);
    b.u32(0);
    b.u32(2);
}

/// Sums of the weights, their squares, and of the weights times x and x squared, at the centres of bins.
fn sums(histogram: &Histogram) -> [f64; 4] {
    let edges = histogram.axes.first().map(|axis| axis.edges.as_slice()).unwrap_or_default();
    let contents = histogram.contents();
    let squares = histogram.sumw2().unwrap_or_else(|| contents.clone());
    let mut out = [0.0; 4];
    for ((w, w2), pair) in contents.iter().zip(&squares).zip(edges.windows(2)) {
        let x = pair.iter().sum::<f64>() / 2.0;
        for (sum, term) in out.iter_mut().zip([*w, *w2, w * x, w * x * x]) {
            *sum += term;
        }
    }
    out
}

fn axis(b: &mut Bytes, name: &str, axis: &Axis) {
    let n = axis.n_bins();
    let low = axis.edges.first().copied().unwrap_or(0.0);
    let high = axis.edges.last().copied().unwrap_or(1.0);
    let even = axis.edges == uniform(n, low, high);
    b.sized(10, |b| {
        b.named(name, &axis.title);
        b.sized(4, |b| {
            b.i32(510);
            [1, 1, 42].into_iter().for_each(|v| b.i16(v));
            [0.005, 0.035, 0.03, 1.0, 0.035].into_iter().for_each(|v| b.f32(v));
            [1, 42].into_iter().for_each(|v| b.i16(v));
        });
        b.size(n);
        b.f64(low);
        b.f64(high);
        b.doubles(if even { &[] } else { &axis.edges });
        b.u32(0);
        b.u32(0);
        b.u16(0);
        b.u8(0);
        b.text("");
        match &axis.labels {
            None => b.u32(0),
            Some(labels) => {
                let texts: Vec<_> = (1u32..).zip(labels).filter(|(_, text)| !text.is_empty()).collect();
                b.pointer("THashList", |b| {
                    b.list(texts.into_iter(), |b, (bin, text)| {
                        b.pointer("TObjString", |b| {
                            b.sized(1, |b| {
                                b.object(bin);
                                b.text(text);
                            });
                        });
                    });
                });
            }
        }
        b.u32(0);
    });
}
