//! Tests of files of toys. No toy may be lost or stored twice, and damaged files must be rejected.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{Recording, StoreError, ToyDestination, ToySet};
use crate::toys::{FitToyRow, FitToysHeader, Hypothesis, Shard, ToyHeader, ToyOrigin, ToyRow, ToyStatus};

type Tested = Result<(), Box<dyn std::error::Error>>;

const N_TOYS: u64 = 60;

fn origin(shard: Shard) -> ToyOrigin {
    ToyOrigin {
        version: "1".into(),
        model_digest: "model".into(),
        data_digest: "data".into(),
        interpolation: "smooth".into(),
        samplers: 2,
        seed: 7,
        n_toys: N_TOYS,
        shard,
        fixed: Vec::new(),
        search: "standard".into(),
        integral_tolerance: None,
        parameter_names: vec!["mu".into(), "theta, \"quoted\"".into()],
        sigmas: vec![1.0, 0.5],
    }
}

fn header(shard: Shard) -> ToyHeader {
    ToyHeader {
        origin: origin(shard),
        param: "mu".into(),
        mu_test: 1.0,
        test_stat: "qtilde".into(),
        q_obs: 0.1 + 0.2,
        mu_hat_obs: 1e-300,
        poi_index: 0,
        point_b: vec![0.0, 1.0 / 3.0],
        point_sb: vec![1.0, -0.0],
        converged: true,
        warnings: vec!["a warning".into()],
    }
}

/// Returns number `i` of a series of numbers that are difficult to store, such as -0 and NaN.
fn number(i: u64) -> f64 {
    let list = [0.0, -0.0, 1.0 / 3.0, f64::MIN_POSITIVE / 8.0, 1e308, f64::from_bits(0x7ff8_0000_0000_1234)];
    list[usize::try_from(i).unwrap_or(0) % list.len()] + if i % 7 == 3 { i as f64 * 0.1 } else { 0.0 }
}

fn row(hypothesis: Hypothesis, index: u64) -> ToyRow {
    let status = match index % 9 {
        4 => ToyStatus::NotConverged,
        8 => ToyStatus::Failed,
        _ => ToyStatus::Converged,
    };
    let exists = status != ToyStatus::Failed;
    ToyRow {
        hypothesis,
        index,
        statistic: exists.then(|| number(index)),
        mu_hat: exists.then(|| number(index + 3)),
        status,
        reason: if status == ToyStatus::Converged { String::new() } else { format!("why, \"µ\" {index}") },
    }
}

fn all(shard: Shard) -> Vec<ToyRow> {
    let range = shard.range(N_TOYS);
    Hypothesis::BOTH.into_iter().flat_map(|h| range.clone().map(move |i| row(h, i))).collect()
}

/// Formats rows of toys so that each number is written as its bits. NaN values can then be compared.
fn bits(rows: &[ToyRow]) -> Vec<String> {
    let bits = |x: Option<f64>| x.map(f64::to_bits);
    rows.iter()
        .map(|r| {
            format!("{:?}", (r.hypothesis, r.index, bits(r.statistic), bits(r.mu_hat), r.status, &r.reason))
        })
        .collect()
}

fn begin(path: &Path, shard: Shard, resume: bool) -> Result<Recording<ToyRow>, StoreError> {
    ToyDestination::claim(path, resume)?.begin(&header(shard))
}

fn finish(recording: Recording<ToyRow>) -> Result<Vec<ToyRow>, StoreError> {
    let mut rows = Vec::new();
    recording.finish(|some| {
        rows.extend_from_slice(some);
        Ok::<_, StoreError>(())
    })?;
    Ok(rows)
}

fn save(path: &Path, shard: Shard) -> Result<(), StoreError> {
    let mut recording = begin(path, shard, false)?;
    recording.add(&all(shard))?;
    finish(recording).map(|_| ())
}

fn read(paths: &[PathBuf]) -> Result<(ToySet<ToyRow>, Vec<ToyRow>), StoreError> {
    let set = ToySet::open(paths)?;
    let mut rows = Vec::new();
    set.rows(|some| {
        rows.extend_from_slice(some);
        Ok::<_, StoreError>(())
    })?;
    Ok((set, rows))
}

fn said<T>(result: Result<T, StoreError>) -> String {
    result.err().map_or_else(|| "no error".to_owned(), |error| error.to_string())
}

#[test]
fn rows_come_back_bit_by_bit_and_leave_nothing_else() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("toys.parquet");
    save(&path, Shard::WHOLE)?;
    let (set, rows) = read(&[path])?;
    assert_eq!(bits(&rows), bits(&all(Shard::WHOLE)));
    assert_eq!(set.header(), &header(Shard::WHOLE));
    assert_eq!(set.missing(), None);
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

#[test]
fn rows_of_a_study_come_back() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("study.parquet");
    let header = FitToysHeader {
        origin: origin(Shard::WHOLE),
        params: vec!["mu".into(), "theta, \"quoted\"".into()],
        indices: vec![0, 1],
        point: vec![1.0, 0.0],
        expectation: None,
        warnings: Vec::new(),
    };
    let rows: Vec<FitToyRow> = (0..N_TOYS)
        .map(|index| FitToyRow {
            index,
            nll: (index % 5 != 1).then(|| index as f64 / 3.0),
            status: if index % 5 == 1 { ToyStatus::Failed } else { ToyStatus::Converged },
            reason: if index % 5 == 1 { "no".into() } else { String::new() },
            values: if index % 5 == 1 { Vec::new() } else { vec![index as f64, 0.1] },
            uncertainties: if index % 5 == 1 { Vec::new() } else { vec![None, Some(0.7)] },
        })
        .collect();
    let mut recording = ToyDestination::claim(&path, false)?.begin::<FitToyRow>(&header)?;
    recording.add(&rows)?;
    recording.finish(|_| Ok::<_, StoreError>(()))?;
    let mut back = Vec::new();
    ToySet::<FitToyRow>::open(std::slice::from_ref(&path))?.rows(|some| {
        back.extend_from_slice(some);
        Ok::<_, StoreError>(())
    })?;
    assert_eq!(back, rows);
    let message = said(ToySet::<ToyRow>::open(&[path]));
    assert!(message.contains("holds rows of `toys`, not of `hypotest-toys`; name files"), "{message}");
    Ok(())
}

#[test]
fn a_run_in_pieces_makes_the_same_file() -> Tested {
    let folder = tempfile::tempdir()?;
    let (whole, pieces) = (folder.path().join("whole.parquet"), folder.path().join("pieces.parquet"));
    save(&whole, Shard::WHOLE)?;
    let rows = all(Shard::WHOLE);
    // Each run except the last stops after this number of rows. The last run finishes.
    for (n, stop) in [5_usize, 17, 0, 60, 100, 1000].into_iter().enumerate() {
        let mut recording = begin(&pieces, Shard::WHOLE, n > 0)?;
        let missing = recording.missing();
        let wanted: Vec<ToyRow> = rows
            .iter()
            .filter(|r| missing.iter().any(|(s, range)| *s == r.hypothesis && range.contains(&r.index)))
            .cloned()
            .collect();
        for some in wanted[..stop.min(wanted.len())].chunks(4) {
            recording.add(some)?;
            recording.flush()?;
        }
        if stop > wanted.len() {
            assert_eq!(bits(&finish(recording)?), bits(&rows));
        } else {
            // A killed run leaves its pieces and an incomplete file.
            let parts = folder.path().join("pieces.parquet.parts");
            fs::write(parts.join(".writing-killed"), "PAR1 half")?;
            drop(recording);
        }
    }
    assert_eq!(fs::read(&whole)?, fs::read(&pieces)?);
    assert_eq!(fs::read_dir(folder.path())?.count(), 2);
    // The run is resumed once more. No toys are missing.
    let recording = begin(&pieces, Shard::WHOLE, true)?;
    assert!(recording.missing().is_empty());
    assert_eq!(bits(&finish(recording)?), bits(&rows));
    assert_eq!(fs::read_dir(folder.path())?.count(), 2);
    Ok(())
}

#[test]
fn an_interrupted_run_stays_in_pieces_and_can_be_read() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("toys.parquet");
    let mut recording = begin(&path, Shard::WHOLE, false)?;
    recording.add(&all(Shard::WHOLE)[..70])?;
    assert_eq!(finish(recording)?.len(), 70);
    assert!(!path.exists());
    let (set, rows) = read(std::slice::from_ref(&path))?;
    assert_eq!((rows.len(), set.interrupted()), (70, std::slice::from_ref(&path)));
    assert_eq!(set.missing().as_deref(), Some("of sb 10 to 59"));
    let message = said(begin(&path, Shard::WHOLE, false));
    assert!(
        message.contains("toys.parquet.parts: already there; continue that run with --resume"),
        "{message}"
    );
    let message = said(begin(&path, "1/2".parse()?, true));
    assert!(message.contains("the shard is 1/1 there and 1/2 here"), "{message}");
    Ok(())
}

#[test]
fn shards_in_any_order_equal_the_whole() -> Tested {
    let folder = tempfile::tempdir()?;
    for count in [1, 3, 10, 61] {
        let mut paths = Vec::new();
        for index in (1..=count).rev() {
            let path = folder.path().join(format!("{index}of{count}.parquet"));
            save(&path, Shard { index, count })?;
            paths.push(path);
        }
        let (set, rows) = read(&paths)?;
        assert_eq!(set.missing(), None);
        assert_eq!(bits(&rows), bits(&all(Shard::WHOLE)), "{count}");
    }
    Ok(())
}

#[test]
fn sets_with_gaps_doubles_and_strangers() -> Tested {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for index in 1..=3 {
        save(&at(&format!("{index}.parquet")), Shard { index, count: 3 })?;
    }
    save(&at("half.parquet"), Shard { index: 1, count: 2 })?;
    let set = ToySet::<ToyRow>::open(&[at("3.parquet"), at("1.parquet")])?;
    assert_eq!(set.missing().as_deref(), Some("of b 20 to 39; of sb 20 to 39"));
    let message = said(ToySet::<ToyRow>::open(&[at("1.parquet"), at("2.parquet"), at("half.parquet")]));
    assert!(message.contains("1.parquet and ") && message.contains("half.parquet both have"), "{message}");
    assert!(message.contains("toys 0 to 19 of b"), "{message}");
    let message = said(ToySet::<ToyRow>::open(&[at("1.parquet"), at("1.parquet")]));
    assert!(message.contains("both have toys 0 to 19 of b"), "{message}");

    let mut other = header(Shard { index: 2, count: 3 });
    other.origin.seed = 8;
    let mut recording = ToyDestination::claim(at("seed.parquet"), false)?.begin::<ToyRow>(&other)?;
    recording.add(&all(Shard { index: 2, count: 3 }))?;
    finish(recording)?;
    let message = said(ToySet::<ToyRow>::open(&[at("1.parquet"), at("seed.parquet")]));
    assert!(
        message.contains("seed.parquet: from another run than ") && message.contains("the seed"),
        "{message}"
    );
    let message = said(begin(&at("seed.parquet"), Shard { index: 2, count: 3 }, true));
    assert!(message.contains("from another run than this one: the seed is 8 there and 7 here"), "{message}");
    Ok(())
}

/// A header that does not give the version of the random samplers means their first version. A run with the present
/// samplers must not continue such a file.
#[test]
fn toys_of_earlier_samplers_are_not_continued() -> Tested {
    let mut text = serde_json::to_value(header(Shard::WHOLE))?;
    let removed = text.get_mut("origin").and_then(|origin| origin.as_object_mut()?.remove("samplers"));
    assert_eq!(removed, Some(2.into()));
    let old: ToyHeader = serde_json::from_value(text)?;
    assert_eq!(old.origin.samplers, 1);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("toys.parquet");
    let mut recording = ToyDestination::claim(&path, false)?.begin::<ToyRow>(&old)?;
    recording.add(&all(Shard::WHOLE))?;
    finish(recording)?;
    let message = said(begin(&path, Shard::WHOLE, true));
    assert!(
        message.contains("from another run than this one: the version of the samplers is 1 there and 2 here"),
        "{message}"
    );
    Ok(())
}

#[test]
fn damaged_files_are_never_believed() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("toys.parquet");
    save(&path, Shard { index: 2, count: 10 })?;
    let bytes = fs::read(&path)?;
    let (_, good) = read(std::slice::from_ref(&path))?;
    for i in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[i] ^= 1 << (i % 8);
        fs::write(&path, &wrong)?;
        if let Ok((_, rows)) = read(std::slice::from_ref(&path)) {
            assert_eq!(bits(&rows), bits(&good), "byte {i}");
        }
    }
    for length in (0..bytes.len()).step_by(7) {
        fs::write(&path, &bytes[..length])?;
        let message = said(read(std::slice::from_ref(&path)));
        assert!(message.contains("toys.parquet: no Parquet file, or one that was cut short"), "{message}");
    }
    fs::write(&path, "index,statistic\n0,1.5\n")?;
    assert!(said(read(std::slice::from_ref(&path))).contains("no Parquet file"));
    assert!(said(read(&[folder.path().join("none")])).contains("none: cannot be read: "));
    assert!(said(read(&[folder.path().to_owned()])).contains("cannot be read: "));
    Ok(())
}

#[test]
fn parquet_files_of_other_programs_and_versions_are_told_apart() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("other.parquet");
    let header = serde_json::to_string(&header(Shard::WHOLE))?;
    let write = |entries: &[(&str, &str)]| -> Tested {
        let entries =
            entries.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
        let properties = WriterProperties::builder().set_key_value_metadata(Some(entries.collect())).build();
        let schema = parse_message_type("message m { required double x; }")?;
        SerializedFileWriter::new(fs::File::create(&path)?, Arc::new(schema), Arc::new(properties))?
            .close()?;
        Ok(())
    };
    let mut entries = vec![];
    for (added, expected) in [
        (("pandas", "{}"), "not a file of toys: it has no entry 'nextstat.format'; name a file that --save"),
        (("nextstat.format", "1"), "it has no entry 'nextstat.kind'"),
        (("nextstat.kind", "hypotest-toys"), "it has no entry 'nextstat.header'"),
        (("nextstat.header", header.as_str()), "damaged: it has no entry 'nextstat.sha256'"),
        (("nextstat.sha256", "0"), "damaged: its columns are not those that its header announces"),
    ] {
        entries.push(added);
        write(&entries)?;
        let message = said(read(std::slice::from_ref(&path)));
        assert!(message.contains(expected), "{expected}: {message}");
    }
    write(&[("nextstat.format", "2")])?;
    let message = said(read(std::slice::from_ref(&path)));
    assert!(message.contains("toy file format 2; this version reads format 1: use the version"), "{message}");
    Ok(())
}

#[test]
fn one_run_at_a_time() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("toys.parquet");
    let first = begin(&path, Shard::WHOLE, false)?;
    for resume in [false, true] {
        let message = said(ToyDestination::claim(&path, resume));
        assert!(message.contains("toys.parquet: another run is writing this file"), "{message}");
    }
    drop(first);
    assert_eq!(fs::read_dir(folder.path())?.count(), 0, "a run without toys leaves nothing");
    save(&path, Shard::WHOLE)?;
    let message = said(ToyDestination::claim(&path, false));
    assert!(message.contains("toys.parquet: already there; continue that run with --resume"), "{message}");
    let message = said(ToyDestination::claim(folder.path().join("no/such/toys.parquet"), true));
    assert!(message.contains("does not exist"), "{message}");
    assert!(said(ToyDestination::claim(folder.path(), true)).contains("it is a folder"));
    Ok(())
}
