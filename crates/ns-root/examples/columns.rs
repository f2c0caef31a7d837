//! Prints the columns of a tree: `columns FILE TREE [NAME ...]` prints their numbers, one event per line; without names, the
//! names.
#![allow(missing_docs, clippy::print_stderr, clippy::print_stdout)]

use ns_root::{RootError, RootFile};

fn main() -> Result<(), RootError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, tree, names @ ..] = arguments.as_slice() else {
        eprintln!("columns FILE TREE [NAME ...]");
        return Ok(());
    };
    let file = RootFile::open(file)?;
    if names.is_empty() {
        println!("{}", file.tree(tree)?.columns().join("\n"));
        return Ok(());
    }
    let columns = file.columns(tree, names)?;
    let events = columns.first().map_or(0, Vec::len);
    for event in 0..events {
        let row: Vec<String> = columns.iter().filter_map(|c| c.get(event)).map(f64::to_string).collect();
        println!("{}", row.join(" "));
    }
    Ok(())
}
