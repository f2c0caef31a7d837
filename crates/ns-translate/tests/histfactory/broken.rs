//! Messages about broken XML: each names file, line, element and remedy.

use super::folder::Folder;
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::DigestCheck;
use ns_translate::{ModelSource, SourceText};

/// File, text, and what replaces it.
const CASES: [(&str, &str, &str, &str); 45] = [
    ("not closed", "SR.xml", "</Sample>", ""),
    ("attribute twice", "SR.xml", "Name=\"mu\"", "Name=\"mu\" Name=\"mu\""),
    ("no xml after the start", "combination.xml", "OutputFilePrefix=\"./results/x\"", "Output"),
    ("unknown root", "combination.xml", "Combination", "Combined"),
    ("a channel as channel list", "SR.xml", "Channel", "Kanal"),
    ("unknown element", "SR.xml", "OverallSys", "OveralSys"),
    ("unknown element of measurement", "combination.xml", "ParamSetting", "ParameterSetting"),
    ("unknown attribute", "SR.xml", "Low=\"0.95\"", "Lo=\"0.95\""),
    ("text in a sample", "SR.xml", "<OverallSys", "systematics: <OverallSys"),
    ("missing name", "SR.xml", "<Sample Name=\"signal\"", "<Sample"),
    ("empty name", "SR.xml", "Name=\"jes\"", "Name=\"\""),
    ("no number", "SR.xml", "High=\"1.05\"", "High=\"5 %\""),
    ("infinite number", "SR.xml", "High=\"1.05\"", "High=\"inf\""),
    ("start outside", "SR.xml", "Val=\"1\" Low=\"0\" High=\"3\"", "Val=\"4\" Low=\"0\" High=\"3\""),
    ("bounds swapped", "SR.xml", "Low=\"0\" High=\"3\"", "Low=\"3\" High=\"0\""),
    ("neither true nor false", "SR.xml", "NormalizeByTheory=\"True\"", "NormalizeByTheory=\"yes\""),
    (
        "unknown constraint",
        "SR.xml",
        "ConstraintType=\"Poisson\" />\n    <Sample",
        "ConstraintType=\"Gamma\" />\n    <Sample",
    ),
    ("missing channel file", "combination.xml", "SR.xml", "CR.xml"),
    ("missing root file", "SR.xml", "./data/input.root", "./data/inputs.root"),
    ("no root file", "SR.xml", "./data/input.root", "./config/combination.xml"),
    ("missing histogram", "SR.xml", "HistoName=\"signal\"", "HistoName=\"signals\""),
    ("no histogram name", "SR.xml", " HistoName=\"signal\"", ""),
    ("no input file", "SR.xml", " InputFile=\"./data/input.root\"", ""),
    ("other bins", "SR.xml", "HistoNameHigh=\"one_up\"", "HistoNameHigh=\"short\""),
    ("infinite content", "SR.xml", "HistoNameHigh=\"one_up\"", "HistoNameHigh=\"infinite\""),
    ("negative uncertainty", "SR.xml", "HistoName=\"tenth\" />", "HistoName=\"negative\" />"),
    ("two samples of a name", "SR.xml", "Name=\"two\"", "Name=\"one\""),
    (
        "two systematics of a name",
        "SR.xml",
        "<OverallSys",
        "<OverallSys Name=\"jes\" High=\"2\" Low=\"1\" /><OverallSys",
    ),
    (
        "two simulations",
        "SR.xml",
        "<StatError Activate=\"True\" />",
        "<StatError Activate=\"True\" /><StatError Activate=\"True\" />",
    ),
    ("factors that differ", "SR.xml", "<NormFactor Name=\"norm\"", "<NormFactor Name=\"mu\""),
    (
        "shapes that differ",
        "SR.xml",
        "Name=\"counted\" HistoName=\"tenth\"",
        "Name=\"shape\" HistoName=\"tenth\"",
    ),
    (
        "channel twice",
        "combination.xml",
        "<Measurement Name=\"first\"",
        "<Input>./config/SR.xml</Input>\n  <Measurement Name=\"first\"",
    ),
    ("no channel", "combination.xml", "<Input>./config/SR.xml</Input>", ""),
    (
        "function",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"a*b\" Dependents=\"a,b\"/>\n<Input>",
    ),
    (
        "function of something unknown",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"a*b\" Dependents=\"a[1,0,2]\"/>\n<Input>",
    ),
    (
        "function of a systematic",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"1+alpha_jes\" Dependents=\"alpha_jes[0,-5,5]\"/>\n<Input>",
    ),
    (
        "function with a wrong range",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"a\" Dependents=\"a[3,0,2]\"/>\n<Input>",
    ),
    (
        "function with a wrong number",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"@1\" Dependents=\"a[1,0,2]\"/>\n<Input>",
    ),
    (
        "function with a wrong expression",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"a*\" Dependents=\"a[1,0,2]\"/>\n<Input>",
    ),
    (
        "function twice",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"a\" Dependents=\"a[1,0,2]\"/>\n<Function Name=\"mu\" Expression=\"a\" Dependents=\"a\"/>\n<Input>",
    ),
    (
        "function with other bounds than the factor",
        "combination.xml",
        "<Input>",
        "<Function Name=\"mu\" Expression=\"norm\" Dependents=\"norm[1,0,2]\"/>\n<Input>",
    ),
    ("negative luminosity", "combination.xml", "Lumi=\"2\"", "Lumi=\"-2\""),
    ("a parameter of interest twice", "combination.xml", "<POI>mu</POI>", "<POI>mu mu</POI>"),
    ("setting of nothing", "combination.xml", "<ParamSetting Val=\"1.5\">", "<ParamSetting>"),
    ("setting without a name", "combination.xml", ">norm<", "><"),
];

#[test]
fn messages() {
    let mut all = String::new();
    for (title, file, from, to) in CASES {
        let folder = Folder::new().first_only().with(file, |text| text.replace(from, to));
        let read =
            ModelSource::read_path(&folder.combination(), &[], DigestCheck::Verify, &EventSources::default());
        let error = read.map(drop).expect_err(title).to_string();
        all.push_str(&format!("{title}\n  {}\n", folder.neutral(&error).trim_end()));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn messages_about_constraint_terms() {
    let mut all = String::new();
    let term = |to: &str| {
        let term = format!("</POI>\n    {to}");
        Folder::new().first_only().with("combination.xml", move |text| text.replace("</POI>", &term))
    };
    for (title, text) in [
        ("unknown type", "<ConstraintTerm Type=\"Gauss\" RelativeUncertainty=\"1\">jes</ConstraintTerm>"),
        ("no width", "<ConstraintTerm Type=\"Gamma\">jes</ConstraintTerm>"),
        ("no names", "<ConstraintTerm Type=\"Uniform\"></ConstraintTerm>"),
        ("elements within", "<ConstraintTerm Type=\"Uniform\"><a/></ConstraintTerm>"),
    ] {
        let folder = term(text);
        let error = SourceText::read(&folder.combination()).expect_err(title).to_string();
        all.push_str(&format!("{title}\n  {}\n", folder.neutral(&error)));
    }
    let both = term("<ConstraintTerm Type=\"Gamma\" RelativeUncertainty=\"1\">jes</ConstraintTerm>")
        .with("SR.xml", |text| text.replace("Name=\"scale\"", "Name=\"jes\""));
    let error = SourceText::read(&both.combination()).expect_err("both").to_string();
    all.push_str(&format!("both kinds\n  {}\n", both.neutral(&error)));
    insta::assert_snapshot!(all);
}

#[test]
fn warnings() {
    let folder = Folder::new()
        .first_only()
        .with("combination.xml", |text| {
            text.replace("ExportOnly", "BinLow=\"0\" BinHigh=\"2\" ExportOnly").replace(
                "</POI>",
                "</POI><ConstraintTerm Type=\"Gamma\" RelativeUncertainty=\"1\">scale other</ConstraintTerm><ParamSetting Const=\"True\">alpha_none</ParamSetting>",
            )
        })
        .with("SR.xml", |text| {
            text.replace("Poisson\" />\n    <Sample", "Gaussian\" />\n    <Sample")
                .replace("HistoName=\"relative\" HistoPath=\"\"", "HistoName=\"relative\"")
                .replace("<StatErrorConfig", "<Data Name=\"more\" HistoName=\"data\" />\n    <StatErrorConfig")
        });
    let text = SourceText::read(&folder.combination()).expect("it is read");
    let lines: Vec<String> = text
        .warnings
        .iter()
        .map(|w| format!("{} at {}\n  {}\n  {}", w.severity, w.path, w.message, w.remedy))
        .collect();
    insta::assert_snapshot!(folder.neutral(&lines.join("\n")));
}
