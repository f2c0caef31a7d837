//! Splits a configuration of TRExFitter into blocks of settings.

use crate::pyhf::names::{nearest, quoted};

/// Words that begin a block.
pub(super) const BLOCKS: &[&str] = &[
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
    "MultiFit",
];

/// Most settings of a block, and of a file. Blocks that begin together have those of each other.
const MOST: (usize, usize) = (1000, 1_000_000);

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
    /// Line of the same setting above, whose values were others.
    pub(super) replaces: Option<usize>,
    /// Whether parts behind a `;` are for blocks that do not exist.
    pub(super) is_cut: bool,
}

/// Line, message and remedy of what cannot be read.
pub(super) type Wrong = (usize, String, String);

/// Reads the blocks of a text.
///
/// A blank line ends a block. A heading with several names, between which there is a `;`, stands for as many blocks; the
/// values of each setting are split in the same way, and the last part is also that of the blocks behind it. Of a setting
/// that is given twice the last one counts.
pub(super) fn read(text: &str) -> Result<Vec<Block>, Wrong> {
    let mut blocks: Vec<Block> = Vec::new();
    // How many blocks the last heading began, and whether their settings are indented.
    let (mut together, mut has_indented) = (0, false);
    let (mut after_blank, mut settings) = (true, 0);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (i, full) in text.lines().enumerate() {
        let line = i + 1;
        if full.trim().is_empty() {
            after_blank = true;
            continue;
        }
        let trimmed = without_comment(full).trim();
        if trimmed.is_empty() {
            continue;
        }
        let Some((key, rest)) = trimmed.split_once(':') else {
            let message = format!("The line '{trimmed}' has no colon.");
            return Err((line, message, "Write 'Key: value', or begin a comment with '%'.".to_owned()));
        };
        let key = key.trim();
        let mut parts = Vec::new();
        for part in split(rest, ';', line)? {
            parts.push(
                split(part, ',', line)?.into_iter().map(|value| value.replace('"', "").trim().to_owned()),
            );
        }
        let parts: Vec<Vec<String>> = parts.into_iter().map(Iterator::collect).collect();
        let Some(last) = parts.last() else {
            let message = format!("The setting {} has no value.", quoted(key));
            let remedy = "Remove it, or put a value with '%' or '#' in quotes; these begin a comment.";
            return Err((line, message, remedy.to_owned()));
        };
        let is_indented = full.starts_with([' ', '\t']);
        let begins = BLOCKS.contains(&key) && {
            // Samples have settings of these names.
            let of_sample = blocks.last().is_some_and(|block| block.kind == "Sample")
                && ["NormFactor", "ShapeFactor"].contains(&key)
                && (!has_indented || last.len() > 1);
            after_blank || (!is_indented && !of_sample)
        };
        if begins {
            together = parts.len();
            let block = |names| Block { line, kind: key.to_owned(), names, settings: Vec::new() };
            blocks.extend(parts.into_iter().map(block));
            (has_indented, after_blank) = (false, false);
            continue;
        }
        if blocks.is_empty() {
            let message = format!("The setting '{key}' stands before the first block.");
            return Err((line, message, "Begin the file with 'Job: NAME'.".to_owned()));
        }
        if after_blank {
            let message = format!("A blank line ends a block, but {} begins none.", quoted(key));
            let remedy = match nearest(key, BLOCKS.iter().copied()) {
                Some(near) => format!("Did you mean {}?", quoted(near)),
                None => "Remove the blank line before it, if it is a setting of the block above.".to_owned(),
            };
            return Err((line, message, remedy));
        }
        has_indented |= is_indented;
        settings += together;
        if settings > MOST.1 || blocks.last().is_some_and(|block| block.settings.len() >= MOST.0) {
            let message =
                format!("A block has more than {} settings, or all blocks more than {}.", MOST.0, MOST.1);
            return Err((line, message, "Correct the file.".to_owned()));
        }
        let first = blocks.len().saturating_sub(together);
        for (k, block) in blocks.iter_mut().skip(first).enumerate() {
            let values = parts.get(k).unwrap_or(last).clone();
            let is_cut = parts.len() > together;
            let mut setting = Setting { line, key: key.to_owned(), values, replaces: None, is_cut };
            match block.settings.iter_mut().find(|known| known.key == setting.key) {
                Some(known) => {
                    setting.replaces = (known.values != setting.values).then_some(known.line);
                    *known = setting;
                }
                None => block.settings.push(setting),
            }
        }
    }
    Ok(blocks)
}

/// The part of a line before a comment, which begins at a `%` or `#` outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let begins = |c: char| {
        quoted ^= c == '"';
        !quoted && (c == '%' || c == '#')
    };
    line.find(begins).and_then(|at| line.get(..at)).unwrap_or(line)
}

/// Splits a text at a sign outside of quotes. An empty part at the end is none.
fn split(text: &str, sign: char, line: usize) -> Result<Vec<&str>, Wrong> {
    let mut quoted = false;
    let mut parts: Vec<&str> = text
        .split(|c: char| {
            quoted ^= c == '"';
            !quoted && c == sign
        })
        .collect();
    if quoted {
        let remedy = "Write a second '\"' behind the text.".to_owned();
        return Err((line, "A quote is not closed.".to_owned(), remedy));
    }
    if parts.last().is_some_and(|part| part.replace('"', "").trim().is_empty()) {
        parts.pop();
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, names and settings of each block in one line.
    fn shown(text: &str) -> Vec<String> {
        let show = |block: &Block| {
            let settings: Vec<String> =
                block.settings.iter().map(|s| format!("{}={}", s.key, s.values.join("|"))).collect();
            format!("{} {}: {}", block.kind, block.names.join("|"), settings.join(" "))
        };
        read(text).map_or_else(
            |(line, message, remedy)| vec![format!("{line}: {message} {remedy}")],
            |blocks| blocks.iter().map(show).collect(),
        )
    }

    #[test]
    fn a_heading_with_several_names_begins_several_blocks() {
        let text =
            "Systematic: \"a;b\"; \"c\";d\n  Title: \"x;y\";\"z\"\n  OverallUp: 1;2;3;4\n  Samples: p,q\n";
        let settings = ["Title=x;y OverallUp=1 Samples=p|q", "Title=z OverallUp=2 Samples=p|q"];
        let wanted = [
            format!("Systematic a;b: {}", settings[0]),
            format!("Systematic c: {}", settings[1]),
            "Systematic d: Title=z OverallUp=3 Samples=p|q".to_owned(),
        ];
        assert_eq!(shown(text), wanted);
        let cut: Vec<bool> =
            read(text).unwrap_or_default().iter().flat_map(|b| b.settings.iter().map(|s| s.is_cut)).collect();
        assert_eq!(cut, [false, true, false].repeat(3));
    }

    #[test]
    fn comments_begin_outside_of_quotes() {
        let text = "Region: SR # one: two\n  Label: \"t#bar{t} 50%\" % text\n   # Type: x\n  Selection: n>=2 %text\n";
        assert_eq!(shown(text), ["Region SR: Label=t#bar{t} 50% Selection=n>=2"]);
        assert!(shown("Region: SR\n  Label: #mu\n")[0].starts_with("2: The setting 'Label' has no value."));
    }

    #[test]
    fn blank_lines_separate_blocks() {
        let text = "Job: j\n  POI: mu\n \t \n% comment\n   Region: A\n     Type: SIGNAL\nRegion: B\n\n\nSample: S\n  NormFactor: mu,1,0,2\n";
        let wanted =
            ["Job j: POI=mu", "Region A: Type=SIGNAL", "Region B: ", "Sample S: NormFactor=mu|1|0|2"];
        assert_eq!(shown(text), wanted);
        assert_eq!(
            shown("Job: j\n\nRegon: A\n"),
            ["3: A blank line ends a block, but 'Regon' begins none. Did you mean 'Region'?"]
        );
        assert!(shown("Job: j\n\n  Lumi: 2\n")[0].contains("Remove the blank line"));
    }

    #[test]
    fn samples_without_indentation_keep_their_factors() {
        let text = "Sample: S\nType: SIGNAL\nNormFactor: mu,1,0,2\nSample: B\n  Type: BACKGROUND\nNormFactor: k\n  Samples: B\n";
        let wanted = [
            "Sample S: Type=SIGNAL NormFactor=mu|1|0|2",
            "Sample B: Type=BACKGROUND",
            "NormFactor k: Samples=B",
        ];
        assert_eq!(shown(text), wanted);
    }

    #[test]
    fn the_last_of_two_settings_counts() {
        let blocks = read("Job: j\n  Lumi: 2\n  POI: a\n  Lumi: 3\n  POI: a\n").unwrap_or_default();
        let settings: Vec<_> =
            blocks[0].settings.iter().map(|s| (s.values.join(","), s.line, s.replaces)).collect();
        assert_eq!(settings, [("3".to_owned(), 4, Some(2)), ("a".to_owned(), 5, None)]);
    }
}
