//! Generates the headers `kernels/constants.cuh`, `kernels/structures.cuh`, `kernels/inputs.cuh`,
//! `kernels/event_structures.cuh` and `kernels/flow_structures.cuh`. The headers declare in C++ the constants and
//! structures that kernels and host share. They are generated from the declarations in Rust.
//!
//! A test fails if the committed headers differ from the generated ones. The command
//! `NEXTSTAT_WRITE_HEADER=1 cargo test -p ns-compute --features cuda header` writes the headers. After that,
//! `scripts/kernels` must compile the kernels again.

use std::fmt::Write;

use ns_core::{HistosysCode, NormsysCode};

use super::declare::Declaration;
use super::{arrays, differentiate, events, flow, layout};
use crate::shared_constants::{self, Literal};

/// Returns the C++ declarations of the constants for drawing random numbers. `ns-core` defines these constants.
fn of_samplers() -> Vec<String> {
    macro_rules! all {
        ($($name:ident),* $(,)?) => {
            vec![$(ns_core::random::constants::$name.declare(stringify!($name))),*]
        };
    }
    #[rustfmt::skip]
    let mut all = all![
        PHILOX_MULTIPLIER_0, PHILOX_MULTIPLIER_2, PHILOX_WEYL_0, PHILOX_WEYL_1, PHILOX_ROUNDS, UNIFORM_STEP,
        LN2_UPPER, LN2_REST, HALF_ROOT_UPPER, FRACTION_BITS, EXPONENT_BIAS, LN_TERMS, TWO_PI, STIRLING_ERRORS,
        STIRLING_TERMS, POISSON_DEVIANCE_TERMS, NEAR_THE_MEAN, EDGE, SQUEEZE_FROM, CENTRE_OF_COUNTS, CENTRAL,
        CENTRAL_SQUARED, NEAR_TAIL, NEAR_TAIL_CENTRE, NORMAL_CENTRE_NUMERATOR, NORMAL_CENTRE_DENOMINATOR,
        NORMAL_NEAR_NUMERATOR, NORMAL_NEAR_DENOMINATOR, NORMAL_FAR_NUMERATOR, NORMAL_FAR_DENOMINATOR,
        GUIDE_SHIFT,
    ];
    all.push(ns_core::random::Stream::ATTEMPTS.declare("ATTEMPTS"));
    all
}

/// Appends lines of documentation to `text`, as C++ comments with the given indentation.
fn comment(text: &mut String, indent: &str, docs: &[&str]) {
    for line in docs {
        let _ = writeln!(text, "{indent}//{line}");
    }
}

/// Returns the text of a header file. It consists of the first lines of all headers, `content`, and the last lines of
/// all headers.
fn file(source: &str, include: &str, content: &str) -> String {
    format!(
        "// What kernels and host share. Made from {source} (src/device/header.rs says how): do not edit.\n#pragma once\n{include}\n\
         namespace ns {{\n\n{content}\n}}  // namespace ns\n"
    )
}

/// Returns the text of `constants.cuh`.
fn constants() -> String {
    let mut text = String::new();
    for (docs, declaration) in shared_constants::declarations() {
        comment(&mut text, "", docs);
        text += &declaration;
        text.push('\n');
    }
    text += "\n// Interpolation codes, documented in interpolation.rs of ns-core.\n";
    text += &codes("NormsysCode", NormsysCode::ALL.iter().map(|code| code.name()));
    text += &codes("HistosysCode", HistosysCode::ALL.iter().map(|code| code.name()));
    text += "\n// Of the samplers, documented in random/constants.rs of ns-core.\n";
    for declaration in of_samplers() {
        text += &declaration;
        text.push('\n');
    }
    file("src/shared_constants.rs", "#include <stdint.h>\n", &text)
}

/// Returns interpolation codes as a C++ enum. The variants are in the order of the Rust enum.
fn codes(name: &str, codes: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<String> = codes.map(str::to_ascii_uppercase).collect();
    format!("enum class {name} {{ {} }};\n", names.join(", "))
}

/// Returns the text of `structures.cuh`.
fn structures() -> String {
    let mut text = String::new();
    for (of, keyword) in [(arrays::arrays(), "enum"), (arrays::extras(), "enum class")] {
        text += &enumerated(&of, keyword);
        text.push('\n');
    }
    let numbers = [
        ("Number of arrays; offsets, an even number of them.", "N_ARRAYS", arrays::N_ARRAYS),
        ("", "N_OFFSETS", arrays::N_OFFSETS),
        (
            "The first array that is always in the block's slab of device memory.",
            "FIRST_GLOBAL",
            arrays::FIRST_GLOBAL,
        ),
        ("Number of arrays that only a Hessian has.", "N_EXTRA", arrays::N_EXTRA),
    ];
    for (docs, name, number) in numbers {
        if !docs.is_empty() {
            let _ = writeln!(text, "// {docs}");
        }
        let _ = writeln!(text, "{}", number.declare(name));
    }
    text.push('\n');
    text += &declared(&layout::structures());
    file("src/device/{arrays,layout}.rs", "#include \"block.cuh\"\n", &text)
}

/// Returns the C++ declaration of an enum.
fn enumerated(of: &Declaration, keyword: &str) -> String {
    let mut text = String::new();
    comment(&mut text, "", of.docs);
    let _ = writeln!(text, "{keyword} {} {{", of.name);
    for (docs, variant) in &of.parts {
        comment(&mut text, INDENT, docs);
        let _ = writeln!(text, "{INDENT}{},", in_capitals(variant));
    }
    text += "};\n";
    text
}

/// Returns the text of `inputs.cuh`.
fn inputs() -> String {
    let text = declared(&differentiate::structures());
    file("src/device/differentiate/layout.rs", "#include \"plan.cuh\"\n", &text)
}

/// Returns the text of `event_structures.cuh`.
fn event_structures() -> String {
    let mut text = String::new();
    for of in [events::event_codes(), events::leaf_kinds()] {
        text += &enumerated(&of, "enum class");
        text.push('\n');
    }
    text += &declared(&events::structures());
    file("src/device/events/layout.rs", "#include \"block.cuh\"\n", &text)
}

/// Returns the text of `flow_structures.cuh`.
fn flow_structures() -> String {
    file("src/device/flow/layout.rs", "#include \"block.cuh\"\n", &declared(&flow::structures()))
}

/// Returns the C++ declarations of structures.
fn declared(structures: &[Declaration]) -> String {
    let declare = |of: &Declaration| {
        let mut text = String::new();
        comment(&mut text, "", of.docs);
        let _ = writeln!(text, "struct {} {{", of.name);
        for (docs, field) in &of.parts {
            comment(&mut text, INDENT, docs);
            let _ = writeln!(text, "{INDENT}{field};");
        }
        let _ = writeln!(text, "}};\nstatic_assert(sizeof({}) == {}, \"as on the host\");", of.name, of.size);
        text
    };
    let all: Vec<String> = structures.iter().map(declare).collect();
    all.join("\n")
}

const INDENT: &str = "    ";

/// Converts a name such as `BinSlope` to `BIN_SLOPE`.
fn in_capitals(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

#[test]
#[allow(clippy::unwrap_used)]
fn the_committed_headers_are_those_of_the_declarations() {
    let headers = [
        ("constants.cuh", constants()),
        ("structures.cuh", structures()),
        ("inputs.cuh", inputs()),
        ("event_structures.cuh", event_structures()),
        ("flow_structures.cuh", flow_structures()),
    ];
    for (name, made) in headers {
        let path = format!("{}/kernels/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("NEXTSTAT_WRITE_HEADER").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).unwrap_or_default() == made,
            "kernels/{name} is stale: run `NEXTSTAT_WRITE_HEADER=1 cargo test -p ns-compute --features cuda header`, then \
             scripts/kernels, and commit both"
        );
    }
}
