//! Files written by ROOT, by our writer, and by the field's tools are read as they should be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use ns_root::{Compression, Histogram, HistogramFile, RootError, RootFile};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/root").join(name)
}

fn all(file: &RootFile) -> Vec<Histogram> {
    let names = file.names().expect("names are read");
    names.iter().map(|e| file.histogram(&format!("{};{}", e.path, e.cycle)).expect("it is read")).collect()
}

#[test]
fn every_compression_has_the_same_histograms() {
    let expected = all(&RootFile::open(fixture("none.root")).expect("it opens"));
    assert_eq!(expected.len(), 13);
    for name in ["zlib", "lzma", "old", "lz4", "zstd"] {
        let file = RootFile::open(fixture(&format!("{name}.root"))).expect("it opens");
        assert_eq!(all(&file), expected, "{name}");
    }
}

#[test]
fn contents_are_those_that_root_was_given() {
    let file = RootFile::open(fixture("lzma.root")).expect("it opens");
    for letter in ["C", "S", "I", "F", "D"] {
        let one = file.histogram(&format!("outer/inner/h{letter}")).expect("it is read");
        let cells: Vec<f64> = (0..42).map(|i| f64::from(i * i % 50)).collect();
        assert_eq!(one.cells(), cells);
        assert_eq!(one.contents(), cells[1..41]);
        assert_eq!((one.underflow(), one.overflow()), (Some(0.0), Some(31.0)));
        assert_eq!(one.class, format!("TH1{letter}"));
        assert_eq!(one.title, format!("entries in {letter}"));
        assert_eq!((one.axes.len(), one.axes[0].n_bins(), one.axes[0].edges[40]), (1, 40, 2.0));
        assert_eq!(one.sumw2(), None);
        assert_eq!(one.errors()[1], 2.0);
        let two = file.histogram(&format!("/outer/inner/hh{letter}")).expect("it is read");
        assert_eq!(two.contents(), [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
        assert_eq!(two.axes[1].edges, [0.0, 1.0, 5.0]);
        assert_eq!(two.sumw2().map(|s| s[..2].to_vec()), Some(vec![0.25, 21.0]));
        assert_eq!((two.underflow(), two.overflow()), (None, None));
    }
    let labelled = file.histogram("outer/inner/labelled").expect("it is read");
    assert_eq!(labelled.axes[0].title, "channel");
    assert_eq!(labelled.axes[0].labels, Some(["ee", "", "mumu"].map(str::to_owned).to_vec()));
}

#[test]
fn the_highest_cycle_is_taken() {
    let file = RootFile::open(fixture("zstd.root")).expect("it opens");
    assert_eq!(file.histogram("outer/inner/twice").expect("it is read").title, "second");
    assert_eq!(file.histogram("outer/inner/twice;2").expect("it is read").contents(), [7.5, 0.0]);
    assert_eq!(file.histogram("outer/inner/twice;1").expect("it is read").title, "first");
    let cycles: Vec<i16> =
        file.names().expect("names").iter().filter(|e| e.path.ends_with("twice")).map(|e| e.cycle).collect();
    assert_eq!(cycles, [2, 1]);
}

#[test]
fn only_what_is_asked_for_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.root");
    let mut file = HistogramFile::new();
    let (n, bins) = (2000, 100);
    for i in 0..n {
        let cells: Vec<f64> = (0..bins + 2).map(|bin| f64::from(i * bin)).collect();
        let edges = (0..=bins).map(f64::from).collect();
        let h = Histogram::one_dimensional("h", "", edges, cells, None).expect("a histogram");
        file.add(&format!("region{}/h{i}", i % 20), &h).expect("its name is free");
    }
    file.write(&path, Compression::None).expect("it is written");
    let size = std::fs::metadata(&path).expect("it is there").len();
    let file = RootFile::open(&path).expect("it opens");
    assert!(file.bytes_read() < 2000, "{} bytes", file.bytes_read());
    for i in [0, 777, 1999] {
        let h = file.histogram(&format!("region{}/h{i}", i % 20)).expect("it is read");
        assert_eq!(h.contents()[1], 2.0 * f64::from(i));
    }
    assert!(file.bytes_read() < size / 50, "{} of {size} bytes", file.bytes_read());
    // A second look at the same folder reads the histogram alone.
    let before = file.bytes_read();
    file.histogram("region0/h20").expect("it is read");
    assert!(file.bytes_read() - before < 2500, "{} bytes", file.bytes_read() - before);
}

#[test]
fn what_is_read_is_taken_from_an_allowance() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let allowance = Arc::new(AtomicU64::new(10_000));
    let open =
        || RootFile::open(fixture("lzma.root")).expect("it opens").with_allowance(Arc::clone(&allowance));
    let (one, two) = (open(), open());
    one.histogram("outer/inner/hD").expect("it is read");
    let left = allowance.load(Ordering::Relaxed);
    assert!(left < 10_000 - 42 * 8, "{left}");
    let refused = (0..50).find_map(|_| two.histogram("outer/inner/hC").err()).expect("it is refused");
    assert!(refused.to_string().contains("the size of what is still to be read"), "{refused}");
}

#[test]
fn messages_name_the_place_and_the_remedy() {
    let file = RootFile::from_bytes("f.root", std::fs::read(fixture("zlib.root")).expect("a fixture"))
        .expect("it opens");
    let said = |path: &str| file.histogram(path).expect_err("refused").to_string();
    assert_eq!(
        said("outer/inner/hG"),
        "f.root: has no 'outer/inner/hG'; the closest that exists is 'outer/inner/hC'. Correct the name."
    );
    assert!(said("outer/inner/twice;3").contains("the closest that exists is 'outer/inner/twice;2'"));
    assert!(said("outer/iner/hC").contains("the closest that exists is 'outer/inner'"));
    assert!(said("outer/inner").contains("'outer/inner' is a TDirectory"));
    let file = RootFile::open(fixture("buffered.root")).expect("it opens");
    let error = file.histogram("waiting").expect_err("refused");
    assert!(matches!(error, RootError::Buffered { entries: 1, .. }), "{error}");
    assert!(matches!(file.histogram("text"), Err(RootError::NotHistogram { .. })));
    assert_eq!(file.names().expect("names").len(), 1);
    assert!(matches!(RootFile::from_bytes("x", b"{}".to_vec()), Err(RootError::NotRoot { .. })));
    assert!(matches!(RootFile::open("does/not/exist.root"), Err(RootError::Read { .. })));
    assert!(RootFile::open(env!("CARGO_MANIFEST_DIR")).expect_err("a folder").to_string().contains("folder"));
}

#[test]
fn what_is_written_is_read() {
    let source = RootFile::open(fixture("none.root")).expect("it opens");
    let folder = tempfile::tempdir().expect("a folder");
    for compression in [Compression::None, Compression::Zlib] {
        let mut out = HistogramFile::new();
        let mut kept = Vec::new();
        for name in ["hC", "hF", "hD", "twice", "labelled"] {
            let h = source.histogram(&format!("outer/inner/{name}")).expect("it is read");
            out.add(&format!("a/b/{name}"), &h).expect("it is added");
            out.add(&format!("top_{name}"), &h).expect("it is added");
            kept.push(h);
        }
        let h = Histogram::one_dimensional(
            "n",
            "t",
            vec![0.0, 1.0, 10.0],
            vec![0.5, 1.0, 2.0, 0.0],
            Some(vec![1.0; 4]),
        );
        out.add("a/uneven", &h.clone().expect("it has bins")).expect("it is added");
        let path = folder.path().join("new.root");
        out.write(&path, compression).expect("it is written");
        let read = RootFile::open(&path).expect("it opens");
        assert_eq!(read.names().expect("names").len(), 11);
        for mut h in kept {
            h.class = if h.class == "TH1F" { "TH1F".to_owned() } else { "TH1D".to_owned() };
            assert_eq!(read.histogram(&format!("a/b/{}", h.name)).expect("it is read"), h);
            let top = read.histogram(&format!("top_{}", h.name)).expect("it is read");
            assert_eq!(top.contents(), h.contents());
        }
        let uneven = read.histogram("a/uneven").expect("it is read");
        assert_eq!((uneven.contents(), uneven.sumw2()), (vec![1.0, 2.0], Some(vec![1.0, 1.0])));
        assert_eq!(uneven.axes[0].edges, [0.0, 1.0, 10.0]);
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let source = RootFile::open(fixture("none.root")).expect("it opens");
    let one = source.histogram("outer/inner/hD").expect("it is read");
    let mut out = HistogramFile::new();
    assert!(out.is_empty());
    out.add("a/h", &one).expect("it is added");
    let mut said = |path: &str, h: &Histogram| out.add(path, h).expect_err("refused").to_string();
    assert!(said("a/h", &one).contains("its path is in use"));
    assert!(said("a", &one).contains("its path is in use"));
    assert!(said("a/h/x", &one).contains("'h' is a histogram"));
    assert!(said("a//x", &one).contains("is empty"));
    assert!(
        said("a/two", &source.histogram("outer/inner/hhD").expect("it is read")).contains("two dimensions")
    );
}

#[test]
fn files_of_the_field_are_read() {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return;
    };
    let mut waiting = vec![PathBuf::from(folder).join("formats")];
    let (mut files, mut histograms) = (0, 0);
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|ext| ext == "root") {
                files += 1;
                histograms += all(&RootFile::open(&path).expect("it opens")).len();
            }
        }
    }
    assert!(files >= 40 && histograms >= 2000, "{files} files, {histograms} histograms");
}
