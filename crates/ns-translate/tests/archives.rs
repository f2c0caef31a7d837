//! Models in archives: every format, limits, and attacks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Cursor, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use ns_root::{Compression, Histogram, HistogramFile};
use ns_translate::pyhf::{DigestCheck, ModelOptions};
use ns_translate::{Archive, ArchiveError, ArchiveLimits, ModelSource};
use tar::EntryType;
use zip::write::SimpleFileOptions;

const LIMITS: ArchiveLimits = ArchiveLimits { members: 50, unpacked: 1 << 20, read: 1 << 20 };

/// A member of a tar archive: its type, its name, and its bytes or the target of a link.
type Member<'a> = (EntryType, &'a str, &'a [u8]);

fn file<'a>(name: &'a str, bytes: &'a [u8]) -> Member<'a> {
    (EntryType::Regular, name, bytes)
}

/// Writes names as they are, also those that the crate refuses.
fn tar(members: &[Member<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for &(kind, name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        let is_link = matches!(kind, EntryType::Link | EntryType::Symlink);
        let contents = if is_link { &[][..] } else { bytes };
        if is_link {
            header.as_mut_bytes()[157..157 + bytes.len()].copy_from_slice(bytes);
        }
        header.set_size(contents.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(contents);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.extend_from_slice(&[0; 1024]);
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Level::best());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read_with(bytes: &[u8], name: Option<&str>, limits: ArchiveLimits) -> Result<ModelSource, String> {
    let read = || {
        let archive = Arc::new(Archive::unpack(bytes, limits)?);
        ModelSource::from_archive(&archive, name, &[], DigestCheck::Verify, None)
    };
    read().map_err(|error: ns_translate::pyhf::WorkspaceError| error.to_string())
}

fn read(bytes: &[u8], name: Option<&str>) -> Result<ModelSource, String> {
    read_with(bytes, name, LIMITS)
}

/// The error of reading an archive and of making its model.
fn refused(bytes: &[u8], name: Option<&str>) -> String {
    let made = read(bytes, name)
        .and_then(|source| source.model(&ModelOptions::default()).map_err(|error| error.to_string()));
    made.expect_err("it is refused")
}

fn parameters(source: &ModelSource) -> Vec<String> {
    let model = source.model(&ModelOptions::default()).expect("a model");
    model.parameters.iter().map(|parameter| parameter.name.clone()).collect()
}

const COMBINATION: &str = r#"<!DOCTYPE Combination SYSTEM "HistFactorySchema.dtd">
<Combination OutputFilePrefix="./results/x">
  <Input>./config/SR.xml</Input>
  <Measurement Name="first" Lumi="1" LumiRelErr="0.1"><POI>mu</POI></Measurement>
</Combination>
"#;
const CHANNEL: &str = r#"<!DOCTYPE Channel SYSTEM "HistFactorySchema.dtd">
<Channel Name="SR" InputFile="data/input.root" HistoPath="">
  <Data HistoName="data" />
  <Sample Name="signal" HistoName="signal"><NormFactor Name="mu" Val="1" Low="0" High="3" /></Sample>
  <Sample Name="background" HistoName="background"><OverallSys Name="scale" High="1.1" Low="0.9" /></Sample>
</Channel>
"#;
const CARD: &str = "imax 1\njmax 1\nkmax *\nshapes * * FILE $PROCESS\nbin b\nobservation -1\nbin b b\n\
                    process signal background\nprocess 0 1\nrate -1 -1\nscale lnN - 1.1\n";
const CONFIG: &str = "Job: \"j\"\n  ReadFrom: HIST\n  POI: \"mu\"\n  HistoFile: \"FILE\"\n  MCstatThreshold: NONE\n\n\
                      Fit: \"f\"\n  FitType: SPLUSB\n\nRegion: \"SR\"\n  Type: SIGNAL\n\n\
                      Sample: \"data\"\n  Type: DATA\n  HistoName: \"data\"\n\n\
                      Sample: \"signal\"\n  Type: SIGNAL\n  HistoName: \"signal\"\n  NormFactor: \"mu\",1,0,3\n\n\
                      Sample: \"background\"\n  Type: BACKGROUND\n  HistoName: \"background\"\n";

/// A ROOT file with the histograms of all models.
fn histograms() -> Vec<u8> {
    let mut file = HistogramFile::new();
    // Combine has a name of its own for the data.
    for (name, values) in [
        ("data", [25.0, 31.0]),
        ("data_obs", [25.0, 31.0]),
        ("signal", [2.0, 5.0]),
        ("background", [22.0, 27.0]),
    ] {
        let cells = vec![0.0, values[0], values[1], 0.0];
        let h = Histogram::one_dimensional(name, "", vec![0.0, 1.0, 2.0], cells, None).expect("a histogram");
        file.add(name, &h).expect("its name is free");
    }
    file.to_bytes("h", Compression::Zlib).expect("it is small")
}

#[test]
fn every_format_is_read_from_every_archive() {
    let root = histograms();
    let card = CARD.replace("FILE", "../data/input.root").replace("observation -1", "observation 56");
    let config = CONFIG.replace("FILE", "../data/input");
    let yaml = "General:\n  Measurement: m\n  POI: mu\n  InputPath: ../data/input.root:{SamplePath}\n  HistogramFolder: h\n\
                Regions:\n- Name: SR\nSamples:\n- Name: data\n  SamplePath: data\n  Data: true\n- Name: signal\n  SamplePath: signal\n\
                NormFactors:\n- Name: mu\n  Samples: signal\n";
    let json =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json"))
            .unwrap();
    for (name, text, expected) in [
        ("config/combination.xml", COMBINATION.as_bytes(), "mu"),
        ("cards/card.txt", card.as_bytes(), "r"),
        ("build/trex.config", config.as_bytes(), "mu"),
        ("build/cabinetry.yml", yaml.as_bytes(), "mu"),
        ("workspace.json", json.as_slice(), "mu"),
    ] {
        let members =
            [(name, text), ("config/SR.xml", CHANNEL.as_bytes()), ("data/input.root", root.as_slice())];
        let files: Vec<Member<'_>> = members.iter().map(|(name, bytes)| file(name, bytes)).collect();
        let packed = tar(&files);
        for bytes in [packed.clone(), gzip(&packed), zip(&members)] {
            for named in [None, Some(name)] {
                let source = read(&bytes, named).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(parameters(&source).contains(&expected.to_owned()), "{name}");
            }
        }
    }
    // A file alone, and a compressed file in an archive.
    let counting =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cards/counting.txt"))
            .unwrap();
    for bytes in [counting.clone(), gzip(&counting), zip(&[("card.txt.gz", &gzip(&counting))])] {
        assert_eq!(parameters(&read(&bytes, None).expect("it is read"))[0], "r");
    }
}

#[test]
fn compressed_files_that_the_model_does_not_need_are_not_unpacked() {
    let counting =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cards/counting.txt"))
            .unwrap();
    let (bomb, damaged) = (gzip(&vec![0; 1 << 21]), gzip(&[7; 600])[..30].to_vec());
    let files = [("card.txt", counting.as_slice()), ("bomb.gz", &bomb), ("notes/damaged.gz", &damaged)];
    for bytes in [tar(&files.map(|(name, bytes)| file(name, bytes))), zip(&files)] {
        assert_eq!(parameters(&read(&bytes, None).expect("it is read"))[0], "r");
    }
    let named = read(&zip(&files), Some("notes/damaged.gz")).expect_err("it is damaged");
    assert!(named.contains("damaged"), "{named}");
}

#[test]
fn a_path_in_a_file_never_leaves_the_archive() {
    let root = histograms();
    // What is outside of the archive exists, so that only the reader can refuse it.
    let outside = tempfile::tempdir().unwrap();
    let there = outside.path().join("input.root");
    std::fs::write(&there, &root).unwrap();
    std::fs::write(outside.path().join("SR.xml"), CHANNEL).unwrap();
    let up = "../".repeat(30);
    let absolute = there.display().to_string();
    let climbing = format!("{up}{}", absolute.trim_start_matches('/'));
    for path in
        [absolute.as_str(), &climbing, "data/../../input.root", "/etc/passwd", "../../../../etc/passwd"]
    {
        let card = CARD.replace("FILE", path);
        let message =
            refused(&tar(&[file("cards/card.txt", card.as_bytes()), file("data/input.root", &root)]), None);
        assert!(message.contains("there is no such file in the archive"), "{message}");
        let config = CONFIG.replace("FILE", path.trim_end_matches(".root"));
        let message =
            refused(&tar(&[file("c/trex.config", config.as_bytes()), file("data/input.root", &root)]), None);
        assert!(message.contains("there is no such file in the archive"), "{message}");
        let channel = CHANNEL.replace("data/input.root", path);
        let members = [file("a.xml", COMBINATION.as_bytes()), file("config/SR.xml", channel.as_bytes())];
        let message = refused(&tar(&members), None);
        assert!(message.contains("there is no file"), "{message}");
        let combination = COMBINATION.replace("./config/SR.xml", &path.replace("input.root", "SR.xml"));
        let message = refused(&tar(&[file("a.xml", combination.as_bytes())]), None);
        assert!(message.contains("there is no file"), "{message}");
    }
    // A pattern of cabinetry looks nowhere else either.
    let yaml = format!(
        "General:\n  Measurement: m\n  POI: mu\n  InputPath: {}/*.root\n  HistogramFolder: h\nRegions:\n- Name: SR\n  Variable: x\n  Binning: [0, 1]\n\
         Samples:\n- Name: data\n  Tree: t\n  Data: true\n- Name: signal\n  Tree: t\nNormFactors:\n- Name: mu\n  Samples: signal\n",
        outside.path().display()
    );
    let message = refused(yaml.as_bytes(), None);
    assert!(message.contains("no file is called"), "{message}");
    // Entities of XML read no files.
    let entity = COMBINATION
        .replace("SYSTEM \"HistFactorySchema.dtd\"", "[<!ENTITY x SYSTEM \"file:///etc/passwd\">]");
    let entity = entity.replace("./config/SR.xml", "&x;");
    let message = refused(entity.as_bytes(), None);
    assert!(!message.contains("root:"), "{message}");
}

#[test]
fn archives_that_attack_are_refused() {
    let zip_link = {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_symlink("card.txt", "/etc/passwd", SimpleFileOptions::default()).unwrap();
        writer.finish().unwrap().into_inner()
    };
    // The name of a file is in two places of a zip archive.
    let zip_up = |name: &[u8; 5]| {
        let mut bytes = zip(&[("aaaaa", b"x")]);
        let starts: Vec<usize> = (0..bytes.len() - 4).filter(|i| &bytes[*i..i + 5] == b"aaaaa").collect();
        assert_eq!(starts.len(), 2);
        for start in starts {
            bytes[start..start + 5].copy_from_slice(name);
        }
        bytes
    };
    // The method of packing is at 8 in the header before a file, and at 10 in that of the list of files.
    let zip_by = |method: u8| {
        let mut bytes = zip(&[("aaaaa", b"x")]);
        let places: Vec<usize> = (0..bytes.len() - 4)
            .filter_map(|i| match &bytes[i..i + 4] {
                b"PK\x03\x04" => Some(i + 8),
                b"PK\x01\x02" => Some(i + 10),
                _ => None,
            })
            .collect();
        assert_eq!(places.len(), 2);
        for place in places {
            bytes[place] = method;
        }
        bytes
    };
    let many: Vec<String> = (0..60).map(|i| format!("f{i}")).collect();
    let many: Vec<Member<'_>> = many.iter().map(|name| file(name, b"")).collect();
    let deep = "a/".repeat(40) + "b";
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("contains '..'", tar(&[file("../card.txt", b"x")])),
        ("contains '..'", tar(&[file("a/../../card.txt", b"x")])),
        ("contains '..'", gzip(&tar(&[(EntryType::Directory, "a/../..", b"")]))),
        ("root of the system", tar(&[file("/etc/card.txt", b"x")])),
        ("root of the system", tar(&[file("C:/card.txt", b"x")])),
        ("a link called 'card.txt'", tar(&[(EntryType::Symlink, "card.txt", b"/etc/passwd")])),
        ("a link called 'card.txt'", tar(&[(EntryType::Link, "card.txt", b"../x")])),
        ("a pipe", tar(&[(EntryType::Fifo, "pipe", b"")])),
        ("a device", tar(&[(EntryType::Char, "null", b"")])),
        ("a device", tar(&[(EntryType::Block, "disk", b"")])),
        ("more than 50 files", tar(&many)),
        ("too deep", tar(&[file(&deep, b"x")])),
        ("more than 1048576 bytes", gzip(&vec![0; 1 << 21])),
        ("more than 1048576 bytes", gzip(&tar(&[file("a", &vec![0; 1 << 21])]))),
        ("more than 1048576 bytes", zip(&[("a", &vec![0; 600_000]), ("b", &vec![0; 600_000])])),
        ("more than 1048576 bytes", zip(&[("a.gz", &gzip(&vec![b' '; 1 << 21]))])),
        ("contains '..'", zip_up(b"../ab")),
        ("contains '..'", zip_up(b"..\\ab")),
        ("root of the system", zip_up(b"/abcd")),
        ("root of the system", zip_up(b"\\abcd")),
        ("a link called 'card.txt'", zip_link),
        ("damaged", tar(&[file("a", &[1; 600])])[..900].to_vec()),
        ("damaged", gzip(&tar(&[file("a", &[1; 600])]))[..40].to_vec()),
        ("damaged", zip(&[("a", b"bytes of a file")])[..60].to_vec()),
        ("Pack it without a password, with deflate", zip_by(12)),
        ("no workspace, no HS3 model", tar(&[file("README", b"words")])),
        ("no workspace, no HS3 model", tar(&[])),
        ("no workspace, no HS3 model", Vec::new()),
    ];
    for (words, bytes) in cases {
        let message = refused(&bytes, None);
        assert!(message.contains(words), "{words}: {message}");
    }
    let two = tar(&[
        file("a.txt", CARD.as_bytes()),
        file("b.txt", CARD.as_bytes()),
        file("._a.txt", CARD.as_bytes()),
    ]);
    let several = refused(&two, None);
    assert!(several.contains("the key `file`") && several.contains("'a.txt', 'b.txt'."), "{several}");
    assert!(refused(&two, Some("c.txt")).contains("no file 'c.txt'. Did you mean 'a.txt'?"));
    assert!(refused(&two, Some("../a.txt")).contains("no file '../a.txt'"));
}

#[test]
fn what_is_read_of_an_archive_is_limited() {
    // 400 000 bins of zeros need a few kilobytes in the file.
    let mut file_of_zeros = HistogramFile::new();
    let n = 400_000_u32;
    let edges = (0..=n).map(f64::from).collect();
    let h =
        Histogram::one_dimensional("data", "", edges, vec![0.0; n as usize + 2], None).expect("a histogram");
    file_of_zeros.add("signal", &h).expect("its name is free");
    let root = file_of_zeros.to_bytes("h", Compression::Zlib).expect("it is written");
    let limits = ArchiveLimits { unpacked: 16 << 20, ..LIMITS };
    let bytes = tar(&[file("card.txt", CARD.replace("FILE", "h.root").as_bytes()), file("h.root", &root)]);
    let message = read_with(&bytes, None, limits)
        .and_then(|source| source.model(&ModelOptions::default()).map_err(|error| error.to_string()))
        .expect_err("it is too large");
    assert!(message.contains("still to be read"), "{message}");
    let long = format!("{}# {}\n", CARD.replace("FILE", "h.root"), "x".repeat(600_000));
    let message =
        read_with(&tar(&[file("card.txt", long.as_bytes())]), None, limits).expect_err("it is too long");
    assert!(message.contains("'card.txt' is too long"), "{message}");
    // Every sample of every region has two templates of every systematic.
    let mut config = CONFIG.replace("FILE", "h");
    for (block, n) in [("Region", 20), ("Systematic", 300)] {
        for i in 0..n {
            let further = if block == "Region" {
                "  Type: CONTROL\n  HistoName: \"h\"\n  Binning: 0,1\n"
            } else {
                "  Type: HISTO\n  HistoNameUp: \"u\"\n  HistoNameDown: \"d\"\n  Samples: all\n"
            };
            config.push_str(&format!("{block}: \"many_{i}\"\n{further}\n"));
        }
    }
    let message = read_with(&tar(&[file("j.config", config.as_bytes())]), None, LIMITS)
        .expect_err("it has too many templates");
    assert!(message.contains("more templates and bins than the limits"), "{message}");
    let limits = ArchiveLimits { unpacked: 5, ..LIMITS };
    assert_eq!(Archive::unpack(b"sixsix", limits), Err(ArchiveError::TooLarge { limit: 5 }));
    let archive = Archive::unpack(&tar(&[file("a/./b", b"x")]), LIMITS).expect("it is unpacked");
    assert_eq!((archive.bytes(), archive.bytes_of(Path::new("a/b"))), (1, Some(&b"x"[..])));
}
