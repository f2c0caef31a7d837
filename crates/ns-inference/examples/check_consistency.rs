//! Checks whether the analyses of random models agree with each other and with single fits:
//! `cargo run --release -p ns-inference --example check_consistency -- FIRST COUNT
//! [--threads N] [--save FOLDER] [--write INDEX] [--refused] [--part | --conditional] [--slow SECONDS]`.
//!
//! Prints a line per violated property (model, property, numbers), then a table of counts per property. `--save`
//! writes the workspaces of models with a violation. `--write INDEX` only prints the workspace of one model.
//! `--refused` also lists analyses that returned an error. `--part` checks only the properties that the test
//! `consistency` checks, `--conditional` only those of conditional fits. Models with an index of at least 1 000 000 have
//! effects far from linear. `--slow SECONDS` lists models whose checks take more than this time.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/property/mod.rs"]
mod property;

use std::error::Error;
use std::path::{Path, PathBuf};

use property::checks::Depth;
use property::run::run;
use property::workspace::{Case, draw};

const USAGE: &str = "usage: check_consistency FIRST COUNT [--threads N] [--save FOLDER] [--write INDEX] [--refused] [--part | --conditional] [--slow SECONDS]";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut threads, mut save, mut refused, mut depth) = (2, None, false, Depth::Whole);
    let mut slow = f64::INFINITY;
    let (mut numbers, mut args) = (Vec::new(), std::env::args().skip(1));
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(USAGE);
        match arg.as_str() {
            "--threads" => threads = value()?.parse()?,
            "--save" => save = Some(PathBuf::from(value()?)),
            "--write" => {
                let case = draw(value()?.parse()?);
                eprintln!("{}", case.flags());
                println!("{}", serde_json::to_string(&case.workspace)?);
                return Ok(());
            }
            "--refused" => refused = true,
            "--part" => depth = Depth::Part,
            "--conditional" => depth = Depth::Conditional,
            "--slow" => slow = value()?.parse()?,
            number => numbers.push(number.parse::<u64>()?),
        }
    }
    let [first, count] = numbers[..] else { return Err(USAGE.into()) };
    let begin = std::time::Instant::now();
    let summary = run(first, count, threads, depth, &|case, report| {
        for violation in &report.violations {
            println!("{} | {} | {}", case.index, violation.property, violation.numbers);
        }
        for violation in &report.negative_yield {
            println!("{} | negative yield: {} | {}", case.index, violation.property, violation.numbers);
        }
        if report.seconds > slow {
            println!("{} | slow | {:.2} s", case.index, report.seconds);
        }
        if refused {
            for refusal in &report.refused {
                println!("{} | refused: {} | {}", case.index, refusal.property, refusal.numbers);
            }
        }
        if let Some(folder) = save.as_deref().filter(|_| !report.violations.is_empty())
            && let Err(error) = write(folder, case)
        {
            eprintln!("{}: {error}", folder.display());
        }
    });
    println!();
    println!(
        "{:<52} {:>9} {:>9} {:>7} {:>10}  worst model",
        "property", "looked", "violated", "models", "worst"
    );
    for (property, c) in &summary.properties {
        let worst =
            if c.violated > 0 { format!("{:>10.2e}  {}", c.worst, c.worst_model) } else { String::new() };
        println!("{property:<52} {:>9} {:>9} {:>7} {worst}", c.looked, c.violated, c.models);
    }
    for (analysis, n) in &summary.refused {
        println!("{:<52} {n:>9}", format!("refused: {analysis}"));
    }
    println!(
        "{} of {} models with a violation, {} more with one where a minimum has a negative expected yield, {:.1} s",
        summary.models_violated,
        summary.models,
        summary.negative_yield,
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

fn write(folder: &Path, case: &Case) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("{}.json", case.index)), serde_json::to_string(&case.workspace)?)?;
    std::fs::write(folder.join(format!("{}.flags", case.index)), case.flags())?;
    Ok(())
}
