//! Describes an error in text that is not valid JSON: its place, and what the author probably meant.

use serde_json::error::Category;

use crate::pyhf::error::WorkspaceError;
use crate::pyhf::names::pointer_token;

/// Converts the parser's syntax error `error` to an error that tells the user what is wrong in `text`.
pub(crate) fn explain_syntax(text: &[u8], error: &serde_json::Error) -> WorkspaceError {
    let at = offset(text, error.line(), error.column());
    let (message, remedy) = not_text(text).unwrap_or_else(|| wrong_json(text, error, at));
    WorkspaceError::Syntax {
        line: error.line(),
        column: error.column(),
        path: path_at(text, at),
        message,
        remedy,
    }
}

/// Returns a message and a remedy if the text has another encoding or file format. Most formats are
/// recognised by the first bytes.
fn not_text(text: &[u8]) -> Option<(String, String)> {
    let (message, remedy) = match text {
        [] => ("The input is empty.", "Give a workspace; maybe the program that wrote it failed."),
        [0xEF, 0xBB, 0xBF, ..] => (
            "The text starts with a second byte order mark, which JSON does not allow.",
            "Save the file as UTF-8 without BOM.",
        ),
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => {
            ("The text is in UTF-32; JSON is written in UTF-8.", "Save the file as UTF-8.")
        }
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            ("The text is in UTF-16; JSON is written in UTF-8.", "Save the file as UTF-8.")
        }
        [first, 0, ..] | [0, first, ..] if first.is_ascii() => (
            "The text has a zero byte at its start, as UTF-16 or UTF-32 would; JSON is written in UTF-8.",
            "Save the file as UTF-8.",
        ),
        [0x1F, 0x8B, ..] => {
            ("The file is compressed with gzip.", "Unpack it first, for example with gunzip.")
        }
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => {
            ("The file is compressed with xz.", "Unpack it first, for example with `xz -d`.")
        }
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..] => {
            ("The file is compressed with bzip2.", "Unpack it first, for example with `bzip2 -d`.")
        }
        [0x28, 0xB5, 0x2F, 0xFD, ..] => {
            ("The file is compressed with Zstandard.", "Unpack it first, for example with `zstd -d`.")
        }
        [0x04, 0x22, 0x4D, 0x18, ..] => {
            ("The file is compressed with LZ4.", "Unpack it first, for example with `lz4 -d`.")
        }
        [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => {
            ("The file is a 7-Zip archive.", "Unpack it and give the workspace inside.")
        }
        [0x89, b'H', b'D', b'F', ..] => {
            ("The file is HDF5, not JSON.", "Give the workspace that the histograms were put into, as JSON.")
        }
        [0x80, 2..=5, ..] => (
            "The file is a Python pickle, not JSON.",
            "Write the workspace with json.dump instead of pickle.dump.",
        ),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            ("The file is a NumPy array, not JSON.", "Give the workspace as JSON.")
        }
        _ if text.starts_with(b"version https://git-lfs") => {
            ("The file is a pointer of Git LFS, not the file itself.", "Fetch the file with `git lfs pull`.")
        }
        [b'%', b'P', b'D', b'F', ..] => ("The file is a PDF, not JSON.", "Give the workspace as JSON."),
        _ if text.get(257..262) == Some(b"ustar") => {
            ("The file is a tar archive.", "Unpack it and give the workspace inside.")
        }
        [b'P', b'K', 3, 4, ..] => ("The file is a ZIP archive.", "Unpack it and give the workspace inside."),
        [b'r', b'o', b'o', b't', ..] => (
            "The file looks like a ROOT file, not JSON.",
            "Write the HistFactory model as a workspace first: `nextstat convert -i combination.xml --to pyhf`.",
        ),
        [b'<', ..] => (
            "The file looks like XML, not JSON.",
            "Write the HistFactory model as a workspace first: `nextstat convert -i combination.xml --to pyhf`.",
        ),
        _ if std::str::from_utf8(text).is_err() => {
            ("The text is not valid UTF-8.", "Save the file as UTF-8; maybe a name was written in Latin-1.")
        }
        _ if text.iter().all(u8::is_ascii_whitespace) => (
            "The input has nothing but white space.",
            "Give a workspace; maybe the program that wrote it failed.",
        ),
        _ => return None,
    };
    Some((message.to_owned(), remedy.to_owned()))
}

fn wrong_json(text: &[u8], error: &serde_json::Error, at: usize) -> (String, String) {
    let reason = error.to_string();
    // Removes the position that serde_json appends to its message.
    let reason = reason.split(" at line ").next().unwrap_or_default();
    if let Some(word) = not_a_number(text, at) {
        return (
            format!("{word} is not a JSON number."),
            "Python's json module writes it for a number that is not finite: find out which yield or uncertainty \
             that is and correct it."
                .to_owned(),
        );
    }
    if error.classify() == Category::Eof {
        return (
            "The text ends in the middle of the document.".to_owned(),
            "Maybe the file was cut short: copy or download it again.".to_owned(),
        );
    }
    let (message, remedy) = match reason {
        "number out of range" => (
            "A number is larger than double precision can hold (about 1.8e308).",
            "Correct the number; if it stands for infinity, choose a large finite value such as 1e30.",
        ),
        "recursion limit exceeded" => (
            "Arrays or objects are nested more than 127 levels deep; a workspace needs ten.",
            "Check the program that wrote the file.",
        ),
        "control character (\\u0000-\\u001F) found while parsing a string" => (
            "A line break or another control character stands in a string.",
            "Write it as an escape, such as \\n or \\t; maybe a closing quote is missing.",
        ),
        "unexpected end of hex escape"
        | "lone leading surrogate in hex escape"
        | "invalid unicode code point" => (
            "An escape such as \\ud800 is half of a pair and stands for no character.",
            "Write the character itself, in UTF-8.",
        ),
        "invalid escape" => (
            "A backslash in a string is followed by a character that makes no escape.",
            "Write a backslash as \\\\.",
        ),
        "trailing characters" => (
            "There is more text after the end of the document.",
            "Keep one JSON document per file; maybe two were joined, or a bracket closes too early.",
        ),
        "trailing comma" => ("There is a comma before a closing bracket.", "Remove the comma."),
        "key must be a string" => (
            "A key is not in double quotes.",
            "Write keys as \"key\"; JSON knows no comments and no single quotes.",
        ),
        "expected `,` or `]`" | "expected `,` or `}`" => {
            ("A comma or a closing bracket is missing.", "Add it before this place.")
        }
        "expected `:`" => ("The colon after a key is missing.", "Write \"key\": value."),
        "invalid number" => {
            ("A number is written in a way JSON does not allow.", "Write it like 0.5, 12 or 1.2e-3.")
        }
        "expected value" | "expected ident" => (
            "A value is expected here: a number, a string in double quotes, an array, an object, true, false or null.",
            "Write one; words such as None, True or a name without quotes are not JSON.",
        ),
        other => return (format!("{}.", capitalised(other)), "Correct the text at this place.".to_owned()),
    };
    (message.to_owned(), remedy.to_owned())
}

fn capitalised(reason: &str) -> String {
    let mut chars = reason.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().to_string() + chars.as_str())
}

/// Returns the literal of a non-finite number (such as `NaN`) at byte `at`, where the parser failed. Returns `None`
/// if there is no such literal.
fn not_a_number(text: &[u8], at: usize) -> Option<&'static str> {
    // The parser may stop within the literal, or after its sign.
    let around = text.get(at.saturating_sub(3)..text.len().min(at.saturating_add(10)))?;
    ["-Infinity", "Infinity", "NaN", "nan", "-inf", "inf"]
        .into_iter()
        .find(|word| around.windows(word.len()).position(|w| w == word.as_bytes()).is_some_and(|p| p <= 3))
}

/// Returns the byte offset of a line and column, both counted from 1.
fn offset(text: &[u8], line: usize, column: usize) -> usize {
    let start = if line <= 1 {
        0
    } else {
        text.iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .nth(line - 2)
            .map_or(text.len(), |(newline, _)| newline + 1)
    };
    (start + column.saturating_sub(1)).min(text.len())
}

/// An array that is not closed yet, with its current index, or an object that is not closed yet, with its
/// current key.
enum Open {
    Array(usize),
    Object(Option<String>),
}

/// Returns the JSON pointer to the value at byte `at`. It is found by a simple scan of the text before this
/// byte. The pointer is empty if the value is nested too deeply.
fn path_at(text: &[u8], at: usize) -> String {
    // Larger than the depth of any workspace. Limits the memory of the scan for hostile text.
    const DEEPEST: usize = 20;
    let mut open: Vec<Open> = Vec::new();
    let mut string_start = None;
    let mut last_string: Option<(usize, usize)> = None;
    let mut escaped = false;
    for (i, &byte) in text.iter().enumerate().take(at) {
        if let Some(start) = string_start {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    last_string = Some((start, i));
                    string_start = None;
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string_start = Some(i + 1),
            b'[' if open.len() < DEEPEST => open.push(Open::Array(0)),
            b'{' if open.len() < DEEPEST => open.push(Open::Object(None)),
            b'[' | b'{' => return String::new(),
            b']' | b'}' => {
                open.pop();
            }
            b':' => {
                if let (Some(Open::Object(key)), Some((start, end))) = (open.last_mut(), last_string) {
                    *key = text.get(start..end).map(|raw| String::from_utf8_lossy(raw).into_owned());
                }
            }
            b',' => match open.last_mut() {
                Some(Open::Array(index)) => *index += 1,
                Some(Open::Object(key)) => *key = None,
                None => {}
            },
            _ => {}
        }
    }
    let mut path = String::new();
    for level in open {
        match level {
            Open::Array(index) => path.push_str(&format!("/{index}")),
            Open::Object(Some(key)) => {
                path.push('/');
                path.push_str(&pointer_token(&key));
            }
            Open::Object(None) => {}
        }
    }
    path
}
