//! A folder with small XML and ROOT files, which tests change.

use std::path::PathBuf;

use ns_root::{Compression, Histogram, HistogramFile};

/// A combination file, a channel and its histograms.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
}

const COMBINATION: &str = r#"<!DOCTYPE Combination SYSTEM "HistFactorySchema.dtd">
<Combination OutputFilePrefix="./results/x">
  <Input>./config/SR.xml</Input>
  <Measurement Name="first" Lumi="2" LumiRelErr="0.1" ExportOnly="True">
    <POI>mu</POI>
    <ParamSetting Val="1.5">norm</ParamSetting>
  </Measurement>
  <!-- Other constraints -->
</Combination>
"#;

const TERMS: &str = r#"  <Measurement Name="NAME" Lumi="2" LumiRelErr="0.1">
    <POI>mu</POI>
    <ConstraintTerm Type="KIND" RelativeUncertainty="0.5">jes</ConstraintTerm>
  </Measurement>
"#;

const CHANNEL: &str = r#"
<!-- A channel -->
<!DOCTYPE Channel SYSTEM "HistFactorySchema.dtd">
<Channel Name="SR" InputFile="./data/input.root" HistoPath="SR">
    <Data HistoName="data" />
    <StatErrorConfig RelErrorThreshold="0.05" ConstraintType="Poisson" />
    <Sample Name="signal" HistoName="signal">
      <NormFactor Name="mu" Val="1" Low="0" High="3" />
      <OverallSys Name="jes" High="1.05" Low="0.95" />
    </Sample>
    <Sample Name="one" HistoName="one" NormalizeByTheory="True">
      <StatError Activate="True" />
      <NormFactor Name="norm" Val="1" Low="0" High="5" />
      <HistoSys Name="scale" HistoNameHigh="one_up" HistoNameLow="one_down" />
      <ShapeSys Name="shape" HistoName="tenth" />
    </Sample>
    <Sample Name="two" HistoName="two" NormalizeByTheory="False">
      <StatError Activate="True" HistoName="relative" HistoPath="" />
      <ShapeSys Name="counted" HistoName="tenth" ConstraintType="Poisson" />
    </Sample>
</Channel>
"#;

impl Folder {
    /// A model with a Poisson constraint of two samples; with further measurements that have other constraints.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for part in ["config", "data"] {
            std::fs::create_dir(folder.path().join(part)).expect("a folder");
        }
        let terms: String = [
            ("gamma", "Gamma"),
            ("lognormal", "LogNormal"),
            ("uniform", "Uniform"),
            ("free", "NoConstraint"),
        ]
        .iter()
        .map(|(name, kind)| TERMS.replace("NAME", name).replace("KIND", kind))
        .collect();
        let text = COMBINATION.replace("  <!-- Other constraints -->\n", &terms);
        std::fs::write(folder.path().join("config/combination.xml"), text).expect("it is written");
        std::fs::write(folder.path().join("config/SR.xml"), CHANNEL).expect("it is written");
        let mut file = HistogramFile::new();
        let mut add = |path: &str, values: &[f64], errors: Option<[f64; 3]>| {
            let n = values.len();
            let cells = [&[0.0], values, &[0.0]].concat();
            let squares = errors.map(|e| [&[0.0][..], &e.map(|e| e * e), &[0.0]].concat());
            let edges = (0..=n).map(|i| i as f64).collect();
            let h = Histogram::one_dimensional("h", "", edges, cells, squares).expect("a histogram");
            file.add(path, &h).expect("it is added");
        };
        add("SR/data", &[25.0, 31.0, 62.0], None);
        add("SR/signal", &[1.0, 2.0, 3.0], None);
        add("SR/one", &[20.0, 20.0, 40.0], Some([1.0, 0.5, 3.0]));
        add("SR/one_up", &[22.0, 21.0, 41.0], None);
        add("SR/one_down", &[19.0, 18.0, 39.0], None);
        add("SR/two", &[10.0, 10.0, 20.0], None);
        add("relative", &[0.1, 0.0, 0.15], None);
        add("SR/tenth", &[0.1, 0.1, 0.1], None);
        add("SR/short", &[0.1, 0.1], None);
        add("SR/infinite", &[0.1, f64::INFINITY, 0.1], None);
        add("SR/negative", &[0.1, -0.1, 0.1], None);
        file.write(folder.path().join("data/input.root"), Compression::Zlib).expect("it is written");
        Self { folder }
    }

    /// Changes a file of the folder `config`.
    pub(crate) fn with(self, name: &str, change: impl Fn(&str) -> String) -> Self {
        let path = self.folder.path().join("config").join(name);
        let text = std::fs::read_to_string(&path).expect("a file");
        let changed = change(&text);
        assert_ne!(changed, text, "the change of {name} changes nothing");
        std::fs::write(path, changed).expect("it is written");
        self
    }

    /// Leaves the first measurement only.
    pub(crate) fn first_only(self) -> Self {
        self.with("combination.xml", |text| {
            let (head, _) = text.split_once("  <Measurement Name=\"gamma\"").expect("more measurements");
            format!("{head}</Combination>\n")
        })
    }

    pub(crate) fn combination(&self) -> PathBuf {
        self.folder.path().join("config/combination.xml")
    }

    /// Replaces the path of the folder in a message.
    pub(crate) fn neutral(&self, message: &str) -> String {
        let full = self.folder.path().canonicalize().expect("a path");
        let text = message.replace(&self.folder.path().display().to_string(), "FOLDER");
        let text = text.replace(&full.display().to_string(), "FOLDER");
        // Folders above the test's own differ between machines.
        match text.split_once("It was looked for as ") {
            Some((head, tail)) => {
                let first = tail.split(", ").next().unwrap_or_default();
                format!("{head}It was looked for as {first}, ...\n")
            }
            _ => text,
        }
    }
}
