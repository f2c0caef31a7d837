//! The formulas of the kernels, written as WGSL from those of `terms`.

use ns_core::{HistosysCode, NormsysCode};

/// Returns the name of the WGSL function of an interpolation code.
pub(super) fn histosys_name(code: HistosysCode) -> String {
    format!("histosys_{}", code.name())
}

/// Returns the name of the WGSL function of an interpolation code.
pub(super) fn normsys_name(code: NormsysCode) -> String {
    format!("normsys_{}", code.name().replace('-', "_"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::trace::{Written, function};
    use super::*;
    use crate::terms::normsys::normsys;
    use crate::terms::{gaussian, histosys, normsys as factors, poisson};

    /// Returns the text of `kernels/wgsl/formulas.wgsl`.
    fn text() -> String {
        let mut text = String::from(
            "// Formulas of terms and interpolation codes. Generated from src/terms (any_gpu/formulas.rs); do not edit.\n\n\
             // A histosys interpolation function with its derivatives.\n\
             struct Curved {\n    f: real,\n    first: real,\n    second: real,\n}\n\n\
             // A normsys factor without its exponential, the exponent of its exponential, and its derivatives divided by it.\n\
             struct Factor {\n    value: real,\n    exponent: real,\n    ratio: real,\n    bend: real,\n}\n",
        );
        let mut add = |function: String| {
            text.push('\n');
            text.push_str(&function);
        };
        for &code in HistosysCode::ALL {
            add(function(&histosys_name(code), &["alpha"], Some("Curved"), |x| {
                let curved = histosys::curved(code, x[0]);
                vec![curved.f, curved.first, curved.second]
            }));
        }
        let arguments = ["alpha", "c1", "c2", "c3", "c4", "c5", "c6", "hi", "lo"];
        for &code in NormsysCode::ALL.iter().filter(|&&code| normsys(code).is_smooth_at_zero()) {
            add(function(&normsys_name(code), &arguments, Some("Factor"), |x| {
                let c: [Written; 6] = std::array::from_fn(|i| x[i + 1]);
                let factor = factors::factor(normsys(code), x[0], c, x[7], x[8]);
                vec![factor.value, factor.exponent, factor.ratio, factor.bend]
            }));
        }
        add(function("gaussian_pull", &["theta", "datum", "weight"], None, |x| {
            vec![gaussian::pull(x[0], x[1], x[2])]
        }));
        add(function("gaussian_value", &["pull"], None, |x| vec![gaussian::value(x[0])]));
        add(function("gaussian_add_slope", &["pull", "weight", "total"], None, |x| {
            vec![gaussian::add_slope(x[0], x[1], x[2])]
        }));
        add(function("deviance_near", &["z"], None, |x| vec![poisson::near(x[0])]));
        add(function("poisson_slope", &["lambda", "n"], None, |x| {
            vec![poisson::deviance_derivatives(x[0], x[1]).0]
        }));
        text
    }

    /// Set `NEXTSTAT_WRITE_HEADER=1` to write the file.
    #[test]
    fn the_committed_formulas_are_those_of_the_terms() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/wgsl/formulas.wgsl");
        let text = text();
        if std::env::var_os("NEXTSTAT_WRITE_HEADER").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == text, "{path} is stale: run this test with NEXTSTAT_WRITE_HEADER=1");
    }
}
