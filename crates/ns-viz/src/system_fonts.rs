//! Fonts of the system, for characters that the font of the pictures lacks: names in Chinese, Japanese or
//! Korean. They are looked for when the first such character is met, and then once per process.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use fontdb::{Database, FaceInfo, ID, Style};
use ttf_parser::{Face, GlyphId};

/// The fonts in order of preference, those opened, and what was found for each character.
struct Fonts {
    database: Database,
    order: Vec<ID>,
    opened: HashMap<ID, Option<&'static Face<'static>>>,
    found: HashMap<char, Option<(&'static Face<'static>, GlyphId)>>,
}

static FONTS: LazyLock<Mutex<Fonts>> = LazyLock::new(|| {
    let mut database = Database::new();
    database.load_system_fonts();
    Mutex::new(Fonts::new(database))
});

/// A font that has the character, and its glyph.
pub(crate) fn face_for(character: char) -> Option<(&'static Face<'static>, GlyphId)> {
    FONTS.lock().unwrap_or_else(PoisonError::into_inner).face_for(character)
}

impl Fonts {
    fn new(database: Database) -> Self {
        let mut faces: Vec<&FaceInfo> = database.faces().collect();
        // Upright, of usual weight and without serifs, as the other labels; then by name, so that the
        // choice does not depend on the order of files in a folder.
        faces.sort_by_key(|face| {
            let sans = face.post_script_name.contains("Sans") || face.post_script_name.contains("Gothic");
            let weight = face.weight.0.abs_diff(400);
            (face.style != Style::Normal, face.monospaced, weight, !sans, face.post_script_name.clone())
        });
        let order = faces.into_iter().map(|face| face.id).collect();
        Self { database, order, opened: HashMap::new(), found: HashMap::new() }
    }

    fn face_for(&mut self, character: char) -> Option<(&'static Face<'static>, GlyphId)> {
        if let Some(known) = self.found.get(&character) {
            return *known;
        }
        let found = self.look_for(character);
        self.found.insert(character, found);
        found
    }

    fn look_for(&mut self, character: char) -> Option<(&'static Face<'static>, GlyphId)> {
        for id in &self.order {
            let has = |data: &[u8], index: u32| {
                let face = Face::parse(data, index).ok()?;
                let glyph = face.glyph_index(character)?;
                // Bitmaps and coloured glyphs cannot be drawn.
                face.outline_glyph(glyph, &mut Nothing).map(|_| glyph)
            };
            let Some(glyph) = self.database.with_face_data(*id, has).flatten() else { continue };
            let open = |data: &[u8], index: u32| {
                // Kept until the process ends, one copy of each font in use.
                let kept: &'static [u8] = Box::leak(data.to_vec().into_boxed_slice());
                let face: &'static Face<'static> = Box::leak(Box::new(Face::parse(kept, index).ok()?));
                Some(face)
            };
            let database = &self.database;
            let face =
                *self.opened.entry(*id).or_insert_with(|| database.with_face_data(*id, open).flatten());
            if let Some(face) = face {
                return Some((face, glyph));
            }
        }
        None
    }
}

/// Looks whether a glyph has an outline.
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
        let mut database = Database::new();
        database.load_font_data(crate::font::FILE.to_vec());
        let mut fonts = Fonts::new(database);
        let (face, glyph) = fonts.face_for('θ').unwrap();
        assert_eq!(face.glyph_index('θ'), Some(glyph));
        assert!(fonts.face_for('中').is_none());
        assert_eq!((fonts.opened.len(), fonts.found.len()), (1, 2));
        assert!(Fonts::new(Database::new()).face_for('θ').is_none(), "a system without fonts");
    }
}
