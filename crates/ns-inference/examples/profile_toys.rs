//! Measures the number of toys per second in a hypothesis test. Counts the reasons why toys did not converge or
//! failed.
//!
//! `cargo run --release -p ns-inference --example profile_toys -- FILE [toys] [mu] [threads]`

#![allow(clippy::expect_used, clippy::print_stdout)] // an example may stop where its input is wrong

use std::collections::BTreeMap;

use ns_core::{Control, Execution};
use ns_inference::open_session;
use ns_inference::toys::{HypotestToysOptions, ToyRow, ToyTest};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a workspace file");
    let n_toys: u64 = args.next().map_or(1000, |a| a.parse().expect("a number"));
    let mu: f64 = args.next().map_or(1.0, |a| a.parse().expect("a number"));
    let threads = args.next().map_or(1, |a| a.parse().expect("a number"));
    let workspace = Workspace::from_path(file).expect("a workspace");
    let model = workspace.model(&ModelOptions::default()).expect("a model");
    let session = open_session(&model, &Execution { threads, ..Execution::default() }).expect("a session");
    let options = HypotestToysOptions::default().n_toys(n_toys).seed(1);
    let test =
        ToyTest::prepare(&model, session.as_ref(), mu, &options, Control::default()).expect("a first fit");
    for range in test.ranges() {
        let mut rows: Vec<ToyRow> = Vec::new();
        let run = test.run(std::slice::from_ref(&range), Control::default(), &mut rows).expect("a run");
        println!("{}: {:.0} toys per second", range.0, run.n_rows as f64 / run.wall_s);
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.reason.is_empty()) {
            // Without digits, reasons of the same kind are equal texts.
            let kind = row.reason.replace(|c: char| c.is_ascii_digit(), "");
            *reasons.entry(kind).or_default() += 1;
        }
        for (reason, count) in reasons {
            println!("  {count} x {reason}");
        }
    }
}
