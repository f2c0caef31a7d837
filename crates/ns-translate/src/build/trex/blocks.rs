//! Splits a configuration of TRExFitter into blocks of settings.

/// Words that begin a block.
const BLOCKS: &[&str] = &[
    "Job",
    "Fit",
    "Limit",
    "Significance",
    "Options",
    "Region",
    "Sample",
    "NormFactor",
    "ShapeFactor",
    "Systematic",
    "Unfolding",
    "TruthSample",
    "UnfoldingSample",
    "UnfoldingSystematic",
];

/// A block: its word, its name, and its settings. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    pub(super) line: usize,
    pub(super) kind: String,
    pub(super) names: Vec<String>,
    pub(super) settings: Vec<Setting>,
}

/// A setting with its values, which are separated by commas.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

/// Line, message and remedy of what cannot be read.
pub(super) type Wrong = (usize, String, &'static str);

/// Reads the blocks of a text.
pub(super) fn read(text: &str) -> Result<Vec<Block>, Wrong> {
    let mut blocks: Vec<Block> = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (i, full) in text.lines().enumerate() {
        let (line, trimmed) = (i + 1, full.trim());
        if trimmed.is_empty() || trimmed.starts_with(['%', '#']) {
            continue;
        }
        let Some((key, rest)) = trimmed.split_once(':') else {
            let message = format!("The line '{trimmed}' has no colon.");
            return Err((line, message, "Write 'Key: value', or begin a comment with '%'."));
        };
        let (key, values) = (key.trim().to_owned(), values(rest, line)?);
        let is_indented = full.starts_with([' ', '\t']);
        if BLOCKS.contains(&key.as_str()) && !is_indented {
            blocks.push(Block { line, kind: key, names: values, settings: Vec::new() });
            continue;
        }
        match blocks.last_mut() {
            Some(block) => block.settings.push(Setting { line, key, values }),
            None => {
                let message = format!("The setting '{key}' stands before the first block.");
                return Err((line, message, "Begin the file with 'Job: NAME'."));
            }
        }
    }
    Ok(blocks)
}

/// Splits values at commas outside of quotes, and takes the quotes off.
fn values(text: &str, line: usize) -> Result<Vec<String>, Wrong> {
    let (mut out, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut word).trim().to_owned()),
            c => word.push(c),
        }
    }
    if quoted {
        return Err((line, "A quote is not closed.".to_owned(), "Write a second '\"' behind the text."));
    }
    out.push(word.trim().to_owned());
    Ok(out)
}
