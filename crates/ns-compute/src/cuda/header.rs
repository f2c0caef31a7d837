//! `kernels/constants.cuh`: what kernels and host share, as C++, made from the Rust declarations.
//!
//! A test fails where the committed header is another one. `NEXTSTAT_WRITE_HEADER=1 cargo test -p ns-compute --features cuda
//! header` writes it; `scripts/kernels` then compiles the kernels with it.

use std::fmt::Write;

use crate::shared_constants;

/// A constant in C++.
pub(crate) trait Literal {
    /// Its declaration.
    fn declare(&self, name: &str) -> String;
}

macro_rules! literals {
    ($($kind:ty: $form:literal;)*) => {
        $(impl Literal for $kind {
            fn declare(&self, name: &str) -> String {
                format!($form, name, self)
            }
        })*
    };
}

literals! {
    usize: "constexpr int {} = {};";
    i32: "constexpr int {} = {};";
    u8: "constexpr int {} = {};";
    u32: "constexpr uint32_t {} = {:#x}u;";
    u64: "constexpr uint64_t {} = {:#x}ull;";
    f64: "constexpr double {} = {:?};";
}

/// A list in C++ initialises an array: `const double terms[8] = NS_TERMS;` lets a compiler put its numbers into instructions.
impl<const N: usize> Literal for [f64; N] {
    fn declare(&self, name: &str) -> String {
        let numbers: Vec<String> = self.iter().map(|number| format!("{number:?}")).collect();
        format!("#define NS_{name} {{{}}}", numbers.join(", "))
    }
}

/// Comments from documentation.
fn comment(text: &mut String, indent: &str, docs: &[&str]) {
    for line in docs {
        let _ = writeln!(text, "{indent}//{line}");
    }
}

/// The whole header.
fn header() -> String {
    let mut text = String::from(
        "// What kernels and host share. Made from src/shared_constants.rs and src/cuda/layout.rs (src/cuda/header.rs says how): do\n\
         // not edit.\n#pragma once\n\nnamespace ns {\n\n",
    );
    for (docs, declaration) in shared_constants::declarations() {
        comment(&mut text, "", docs);
        text += &declaration;
        text.push('\n');
    }
    text += "\n}  // namespace ns\n";
    text
}

#[test]
#[allow(clippy::panic, clippy::unwrap_used)]
fn the_committed_header_is_that_of_the_declarations() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/constants.cuh");
    let made = header();
    if std::env::var_os("NEXTSTAT_WRITE_HEADER").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == made,
        "kernels/constants.cuh is stale: run `NEXTSTAT_WRITE_HEADER=1 cargo test -p ns-compute --features cuda header`, then \
         scripts/kernels, and commit both"
    );
}
