//! Reads the columns of all templates that are filled from events, file by file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::files::matching;
use super::fill::Filling;
use super::{Filled, Request, Source, found};
use crate::arrow::parquet::{ParquetOptions, read_parquet_events_soa};
use crate::build::fields::Reader;
use crate::files::{Files, Folder};
use crate::pyhf::names::quoted;

/// Reads templates into `filled`. Every file is read once, with the columns of all its templates.
pub(super) fn read(
    requests: &[Request],
    folder: Folder<'_>,
    reader: &mut Reader,
    filled: &mut [Option<Filled>],
) {
    let mut fillings: Vec<Option<Filling>> = vec![None; requests.len()];
    // In the order of the first use, so that messages follow the configuration.
    let mut order: Vec<(PathBuf, String)> = Vec::new();
    let mut users: HashMap<(PathBuf, String), Vec<usize>> = HashMap::new();
    for (i, request) in requests.iter().enumerate() {
        let Source::Columns(source) = &request.source else { continue };
        match Filling::new(source) {
            Ok(filling) => fillings[i] = Some(filling),
            Err((message, remedy)) => {
                reader.error(request.line, format!("{}: {message}", request.what), remedy);
                continue;
            }
        }
        for name in &source.files {
            let files = matching(folder.files, &found(folder, name));
            if files.is_empty() {
                let message = format!("{}: no file is called {}.", request.what, quoted(name));
                reader.error(request.line, message, "Correct the paths in the configuration.");
                fillings[i] = None;
            }
            for file in files {
                let key = (file, source.tree.clone().unwrap_or_default());
                let list = users.entry(key.clone()).or_default();
                if list.is_empty() {
                    order.push(key);
                }
                list.push(i);
            }
        }
    }
    for key in &order {
        let Some(list) = users.get(key) else { continue };
        if let Err((line, message, remedy)) = one_file(folder.files, key, list, requests, &mut fillings) {
            reader.error(line, message, remedy);
            for i in list {
                fillings[*i] = None;
            }
        }
    }
    for (filling, place) in fillings.into_iter().zip(filled) {
        if let Some((template, edges)) = filling.map(Filling::finish) {
            *place = Some(Filled { template, edges, beyond: [0.0; 2] });
        }
    }
}

/// Line, message and remedy of what is wrong with a file.
type Wrong = (usize, String, String);

/// Adds the events of a file to the templates that use it.
fn one_file(
    files: &Files,
    (file, tree): &(PathBuf, String),
    users: &[usize],
    requests: &[Request],
    fillings: &mut [Option<Filling>],
) -> Result<(), Wrong> {
    let users: Vec<usize> = users.iter().copied().filter(|i| fillings[*i].is_some()).collect();
    let Some(first) = users.first().and_then(|i| requests.get(*i)) else { return Ok(()) };
    let mut names: Vec<String> = Vec::new();
    for name in users.iter().filter_map(|i| fillings[*i].as_ref()).flat_map(Filling::names) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let wrong = |message: String, remedy: String| (first.line, format!("{}: {message}", first.what), remedy);
    let arrays = table(files, file, tree, &names).map_err(|(message, remedy)| wrong(message, remedy))?;
    let rows = arrays.iter().map(|array| array.len()).max().unwrap_or(0);
    if arrays.len() != names.len() || arrays.iter().any(|array| array.len() != rows) {
        let message = format!("the columns of {} have different lengths.", file.display());
        return Err(wrong(message, "Read columns of one tree.".to_owned()));
    }
    let columns: HashMap<&str, &[f64]> =
        names.iter().map(String::as_str).zip(arrays.iter().map(AsRef::as_ref)).collect();
    for i in users {
        let (Some(filling), Some(request)) = (&mut fillings[i], requests.get(i)) else { continue };
        if let Err(event) = filling.add(&columns, rows) {
            let message = format!(
                "{}: the weight of event {event} of {} is not a finite number.",
                request.what,
                file.display()
            );
            return Err((request.line, message, "Leave the event out with a filter.".to_owned()));
        }
    }
    Ok(())
}

/// Columns, and what is wrong with a remedy.
type Columns = Result<Vec<std::sync::Arc<[f64]>>, (String, String)>;

fn table(files: &Files, file: &Path, tree: &str, names: &[String]) -> Columns {
    let is_root = files.is_root(file).map_err(|error| {
        let remedy = "Correct the paths in the configuration.";
        (format!("cannot read {}: {error}.", file.display()), remedy.to_owned())
    })?;
    if !is_root {
        if *files != Files::Disk {
            let message = format!("{} is no ROOT file.", file.display());
            return Err((message, "In an archive, give the events as trees of ROOT files.".to_owned()));
        }
        let options = ParquetOptions { columns: Some(names.to_vec()), ..ParquetOptions::default() };
        let read = read_parquet_events_soa(file, &options).map_err(|error| {
            (error.to_string(), "Correct the expression, or the path of the file.".to_owned())
        })?;
        return Ok(read.columns);
    }
    if tree.is_empty() {
        let message = format!("{} is a ROOT file, and its tree is not named.", file.display());
        return Err((message, "Add 'Tree' to the sample.".to_owned()));
    }
    let columns = files.root(file).and_then(|file| file.columns(tree, names)).map_err(|error| {
        (
            error.to_string(),
            "Correct the name of the tree or the expression, or the path of the file.".to_owned(),
        )
    })?;
    Ok(columns.into_iter().map(Into::into).collect())
}
