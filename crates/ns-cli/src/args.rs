//! The flags that several commands share.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, ValueEnum};
use ns_core::{Device, Execution, HistosysCode, Interpolation, NormsysCode, parse_bytes};
use ns_translate::datacard::{CardError, McStats, PoiMap};
use ns_translate::pyhf::PatchArgument;

/// Flags that select the workspace, and how its model is built.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Workspace in pyhf's JSON, HS3 model, combination file of HistFactory's XML or datacard of CMS Combine, also
    /// compressed; JSON also as FILE.tar.gz:MEMBER of an archive; `-` reads JSON from standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Measurement to use [default: the first], or analysis of an HS3 model [default: the only one that has
    /// no Asimov data]
    #[arg(long, visible_alias = "analysis", value_name = "NAME")]
    pub(crate) measurement: Option<String>,
    /// Parameters of interest: names, patterns with * and ?, or all; repeatable [default: those of the measurement]
    #[arg(long, value_name = "NAME,...")]
    pub(crate) poi: Vec<String>,
    /// JSON Patch to apply, or a patchset and the name of its patch; `-` reads standard input; repeatable,
    /// applied in order
    #[arg(long, value_name = "FILE[:NAME]", allow_hyphen_values = true)]
    pub(crate) patch: Vec<PatchArgument>,
    /// Use only these channels; repeatable
    #[arg(long, value_name = "NAME,...")]
    pub(crate) channels: Vec<String>,
    /// Leave these channels out; repeatable
    #[arg(long, value_name = "NAME,...")]
    pub(crate) mask: Vec<String>,
    /// Correlations between Gaussian constraints, from a file in JSON or comma-separated values; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) correlations: Vec<PathBuf>,
    /// Titles and bin edges of channels, for pictures and tables: TOML or JSON with a table for each channel [default:
    /// NAME.axes.json beside NAME.json, where `nextstat build` writes it]
    #[arg(long, value_name = "FILE")]
    pub(crate) axes: Option<PathBuf>,
    /// Datacards: value of $MASS in the names of templates
    #[arg(long, value_name = "M")]
    pub(crate) mass: Option<f64>,
    // Not a documentation comment, in which brackets are links.
    #[arg(
        long,
        value_name = "MAP",
        value_parser = card_map,
        help = "Datacards: what multiplies processes, as multiSignalModel of Combine takes it: \
                'channel/process:name[start,lower,upper]'; repeatable [default: r[1,0,20] on all signals]"
    )]
    pub(crate) map: Vec<PoiMap>,
    /// Datacards: what autoMCStats becomes: combine takes Combine's parameters (the default), staterror pyhf's staterror,
    /// ignore leaves it out
    #[arg(long, value_name = "CHOICE", value_parser = PossibleValuesParser::new(["combine", "staterror", "ignore"]).try_map(|name| name.parse::<McStats>()))]
    pub(crate) mc_stats: Option<McStats>,
    /// Apply a patchset although its digest says that it was made for another workspace
    #[arg(long)]
    pub(crate) no_digest_check: bool,
    /// Interpolation: smooth is normsys code4 + histosys code4p, as in pyhf; piecewise is code1 +
    /// code0, the original HistFactory [older spellings: root = smooth, pyhf = piecewise]
    #[arg(long, value_name = "CODES", default_value = "smooth", hide_possible_values = true)]
    interp_defaults: InterpolationName,
    /// Interpolation code of normsys, instead of that of --interp-defaults
    #[arg(long, value_name = "CODE", value_parser = normsys_codes())]
    normsys_code: Option<NormsysCode>,
    /// Interpolation code of histosys, instead of that of --interp-defaults
    #[arg(long, value_name = "CODE", value_parser = histosys_codes())]
    histosys_code: Option<HistosysCode>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum InterpolationName {
    #[value(alias = "root")]
    Smooth,
    #[value(alias = "pyhf")]
    Piecewise,
}

/// Returns a parser for the names of interpolation codes, such as `code4`. The prefix `code` may be left out.
fn names(codes: impl Iterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(codes.map(|name| PossibleValue::new(name).aliases(name.strip_prefix("code"))))
}

/// Parses a `--map`. Messages of clap name the flag and the value themselves.
fn card_map(text: &str) -> Result<PoiMap, String> {
    text.parse().map_err(|error: CardError| match error {
        CardError::BadOption { message, remedy, .. } => format!("{message} {remedy}"),
        other => other.to_string(),
    })
}

fn normsys_codes() -> impl TypedValueParser<Value = NormsysCode> {
    names(NormsysCode::ALL.iter().map(|code| code.name())).try_map(|name| name.parse())
}

fn histosys_codes() -> impl TypedValueParser<Value = HistosysCode> {
    names(HistosysCode::ALL.iter().map(|code| code.name())).try_map(|name| name.parse())
}

impl ModelArgs {
    /// Returns the interpolation codes that the flags select.
    pub(crate) fn interpolation(&self) -> Interpolation {
        let mut codes = match self.interp_defaults {
            InterpolationName::Smooth => Interpolation::SMOOTH,
            InterpolationName::Piecewise => Interpolation::PIECEWISE,
        };
        codes.normsys = self.normsys_code.unwrap_or(codes.normsys);
        codes.histosys = self.histosys_code.unwrap_or(codes.histosys);
        codes
    }

    /// Returns whether a flag selects interpolation codes other than the default ones.
    pub(crate) fn selects_codes(&self) -> bool {
        let other = matches!(self.interp_defaults, InterpolationName::Piecewise);
        other || self.normsys_code.is_some() || self.histosys_code.is_some()
    }
}

/// Flags that select the device, threads, memory and seed of a run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct ExecutionArgs {
    /// Device: auto, cpu, cuda, cuda:I, cuda:all, metal, metal:I, vulkan or vulkan:I
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Device,
    /// Short form of `--device cuda`, `metal` or `vulkan`; without KIND, metal on macOS and cuda elsewhere
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "default",
          conflicts_with = "device", hide_possible_values = true)]
    gpu: Option<Gpu>,
    /// Number of threads for independent fits; 0 takes all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    threads: usize,
    /// Largest memory that fits may use on the host and on each GPU, such as 500M or 2G [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Seed of the random numbers of toys; other computations use none
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole)]
    seed: u64,
}

/// Parses a number, such as 1.5 or 1e-3. Infinities, NaN and negative numbers are accepted. Commands that
/// forbid them check the result.
pub(crate) fn real(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "give a number, such as 1.5, -2 or 1e-3".to_owned())
}

/// The number 2^53. An f64 can represent every integer up to this number.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Parses a non-negative whole number, such as 100000 or 1e5.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    let exact = |x: &f64| x.fract() == 0.0 && (0.0..=MOST_EXACT).contains(x);
    let number = text.parse().ok().or_else(|| text.parse().ok().filter(exact).map(|x| x as u64));
    number.ok_or_else(|| "give a whole number from 0 on, such as 100000 or 1e5".to_owned())
}

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    text.trim().parse().map_err(|_| "give a whole number from 0 on, such as 4; 0 takes all cores".to_owned())
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Gpu {
    Cuda,
    Metal,
    Vulkan,
    #[value(hide = true)]
    Default,
}

impl ExecutionArgs {
    /// Returns the device, threads and memory limit that the flags describe.
    pub(crate) fn execution(&self) -> Execution {
        let device = match self.gpu {
            None => self.device,
            Some(Gpu::Cuda) => Device::Cuda(0),
            Some(Gpu::Metal) => Device::Metal(None),
            Some(Gpu::Vulkan) => Device::Vulkan(None),
            Some(Gpu::Default) if cfg!(target_os = "macos") => Device::Metal(None),
            Some(Gpu::Default) => Device::Cuda(0),
        };
        Execution { device, threads: self.threads, memory_limit: self.memory, ..Execution::default() }
    }

    /// Returns the seed of the random numbers.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
}

/// Flags that say where and in which format the result is written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write the result to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Format of the result: json, table, tables for documents (latex, markdown, csv), or hepdata: YAML for HEPData, of
    /// fit, scan, upper-limit and yields [default: table on a terminal, json elsewhere]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// No warnings on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Say on standard error what the model has and which device is used
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

/// Format in which a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object.
    Json,
    /// Text and tables for a terminal.
    Table,
    /// Tables for LaTeX with the package booktabs.
    Latex,
    /// Tables in Markdown.
    Markdown,
    /// Tables of comma-separated values.
    Csv,
    /// Data tables of HEPData in YAML.
    Hepdata,
}

/// Commands that `--format hepdata` is for.
pub(crate) const WITH_DATA_TABLES: [&str; 4] = ["fit", "scan", "upper-limit", "yields"];

/// Returns the name of the command if it has no tables for HEPData, but is asked for them.
pub(crate) fn without_data_tables(matches: &ArgMatches) -> Option<&str> {
    let (name, flags) = matches.subcommand()?;
    let format = flags.try_get_one::<Format>("format").ok().flatten();
    let toys = flags.try_contains_id("toys").is_ok_and(|there| there);
    (format == Some(&Format::Hepdata) && (toys || !WITH_DATA_TABLES.contains(&name))).then_some(name)
}
