use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const SMALL: Limits = Limits { text: 2_000, stream: 10_000 };

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Reads `bytes` as the content of a file. If `member` is given, reads this member of the archive.
fn read_as(bytes: &[u8], member: Option<&str>) -> Result<Vec<u8>, WorkspaceError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, bytes).unwrap();
    let mut path = file.into_os_string();
    if let Some(member) = member {
        path.push(":");
        path.push(member);
    }
    text(bytes, &FileMember::of(Path::new(&path)), SMALL)
}

fn refused(bytes: &[u8], member: Option<&str>) -> String {
    read_as(bytes, member).unwrap_err().to_string()
}

#[test]
fn plain_text_stays_as_it_is() {
    for bytes in [&b""[..], b"{", b"{}\n", &[b' '; 600], b"\x1f", b"\x00\xff"] {
        assert_eq!(read_as(bytes, None).unwrap(), bytes);
    }
    // A text may be as long as the limit.
    assert_eq!(read_as(&[b'1'; 2_000], None).unwrap().len(), 2_000);
    let longer = read_as(&[b'1'; 2_001], None).unwrap_err();
    assert!(matches!(longer, WorkspaceError::TooLong { limit: 2_000, .. }), "{longer}");
}

#[test]
fn gzip_is_unpacked_whatever_the_name() {
    assert_eq!(read_as(&gzip(b"{}"), None).unwrap(), b"{}");
    assert_eq!(read_as(&gzip(b""), None).unwrap(), b"");
    // Programs that compress in parallel write several gzip streams one after the other.
    let several = [gzip(b"{\"a\":"), gzip(b" 1}")].concat();
    assert_eq!(read_as(&several, None).unwrap(), b"{\"a\": 1}");
}

#[test]
fn members_of_archives_go_by_their_names() {
    let members: [(&str, &[u8]); 4] = [
        ("README", b"text"),
        ("RegionA/BkgOnly.json", b"{}"),
        ("./b.json", b"{\"b\": 1}"),
        ("c.json.gz", &gzip(b"[]")),
    ];
    let archive = tar(&members);
    for archive in [gzip(&archive), archive] {
        assert_eq!(read_as(&archive, Some("RegionA/BkgOnly.json")).unwrap(), b"{}");
        assert_eq!(read_as(&archive, Some("./RegionA/BkgOnly.json")).unwrap(), b"{}");
        assert_eq!(read_as(&archive, Some("b.json")).unwrap(), b"{\"b\": 1}");
        assert_eq!(read_as(&archive, Some("c.json.gz")).unwrap(), b"[]");
        assert_eq!(read_as(&archive, Some("README")).unwrap(), b"text");
    }
    let twice = tar(&[("a.json", b"old"), ("a.json", b"new")]);
    assert_eq!(read_as(&twice, Some("a.json")).unwrap(), b"new");
}

#[test]
fn an_archive_tells_its_members() {
    let archive =
        gzip(&tar(&[("README", b""), ("RegionA/BkgOnly.json", b"{}"), ("._b.json", b""), ("b.json", b"")]));
    let said = refused(&archive, None);
    assert!(said.contains("file is an archive. Name a file in it, such as "), "{said}");
    assert!(
        said.ends_with("file:RegionA/BkgOnly.json. Its files are: 'RegionA/BkgOnly.json', 'b.json'."),
        "{said}"
    );
    let said = refused(&archive, Some("BkgOnly.json"));
    assert!(
        said.contains("has no file 'BkgOnly.json'. Did you mean 'RegionA/BkgOnly.json'? Its files are"),
        "{said}"
    );
    let piped = read_from(&archive[..], "standard input").unwrap_err().to_string();
    assert!(piped.starts_with("standard input is an archive. Save it as a file ARCHIVE"), "{piped}");
    let said = refused(&gzip(&tar(&[("README", b"")])), None);
    assert!(said.contains("such as") && said.ends_with("'README'."), "{said}");
    for plain in [b"{}".to_vec(), gzip(b"{}")] {
        let said = refused(&plain, Some("a.json"));
        assert!(
            said.ends_with("file is no archive, so it has no member 'a.json'. Give the file alone."),
            "{said}"
        );
    }
}

#[test]
fn an_archive_in_an_archive_is_not_looked_into() {
    let inner = gzip(&tar(&[("a.json", b"{}")]));
    let said = refused(&tar(&[("inner.tar.gz", &inner)]), Some("inner.tar.gz"));
    assert!(said.contains("inner.tar.gz is an archive. Save it"), "{said}");
}

#[test]
fn damaged_files_are_told_from_other_text() {
    let whole = gzip(&[b'7'; 1_500]);
    for cut in [2, 9, whole.len() / 2, whole.len() - 1] {
        let said = refused(&whole[..cut], None);
        assert!(said.starts_with("cannot unpack ") && said.contains("ends too early. Copy"), "{cut}: {said}");
    }
    let mut wrong = gzip(b"{\"a\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}");
    let sum = wrong.len() - 8;
    wrong[sum] ^= 1;
    assert!(refused(&wrong, None).contains("it is damaged ("), "{}", refused(&wrong, None));
    let archive = tar(&[("a.json", &[b'1'; 1_500])]);
    let said = refused(&archive[..1_000], Some("a.json"));
    assert!(said.contains("ends too early") || said.contains("damaged"), "{said}");
    let said = refused(&gzip(&archive)[..40], Some("a.json"));
    assert!(said.contains("ends too early"), "{said}");
    let mut wrong = archive;
    wrong[150] ^= 1; // its checksum
    assert!(refused(&wrong, Some("a.json")).contains("damaged"), "{}", refused(&wrong, Some("a.json")));
}

#[test]
fn what_unpacks_to_too_much_stops_at_the_limit() {
    assert_eq!(read_as(&gzip(&[b' '; 2_000]), None).unwrap().len(), 2_000);
    for n in [2_001, 10_001, 1_000_000] {
        let said = refused(&gzip(&vec![b' '; n]), None);
        assert!(
            said.contains("unpacks to more than 2000 bytes, which is the most that is read."),
            "{n}: {said}"
        );
    }
    let large = vec![b' '; 2_001];
    for archive in [tar(&[("a.json", &large)]), gzip(&tar(&[("a.json", &large)]))] {
        assert!(refused(&archive, Some("a.json")).contains("more than 2000 bytes"));
    }
    // A member that is compressed within the archive is limited too.
    let again = tar(&[("a.json.gz", &gzip(&large))]);
    assert!(refused(&again, Some("a.json.gz")).contains("more than 2000 bytes"));
    // The members before the one that is read count towards the limit too.
    let long = gzip(&tar(&[("x", &[0; 12_000]), ("a.json", b"{}")]));
    for member in [None, Some("a.json")] {
        assert!(refused(&long, member).contains("more than 10000 bytes"), "{}", refused(&long, member));
    }
}

#[test]
fn a_path_is_split_where_there_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("a:b.tar.gz");
    std::fs::write(&archive, gzip(&tar(&[("c:d.json", b"{}")]))).unwrap();
    let named = |member: &str| std::path::PathBuf::from(format!("{}:{member}", archive.display()));
    assert_eq!(read_file(&named("c:d.json")).unwrap(), b"{}");
    assert_eq!(file_of(&named("c:d.json")), archive);
    assert_eq!(file_of(&archive), archive);
    // If there is no such file, an archive is recognised by its extension. Other names are not split.
    let missing = folder.path().join("none.tgz:a.json");
    assert_eq!(file_of(&missing), folder.path().join("none.tgz"));
    let other = folder.path().join("none:a.json");
    assert_eq!(file_of(&other), other);
    assert!(matches!(read_file(&other), Err(WorkspaceError::Io { path, .. }) if path == other));
}

#[test]
fn endless_input_stops_at_a_limit() {
    let endless = |limit| text(std::io::repeat(b'y').take(limit), &FileMember::stream("pipe"), SMALL);
    let error = endless(1 << 20).unwrap_err();
    assert!(matches!(error, WorkspaceError::TooLong { limit: 2_000, .. }), "{error}");
    assert!(error.to_string().starts_with("pipe is longer than 2000 bytes"), "{error}");
    assert_eq!(endless(2_000).unwrap().len(), 2_000);
}
