//! Tests that every broken datacard gets exactly the messages in the snapshot.

use std::path::Path;

use ns_root::{Compression, Histogram, HistogramFile};
use ns_translate::datacard::{Card, CardOptions, McStats};

/// A counting card without a mistake.
const COUNTS: &str = "\
imax 2
jmax 1
kmax *
------
bin          b1  b2
observation  12  7
------
bin          b1      b1          b2      b2
process      signal  background  signal  background
process      0       1           0       1
rate         3.0     8.0         1.0     6.0
------
lumi   lnN   1.02    1.02        1.02    1.02
xs     lnN   1.1     -           1.1     -
side   gmN 8 -       1.0         -       -
";

/// A card with templates without a mistake.
const SHAPES: &str = "\
imax *
jmax *
kmax *
shapes * * shapes.root $CHANNEL/$PROCESS $CHANNEL/$PROCESS_$SYSTEMATIC
bin          b1
observation  -1
bin          b1      b1
process      signal  background
process      0       1
rate         -1      -1
scale shape  1       1
";

/// Writes the templates.
fn write(folder: &Path) {
    let mut file = HistogramFile::new();
    let mut add = |name: &str, bins: &[f64]| {
        let edges = (0..=bins.len()).map(|i| i as f64).collect();
        let cells: Vec<f64> = [0.0].iter().chain(bins).chain(&[0.0]).copied().collect();
        let histogram = Histogram::one_dimensional(name, "", edges, cells, None).unwrap();
        file.add(&format!("b1/{name}"), &histogram).unwrap();
    };
    add("data_obs", &[5.0, 9.0]);
    add("signal", &[1.0, 3.0]);
    add("background", &[4.0, 6.0]);
    add("signal_scaleUp", &[1.0, 3.5]);
    add("signal_scaleDown", &[1.0, 2.5]);
    add("background_scaleUp", &[5.0, 6.0]);
    add("background_scaleDown", &[3.0, 6.0]);
    add("signal_shortUp", &[1.0]);
    add("signal_shortDown", &[1.0]);
    add("signal_emptyUp", &[0.0, 0.0]);
    add("signal_emptyDown", &[1.0, 2.0]);
    add("signal_negativeUp", &[-0.5, 4.0]);
    add("signal_negativeDown", &[1.0, 2.0]);
    add("narrow", &[1.0]);
    add("nothing", &[0.0, 0.0]);
    file.write(folder.join("shapes.root"), Compression::None).unwrap();
    std::fs::write(folder.join("notes.bin"), [0xff_u8, 0xfe, 0]).unwrap();
    std::fs::write(folder.join("table.csv"), "channel,process\n").unwrap();
    let rows = "channel,process,systematic,bin,sum_w,sum_ww\nb1,data_obs,nominal,0,x,1\n";
    std::fs::write(folder.join("numbers.csv"), rows).unwrap();
}

/// Returns the message of a card and its options.
fn message(folder: &Path, text: &str, options: &CardOptions) -> String {
    let path = folder.join("card.txt");
    std::fs::write(&path, text).unwrap();
    let model = Card::read(&path, options).and_then(|card| card.model());
    let message = match model {
        Ok(model) if model.warnings.is_empty() => "(accepted)".to_owned(),
        Ok(model) => format!("(accepted) {}", model.warnings.join("\n")),
        Err(error) => error.to_string(),
    };
    message.replace(&folder.display().to_string(), "FOLDER")
}

#[test]
fn each_broken_card_gets_its_message() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let count = |name: &str, from: &str, to: &str| {
        assert!(from.is_empty() || COUNTS.contains(from), "{name}");
        let text = if from.is_empty() { format!("{COUNTS}{to}\n") } else { COUNTS.replacen(from, to, 1) };
        (name.to_owned(), text)
    };
    let shape = |name: &str, from: &str, to: &str| {
        assert!(from.is_empty() || SHAPES.contains(from), "{name}");
        let text = if from.is_empty() { format!("{SHAPES}{to}\n") } else { SHAPES.replacen(from, to, 1) };
        (name.to_owned(), text)
    };
    let cards = [
        ("empty".to_owned(), String::new()),
        ("not a card".to_owned(), "{\"channels\": []}".to_owned()),
        count("imax wrong", "imax 2", "imax 3"),
        count("imax no number", "imax 2", "imax two"),
        count("jmax wrong", "jmax 1", "jmax 2"),
        count("kmax wrong", "kmax *", "kmax 4"),
        count("observation short", "12  7", "12"),
        count("observation negative", "12  7", "12 -7"),
        count("observation missing", "observation  12  7", "Observed 12 7"),
        count("observation spelt wrongly", "observation", "OBSERVATION"),
        count("channel unknown", "b1      b1          b2", "b1      b1          b22"),
        count("channel twice", "b1  b2\nobs", "b1  b1\nobs"),
        count("channel without processes", "b1  b2\nobservation  12  7", "b1 b2 b3\nobservation 12 7 1"),
        count("process line short", "process      0       1           0       1", "process      0  1  0"),
        count("process line missing", "process      0       1           0       1\n", ""),
        count("process number", "process      0       1           0       1", "process 0 1 0 one"),
        count("process of both kinds", "process      0       1           0       1", "process 0 1 1 2"),
        count("process twice", "signal  background\nprocess      0", "signal signal\nprocess      0"),
        count("rate missing", "rate ", "rat "),
        count("rate negative", "3.0     8.0", "3.0 -8.0"),
        count("rate of a template", "3.0     8.0", "-1 8.0"),
        count("lnN short", "1.1     -           1.1     -", "1.1 -"),
        count("lnN long", "1.1     -           1.1     -", "1.1 - 1.1 - 1.2"),
        count("lnN text", "1.1     -           1.1     -", "1.1 x 1.1 1.1/0 # comment"),
        count("lnN negative", "1.1     -           1.1     -", "-1.1 - 1.1 -"),
        count("gmN count", "gmN 8", "gmN 8.5"),
        count("gmN does not match", "gmN 8", "gmN 80"),
        count("gmN twice", "", "other gmN 8 - 1.0 - -"),
        count("type unknown", "xs     lnN", "xs lnNN"),
        count("one word", "", "lonely"),
        count("two constraints", "", "lumi gmN 3 1.0 - - -"),
        count("param incomplete", "", "p param 1.0"),
        count("param two widths", "", "p param 1.0 -0.1/+0.2"),
        count("param unused", "", "p param 1.0 0.1"),
        count("flatParam unused", "", "p flatParam"),
        count("rateParam incomplete", "", "n rateParam b1 signal"),
        count("rateParam unknown process", "", "n rateParam b1 backgrund 1"),
        count("rateParam unknown channel", "", "n rateParam b3 background 1"),
        count("rateParam formula", "", "n rateParam b1 background (@0*2) other"),
        count("rateParam workspace", "", "n rateParam b1 background file.root:w"),
        count("rateParam range", "", "n rateParam b1 background 1 [5,0]"),
        count("rateParam two values", "", "n rateParam b1 background 1\nn rateParam b2 background 2"),
        count("group unknown member", "", "g group = lumi XS"),
        count("group twice", "", "g group = lumi\ng group = xs"),
        count("group not defined", "", "g group += lumi"),
        count("group without sign", "", "g group lumi"),
        count("autoMCStats channel", "", "b3 autoMCStats 10"),
        count("autoMCStats mode", "", "b1 autoMCStats 10 0 3"),
        count("edit unknown", "", "nuisance edit remove * * lumi"),
        count("edit add existing", "", "nuisance edit add signal b1 lumi lnN 1.1"),
        count("edit add type", "", "nuisance edit add signal b1 lumi shape 0.5"),
        count("edit drop nothing", "", "nuisance edit drop signal b1 lumy"),
        count("edit rename nothing", "", "nuisance edit rename lumy luminosity"),
        count("edit rename gmN", "", "nuisance edit rename side band"),
        count("edit changepdf", "", "nuisance edit changepdf lumi shape"),
        count("edit freeze nothing", "", "nuisance edit freeze lumy"),
        count("edit pattern", "", "nuisance edit drop sig( b1 lumi"),
        count("edit quadrature", "", "nuisance edit add signal b1 lumi lnN 0.9 addq"),
        count("constr", "", "c constr a+b 0.1"),
        count("discrete", "", "pdf_index discrete"),
        count("extArg", "", "x extArg file.root:w"),
        count("trG and dFD", "", "t trG 0.1 - - -\nd dFD 10 0.1 - - -"),
        shape("no file", "shapes.root", "shape.root"),
        shape("file of another kind", "shapes.root", "notes.bin"),
        shape("table without columns", "shapes.root", "table.csv"),
        shape("table without numbers", "shapes.root", "numbers.csv"),
        shape("no histogram", "signal  background", "signals background"),
        shape("workspace", "$CHANNEL/$PROCESS $CHANNEL", "w:$PROCESS $CHANNEL"),
        shape("no name of systematic", " $CHANNEL/$PROCESS_$SYSTEMATIC", ""),
        shape("no shapes of a channel", "shapes * *", "shapes * b2"),
        shape("shapes twice", "bin ", "shapes * * shapes.root a b\nbin "),
        shape("shapes incomplete", "bin ", "shapes signal b1 shapes.root\nshapes data_obs\nbin "),
        shape("no mass", "$CHANNEL/$PROCESS $", "$CHANNEL/$PROCESS$MASS $"),
        shape("rate differs", "-1      -1", "4.5 -1"),
        shape("observation differs", "observation  -1", "observation 15"),
        shape("no template of one process", "bin ", "shapes signal b1 FAKE\nbin "),
        shape("bins differ", "signal  background", "narrow  background"),
        shape("empty template", "rate         -1      -1", "rate         4       -1"),
        shape("systematic missing", "scale shape", "scales shape"),
        shape("systematic of fewer bins", "", "short shape 1 -"),
        shape("systematic empty", "", "empty shape 1 -"),
        shape("systematic negative", "", "negative shape 1 -"),
        shape("systematic twice", "", "scale shape 1 -"),
        shape("systematic with two factors", "", "scale shape 0.9/1.1 -"),
        shape("scales differ", "scale shape  1       1", "scale shape 1 1\nnegative shape 0.5 -"),
        shape("shapeN beside shape", "", "negative shapeN 1 -"),
        shape("shape2", "scale shape", "scale shape2"),
        shape("autoMCStats name in use", "", "prop_binb1_bin0_signal lnN 1.1 -\n* autoMCStats 10"),
    ];
    assert!(cards.len() >= 80, "only {} broken cards", cards.len());
    let mut messages = String::new();
    for (name, text) in &cards {
        let text = if name == "empty template" { text.replace("signal ", "nothing ") } else { text.clone() };
        let message = message(folder.path(), &text, &CardOptions::default());
        assert!(message != "(accepted)", "{name} is accepted without a word");
        assert!(!message.contains("  "), "{name}: two spaces in {message:?}");
        messages.push_str(&format!("== {name}\n{message}\n\n"));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn each_wrong_option_gets_its_message() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let mut messages = String::new();
    let mut say = |message: String| messages.push_str(&format!("{message}\n\n"));
    for map in [
        "b1",
        "b1/signal",
        ":r",
        "b1:r",
        "b1/s:r[1,2]",
        "b1/s:r[3,0,2]",
        "b1/s:r[1,0,2",
        "b1/s:r=2*x",
        "b1/s:[1,0,2]",
    ] {
        say(map.parse::<ns_translate::datacard::PoiMap>().expect_err(map).to_string());
    }
    say("maybe".parse::<McStats>().expect_err("maybe").to_string());
    let options = |map: &str| CardOptions { maps: vec![map.parse().unwrap()], ..CardOptions::default() };
    say(message(folder.path(), COUNTS, &options("b(/x:r")));
    say(message(folder.path(), COUNTS, &options("b3/.*:r")));
    let mask = |names: &[&str]| CardOptions {
        masks: names.iter().map(|&name| name.to_owned()).collect(),
        ..CardOptions::default()
    };
    say(message(folder.path(), COUNTS, &mask(&["b11"])));
    say(message(folder.path(), COUNTS, &mask(&["b1", "b2"])));
    let poi = CardOptions { pois: vec!["mu".to_owned()], ..CardOptions::default() };
    say(message(folder.path(), COUNTS, &poi));
    for mc_stats in [McStats::Ignore, McStats::StatError] {
        let options = CardOptions { mc_stats, ..CardOptions::default() };
        say(message(folder.path(), &format!("{SHAPES}* autoMCStats 10\n"), &options));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn fixtures_are_what_their_script_writes() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/make_card_fixtures.py");
    let status = std::process::Command::new("python3").arg(script).arg("--check").status();
    assert!(
        status.expect("python3 is needed").success(),
        "run scripts/make_card_fixtures.py and commit what it writes"
    );
}

#[test]
fn the_cards_without_mistakes_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    for text in [COUNTS, SHAPES] {
        assert_eq!(message(folder.path(), text, &CardOptions::default()), "(accepted)");
    }
}
