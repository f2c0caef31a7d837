//! Fonts of the system, for characters that the font of this crate lacks, such as Chinese, Japanese and Korean
//! characters. The system is searched for fonts once per process, when the first such character occurs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use ttf_parser::{Face, GlyphId};

/// A glyph and the font that contains it; `None` if no font has a glyph for the character.
type FoundGlyph = Option<(&'static Face<'static>, GlyphId)>;

/// Largest size, in bytes, of a font file that is read. Larger files contain coloured bitmaps, which cannot
/// be drawn.
const LARGEST_FILE: u64 = 120_000_000;
/// Largest depth of the search in folders of fonts. It ends the search if links form cycles.
const DEEPEST: usize = 6;

/// One font: the path of its file, its index in the file, and the sorted ranges of characters that it
/// contains.
struct FontFile {
    path: PathBuf,
    index: u32,
    ranges: Vec<(u32, u32)>,
}

/// The fonts of the system. `known` lists them in order of preference. The opened fonts are stored by their
/// index in `known`. Glyphs that were found are stored by their character.
struct Fonts {
    known: Vec<FontFile>,
    opened: HashMap<usize, Option<&'static Face<'static>>>,
    found: HashMap<char, FoundGlyph>,
}

static FONTS: LazyLock<Mutex<Fonts>> = LazyLock::new(|| {
    let mut files = Vec::new();
    for folder in folders() {
        collect(&folder, 0, &mut files);
    }
    Mutex::new(Fonts::new(files))
});

/// Returns the glyph of a character, and the font of the system that contains the glyph. If several fonts contain the
/// character, the first font in the order of preference is used. Returns `None` if no font contains the character.
pub(crate) fn face_for(character: char) -> FoundGlyph {
    FONTS.lock().unwrap_or_else(PoisonError::into_inner).face_for(character)
}

/// Returns the folders in which Linux, macOS and Windows store fonts.
fn folders() -> Vec<PathBuf> {
    let fixed = [
        "/usr/share/fonts",
        "/usr/local/share/fonts",
        "/System/Library/Fonts",
        "/Library/Fonts",
        "C:\\Windows\\Fonts",
    ];
    let own = [
        ("XDG_DATA_HOME", "fonts"),
        ("HOME", ".local/share/fonts"),
        ("HOME", ".fonts"),
        ("HOME", "Library/Fonts"),
        ("LOCALAPPDATA", "Microsoft\\Windows\\Fonts"),
    ];
    let own = own
        .into_iter()
        .filter_map(|(home, folder)| Some(PathBuf::from(std::env::var_os(home)?).join(folder)));
    fixed.into_iter().map(PathBuf::from).chain(own).collect()
}

/// Adds the font files of a folder and of its subfolders to `files`.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let extension = path.extension().map(|found| found.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("ttf" | "otf" | "ttc" | "otc") => files.push(path),
            _ if depth < DEEPEST && path.is_dir() => collect(&path, depth + 1, files),
            _ => {}
        }
    }
}

/// Returns the sorting key of a font file. The first part prefers upright fonts of normal weight without
/// serifs, because these are similar to the font of this crate. The second part is the path. With it, the
/// result does not depend on the order of the files in a folder.
fn preference(path: &Path) -> (usize, PathBuf) {
    let name = path.file_stem().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let unusual =
        ["bold", "italic", "oblique", "light", "thin", "black", "mono", "serif", "condensed", "emoji"];
    (unusual.into_iter().filter(|word| name.contains(word)).count(), path.to_owned())
}

impl Fonts {
    fn new(mut files: Vec<PathBuf>) -> Self {
        files.sort_by_cached_key(|path| preference(path));
        files.dedup();
        let known = files.into_iter().flat_map(|path| fonts_of(&path)).collect();
        Self { known, opened: HashMap::new(), found: HashMap::new() }
    }

    fn face_for(&mut self, character: char) -> FoundGlyph {
        if let Some(known) = self.found.get(&character) {
            return *known;
        }
        let found = self.look_for(character);
        self.found.insert(character, found);
        found
    }

    fn look_for(&mut self, character: char) -> FoundGlyph {
        let code = u32::from(character);
        for (number, font) in self.known.iter().enumerate() {
            let after = font.ranges.partition_point(|(first, _)| *first <= code);
            let range = after.checked_sub(1).and_then(|at| font.ranges.get(at));
            if range.is_none_or(|(_, last)| *last < code) {
                continue;
            }
            let face = *self.opened.entry(number).or_insert_with(|| open(font));
            let glyph = face.and_then(|face| {
                let glyph = face.glyph_index(character)?;
                // A glyph without an outline is a bitmap or empty, and cannot be drawn.
                face.outline_glyph(glyph, &mut Nothing).map(|_| (face, glyph))
            });
            if glyph.is_some() {
                return glyph;
            }
        }
        None
    }
}

/// Returns the fonts in a file, each with the characters that it has; empty if the file cannot be read.
fn fonts_of(path: &Path) -> Vec<FontFile> {
    let small = std::fs::metadata(path).is_ok_and(|about| about.len() <= LARGEST_FILE);
    let Some(data) = small.then(|| std::fs::read(path).ok()).flatten() else { return Vec::new() };
    let count = ttf_parser::fonts_in_collection(&data).unwrap_or(1);
    let font = |index| {
        let face = Face::parse(&data, index).ok()?;
        let mut codes = Vec::new();
        for table in face.tables().cmap?.subtables.into_iter().filter(ttf_parser::cmap::Subtable::is_unicode)
        {
            table.codepoints(|code| codes.push(code));
        }
        codes.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for code in codes {
            match ranges.last_mut() {
                Some((_, last)) if code <= last.saturating_add(1) => *last = code,
                _ => ranges.push((code, code)),
            }
        }
        Some(FontFile { path: path.to_owned(), index, ranges })
    };
    (0..count).filter_map(font).collect()
}

/// Reads a font; `None` if its file cannot be read. The memory is never freed, so the font is valid until the
/// process ends.
fn open(font: &FontFile) -> Option<&'static Face<'static>> {
    let data: &'static [u8] = Box::leak(std::fs::read(&font.path).ok()?.into_boxed_slice());
    let face: &'static Face<'static> = Box::leak(Box::new(Face::parse(data, font.index).ok()?));
    Some(face)
}

/// An outline builder that does nothing. It serves to find out whether a glyph has an outline.
struct Nothing;

impl ttf_parser::OutlineBuilder for Nothing {
    fn move_to(&mut self, _: f32, _: f32) {}
    fn line_to(&mut self, _: f32, _: f32) {}
    fn quad_to(&mut self, _: f32, _: f32, _: f32, _: f32) {}
    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {}
    fn close(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_font_is_taken_for_the_characters_it_has() {
        let mut files = Vec::new();
        collect(Path::new(env!("CARGO_MANIFEST_DIR")), 0, &mut files);
        assert_eq!(files.len(), 1, "{files:?}");
        let mut fonts = Fonts::new(files);
        let (face, glyph) = fonts.face_for('θ').unwrap();
        assert_eq!(face.glyph_index('θ'), Some(glyph));
        assert!(fonts.face_for('中').is_none() && fonts.face_for('\u{10ffff}').is_none());
        assert_eq!((fonts.opened.len(), fonts.found.len()), (1, 3));
        assert!(Fonts::new(vec!["no/such.ttf".into()]).face_for('θ').is_none());
    }

    #[test]
    fn upright_fonts_of_usual_weight_come_first() {
        let mut files = ["b/X-Bold.ttf", "b/X-Regular.otf", "a/XSerif-BoldItalic.ttf"].map(PathBuf::from);
        files.sort_by_cached_key(|path| preference(path));
        assert_eq!(files, ["b/X-Regular.otf", "b/X-Bold.ttf", "a/XSerif-BoldItalic.ttf"].map(PathBuf::from));
    }
}
