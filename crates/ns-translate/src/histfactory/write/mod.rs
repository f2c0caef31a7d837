//! Writes a workspace of pyhf as HistFactory's XML with a ROOT file.

mod channel;
mod copy;
mod function;
mod measurement;
mod schema;
mod tags;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ns_root::{Compression, HistogramFile};

use crate::pyhf::Workspace;
use crate::pyhf::document::{Document, Effect, ModifierType, Setting};
use crate::xml_error::HistFactoryError;
pub(super) use copy::copy;
use tags::Xml;

/// Name of the file that commands read.
pub const COMBINATION: &str = "combination.xml";
/// Name of the file with all histograms.
const HISTOGRAMS: &str = "histograms.root";

/// HistFactory's XML of a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// Names and contents of the files. They belong into one folder.
    pub files: Vec<(String, Vec<u8>)>,
    /// What the XML says otherwise than the workspace, in whole sentences.
    pub notes: Vec<String>,
}

impl Exported {
    /// Writes the files into a folder, which is made if there is none.
    ///
    /// # Errors
    /// [`HistFactoryError::Write`], also if one of the files is there already.
    pub fn save(&self, folder: &Path) -> Result<(), HistFactoryError> {
        std::fs::create_dir_all(folder)
            .map_err(|source| HistFactoryError::Write { path: folder.to_owned(), source })?;
        for (name, _) in &self.files {
            let path = folder.join(name);
            if path.exists() {
                let source = std::io::Error::other("it is there already; remove it or name another folder");
                return Err(HistFactoryError::Write { path, source });
            }
        }
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            std::fs::write(&path, bytes).map_err(|source| HistFactoryError::Write { path, source })?;
        }
        Ok(())
    }
}

/// Writes a workspace as XML: `combination.xml`, a file per channel, `histograms.root` and the grammar.
///
/// `hist2workspace combination.xml` in their folder makes a RooFit workspace of them.
///
/// # Errors
/// [`HistFactoryError::NotWritten`] if the XML cannot say what the workspace says.
pub fn write(workspace: &Workspace) -> Result<Exported, HistFactoryError> {
    let document = &workspace.document;
    let context = Context::of(document)?;
    let mut histograms = HistogramFile::new();
    let mut notes = Vec::new();
    let mut files = Vec::new();
    let mut taken = BTreeSet::from(["combination".to_owned()]);
    let mut inputs = Vec::new();
    for channel in &document.channels {
        let stem = unique(&plain(&channel.name), &mut taken);
        let data = document.observations.iter().find(|o| o.name == channel.name).map(|o| o.data.as_slice());
        if data.is_none() {
            notes.push(format!(
                "The channel '{}' has no data; read again, it has those that are expected.",
                channel.name
            ));
        }
        let text = channel::write(channel, data, &stem, &context, &mut histograms)?;
        files.push((format!("{stem}.xml"), text.into_bytes()));
        inputs.push(format!("{stem}.xml"));
    }
    let mut xml = Xml::of("Combination");
    xml.begin("Combination", &[("OutputFilePrefix", "./results".to_owned())])?;
    for function in &context.functions {
        function.write(document, &mut xml)?;
    }
    for input in &inputs {
        xml.with("Input", &[], input)?;
    }
    for measurement in &document.measurements {
        measurement::write(measurement, &context, &mut xml, &mut notes)?;
    }
    xml.end();
    files.insert(0, (COMBINATION.to_owned(), xml.text.into_bytes()));
    Ok(Exported { files: finished(files, &histograms)?, notes })
}

/// Adds the grammar and the file of the histograms.
fn finished(
    mut files: Vec<(String, Vec<u8>)>,
    histograms: &HistogramFile,
) -> Result<Vec<(String, Vec<u8>)>, HistFactoryError> {
    files.push(("HistFactorySchema.dtd".to_owned(), schema::DTD.as_bytes().to_vec()));
    files
        .push((HISTOGRAMS.to_owned(), histograms.to_bytes(HISTOGRAMS, Compression::Zlib).map_err(Box::new)?));
    Ok(files)
}

/// What a parameter is in the XML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Lumi,
    Norm,
    /// A factor that is a function of others.
    Function,
    Alpha,
    Free,
    /// A factor per bin of a `ShapeSys`; whether its constraint is Poisson.
    Shape(bool),
    /// The uncertainty of the simulation of the channel with this index.
    Stat(usize),
}

/// The parameters of a workspace by their names.
struct Context<'a> {
    document: &'a Document,
    roles: BTreeMap<&'a str, (Role, usize)>,
    functions: Vec<function::Function<'a>>,
}

impl<'a> Context<'a> {
    fn of(document: &'a Document) -> Result<Self, HistFactoryError> {
        // Where each name of a per-bin uncertainty is used: channels and samples.
        let mut uses: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (c, channel) in document.channels.iter().enumerate() {
            for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
                uses.entry(&modifier.name).or_default().push(c);
            }
        }
        let mut roles: BTreeMap<&str, (Role, usize)> = BTreeMap::new();
        let mut stat: BTreeMap<usize, &str> = BTreeMap::new();
        for (c, channel) in document.channels.iter().enumerate() {
            for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
                let name = modifier.name.as_str();
                let places = uses.get(name).map(Vec::as_slice).unwrap_or_default();
                let role = match modifier.effect.kind() {
                    ModifierType::Function => Role::Function,
                    ModifierType::Lumi => Role::Lumi,
                    ModifierType::NormFactor => Role::Norm,
                    ModifierType::NormSys | ModifierType::HistoSys => Role::Alpha,
                    ModifierType::ShapeFactor => Role::Free,
                    ModifierType::ShapeSys => Role::Shape(true),
                    ModifierType::StatError => {
                        if places.iter().any(|place| *place != c) {
                            return Err(not_written(
                                format!("The staterror '{name}'"),
                                "it acts on several channels, and XML has one for each channel.",
                                "Rename it in one of the channels.",
                            ));
                        }
                        if places.len() == 1 && name != format!("staterror_{}", channel.name) {
                            Role::Shape(false)
                        } else {
                            Role::Stat(c)
                        }
                    }
                };
                if role == Role::Stat(c) && stat.insert(c, name).is_some_and(|known| known != name) {
                    return Err(not_written(
                        format!("The staterror '{name}'"),
                        "its channel has another one that acts on several samples.",
                        "Join the two, or prune one.",
                    ));
                }
                roles.insert(name, (role, channel.n_bins()));
            }
        }
        let functions = function::collect(document)?;
        for function in &functions {
            function.settle(document, &mut roles)?;
        }
        for name in roles.keys() {
            if name.chars().any(char::is_whitespace) {
                return Err(not_written(
                    format!("The modifier '{name}'"),
                    "names of parameters end at spaces in XML.",
                    "Rename it with `nextstat rename --modifier`.",
                ));
            }
        }
        Ok(Self { document, roles, functions })
    }

    fn role(&self, name: &str) -> Option<(Role, usize)> {
        self.roles.get(name).copied()
    }

    /// What the first measurement says of a parameter.
    fn setting(&self, name: &str) -> Option<&'a Setting> {
        let first = self.document.measurements.first()?;
        first.config.parameters.iter().find(|setting| setting.name == name)
    }

    /// Whether a sample scales with the luminosity.
    fn scales(&self, effects: impl Iterator<Item = &'a Effect>) -> bool {
        let mut effects = effects;
        effects.any(|effect| effect.kind() == ModifierType::Lumi)
    }
}

fn not_written(part: String, message: &str, remedy: &str) -> HistFactoryError {
    HistFactoryError::NotWritten { part, message: message.to_owned(), remedy: remedy.to_owned() }
}

/// A name with letters that file systems and ROOT take.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let out: String = name.chars().take(100).map(letter).collect();
    if out.is_empty() { "_".to_owned() } else { out }
}

/// A name that is not taken yet, whatever the case of its letters.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut out = name.to_owned();
    while !taken.insert(out.to_lowercase()) {
        out.push('_');
    }
    out
}
