//! Tests of axes of channels in commands that make workspaces of others, and in formats whose histograms have them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{fixture, run, shown};

/// The path of a fixture for this process, which runs in another folder than the program.
fn source(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(fixture(name))
}

/// A folder with a workspace and its axes.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::copy(source("simple_workspace.json"), folder.path("ws.json")).unwrap();
        fs::write(folder.path("ws.axes.json"), AXES).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Runs a command that writes `out.json`, and returns the axes beside it.
    fn axes_of(&self, arguments: &[&str]) -> Option<Value> {
        let output = run(&[arguments, &["-o", &self.at("out.json")]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", shown(&output));
        let text = fs::read_to_string(self.path("out.axes.json")).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }
}

const AXES: &str =
    "{\"SR\": {\"title\": \"m [GeV]\", \"edges\": [0, 1, 2, 3, 5]}, \"CR\": {\"title\": \"N\"}}";

fn bin_edges(result: &Path, channel: &str) -> (Value, Value) {
    let found: Value = serde_json::from_str(&fs::read_to_string(result).unwrap()).unwrap();
    let channels = found["channels"].as_array().unwrap();
    let one = channels.iter().find(|one| one["name"] == channel).unwrap();
    (one["bin_edges"].clone(), one["axis_title"].clone())
}

#[test]
fn edited_workspaces_keep_the_axes_of_their_channels() {
    let folder = Folder::new();
    let ws = folder.at("ws.json");
    let (sr, cr) = (json!({"title": "m [GeV]", "edges": [0.0, 1.0, 2.0, 3.0, 5.0]}), json!({"title": "N"}));
    let renamed = folder.axes_of(&["rename", "-i", &ws, "--channel", "SR=signal"]);
    assert_eq!(renamed, Some(json!({"signal": sr, "CR": cr})));
    assert_eq!(folder.axes_of(&["prune", "-i", &ws, "--channel", "CR"]), Some(json!({"SR": sr})));
    assert_eq!(folder.axes_of(&["sort", "-i", &ws]), Some(json!({"SR": sr, "CR": cr})));
    let decorrelated =
        folder.axes_of(&["decorrelate", "-i", &ws, "--modifier", "jet_scale", "--by", "channel"]);
    assert_eq!(decorrelated, Some(json!({"SR": sr, "CR": cr})));
    assert_eq!(folder.axes_of(&["convert", "-i", &ws, "--to", "pyhf"]), Some(json!({"SR": sr, "CR": cr})));

    // Two workspaces with axes of their own.
    let other = ["--channel", "SR=SR2", "--channel", "CR=CR2", "-o", &folder.at("other.json")];
    let output = run(&[&["rename", "-i", &ws], &other[..]].concat());
    assert!(output.status.success(), "{}", shown(&output));
    let both = folder.axes_of(&["combine", &ws, &folder.at("other.json"), "--join", "outer"]);
    assert_eq!(both, Some(json!({"SR": sr, "CR": cr, "SR2": sr, "CR2": cr})));

    // A workspace without axes leaves none of an earlier one beside it.
    let plain = fixture("simple_workspace.json");
    assert_eq!(folder.axes_of(&["sort", "-i", &plain]), None);
}

#[test]
fn a_file_of_axes_that_cannot_be_read_is_not_overwritten() {
    let folder = Folder::new();
    fs::write(folder.path("ws.axes.json"), "[SR]\ntitle = 3\n").unwrap();
    let ws = folder.at("ws.json");
    let output = run(&["sort", "-i", &ws, "-o", &ws]);
    assert!(
        output.status.success() && shown(&output).contains("ws.axes.json is not read"),
        "{}",
        shown(&output)
    );
    assert_eq!(fs::read_to_string(folder.path("ws.axes.json")).unwrap(), "[SR]\ntitle = 3\n");
}

#[test]
fn a_member_of_an_archive_has_its_axes_beside_it() {
    let folder = Folder::new();
    let archive = folder.at("all.tar.gz");
    let file = fs::File::create(&archive).unwrap();
    let mut members = tar::Builder::new(flate2::write::GzEncoder::new(file, flate2::Compression::fast()));
    members.append_path_with_name(folder.path("ws.json"), "a/ws.json").unwrap();
    members.append_path_with_name(folder.path("ws.axes.json"), "a/ws.axes.json").unwrap();
    members.append_path_with_name(folder.path("ws.json"), "plain.json").unwrap();
    members.into_inner().unwrap().finish().unwrap();
    let result = folder.at("yields.json");
    for (member, edges) in [("a/ws.json", json!([0.0, 1.0, 2.0, 3.0, 5.0])), ("plain.json", Value::Null)] {
        let input = format!("{archive}:{member}");
        let output = run(&["yields", "-i", &input, "--prefit", "-o", &result]);
        assert!(output.status.success() && !shown(&output).contains("axes"), "{}", shown(&output));
        assert_eq!(bin_edges(Path::new(&result), "SR").0, edges, "{member}");
    }
}

/// Edges of the histograms of the signal region, which begin and end with those of the fixture.
fn check_histograms(folder: &Folder, input: &str, channel: &str) {
    let result = folder.at("yields.json");
    let output = run(&["yields", "-i", input, "--prefit", "-o", &result]);
    assert!(output.status.success(), "{}", shown(&output));
    let (edges, title) = bin_edges(Path::new(&result), channel);
    assert_eq!(title, "pt");
    let edges = edges.as_array().unwrap();
    assert!(edges.len() > 2 && edges[0] != edges[1], "{edges:?}");
    // The workspace that is made of it keeps them.
    let axes = folder.axes_of(&["convert", "-i", input, "--to", "pyhf"]).unwrap();
    assert_eq!(axes[channel]["edges"].as_array(), Some(edges));
}

#[test]
fn histograms_of_datacards_have_axes() {
    let folder = Folder::new();
    let card = folder.path("card.txt");
    fs::copy(source("build/histograms.root"), folder.path("histograms.root")).unwrap();
    fs::write(
        &card,
        "imax 1\njmax 1\nkmax *\nshapes * SR histograms.root $CHANNEL/$PROCESS/nominal\n\
         shapes data_obs SR histograms.root $CHANNEL/data/nominal\nbin SR\nobservation -1\nbin SR SR\n\
         process signal background\nprocess 0 1\nrate -1 -1\nlumi lnN 1.02 1.02\n",
    )
    .unwrap();
    check_histograms(&folder, card.to_str().unwrap(), "SR");
}

#[test]
fn histograms_of_xml_have_axes() {
    let folder = Folder::new();
    fs::copy(source("build/histograms.root"), folder.path("histograms.root")).unwrap();
    fs::write(
        folder.path("channel.xml"),
        "<!DOCTYPE Channel SYSTEM 'HistFactorySchema.dtd'>\n<Channel Name=\"SR\" InputFile=\"histograms.root\">\n\
         <Data HistoPath=\"SR/data\" HistoName=\"nominal\"/>\n\
         <Sample Name=\"signal\" HistoPath=\"SR/signal\" HistoName=\"nominal\" NormalizeByTheory=\"False\">\n\
         <NormFactor Name=\"mu\" Val=\"1\" Low=\"0\" High=\"10\"/></Sample>\n\
         <Sample Name=\"background\" HistoPath=\"SR/background\" HistoName=\"nominal\" NormalizeByTheory=\"False\"/>\n\
         </Channel>\n",
    )
    .unwrap();
    let combination = folder.path("combination.xml");
    fs::write(
        &combination,
        "<!DOCTYPE Combination SYSTEM 'HistFactorySchema.dtd'>\n<Combination OutputFilePrefix=\"out\">\n\
         <Input>channel.xml</Input>\n<Measurement Name=\"m\" Lumi=\"1\" LumiRelErr=\"0.02\">\n<POI>mu</POI>\n\
         </Measurement>\n</Combination>\n",
    )
    .unwrap();
    check_histograms(&folder, combination.to_str().unwrap(), "SR");
}
