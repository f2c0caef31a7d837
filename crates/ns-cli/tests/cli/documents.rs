//! Results as tables of documents.

use crate::{fixture, run, shown, snapshot};

/// Runs a command on the small workspace of all modifiers and returns its output in `format`.
fn told(args: &[&str], format: &str) -> String {
    let file = fixture("simple_workspace.json");
    shown(&run(&[&[args[0], "-i", &file, "--format", format], &args[1..]].concat()))
}

#[test]
fn yields_have_samples_as_rows_and_channels_as_columns() {
    for format in ["latex", "markdown", "csv"] {
        snapshot!(told(&["yields"], format));
    }
}

#[test]
fn yields_per_bin_have_a_table_per_channel() {
    snapshot!(told(&["yields", "--per-bin"], "latex"));
}

#[test]
fn limits_yields_scans_and_correlations_are_data_tables_of_hepdata() {
    for args in [
        &["upper-limit"][..],
        &["yields", "--prefit"],
        &["scan", "--start", "0", "--stop", "2", "--points", "2", "--quiet"],
    ] {
        snapshot!(told(args, "hepdata"));
    }
    let fit = told(&["fit"], "hepdata");
    assert!(fit.contains("\n---\n") && fit.contains("Correlation coefficient"), "{fit}");
    let refused = told(&["ranking"], "hepdata");
    assert!(refused.starts_with("exit 2") && refused.contains("upper-limit"), "{refused}");
}

#[test]
fn fits_rankings_and_limits_are_tables_too() {
    for args in [&["fit", "--minos", "mu"][..], &["ranking"], &["upper-limit"], &["significance"]] {
        for format in ["latex", "csv"] {
            snapshot!(told(args, format));
        }
    }
}
