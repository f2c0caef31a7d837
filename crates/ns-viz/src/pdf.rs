//! Writes a drawing as PDF. A page has the size of the drawing. The glyphs that are used are embedded.

use std::collections::BTreeMap;

use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use subsetter::GlyphRemapper;

use crate::drawing::{Drawing, Item, Segment, Shape};
use crate::error::PictureError;
use crate::font;
use crate::markup;
use crate::text::{Anchor, Style};

/// Number of PDF points (72 per inch) of one CSS pixel (96 per inch).
const POINTS: f64 = 0.75;
/// Number that identifies the object of the first page in the PDF file. Objects that all pages share have smaller
/// numbers.
const FIRST_PAGE: i32 = 32;
const FONT: Name = Name(b"F0");
const FONT_NAME: Name = Name(b"NSVIZA+DejaVuSans");
const ADOBE_IDENTITY: SystemInfo =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The glyphs that a file uses. `remapper` gives each glyph a number in the embedded font. `characters` maps
/// this number to the number of the glyph in the original font and to the glyph's character.
#[derive(Default)]
struct Used {
    remapper: GlyphRemapper,
    characters: BTreeMap<u16, (u16, char)>,
}

impl Drawing {
    /// Returns the picture as a PDF file. The file has several pages if one page would be too large to read.
    ///
    /// # Errors
    /// [`PictureError::Encode`] if the font could not be reduced to the characters used.
    pub fn to_pdf(&self) -> Result<Vec<u8>, PictureError> {
        let mut used = Used::default();
        let sheets: Vec<&Drawing> =
            if self.pages.is_empty() { vec![self] } else { self.pages.iter().collect() };
        let [catalog, pages, font] = [1, 2, 5].map(Ref::new);
        let place = |index: usize| {
            let first =
                FIRST_PAGE.saturating_add(i32::try_from(2 * index).unwrap_or(i32::MAX - FIRST_PAGE - 1));
            (Ref::new(first), Ref::new(first + 1))
        };
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        let count = i32::try_from(sheets.len()).unwrap_or(i32::MAX);
        pdf.pages(pages).kids((0..sheets.len()).map(|index| place(index).0)).count(count);
        for (index, sheet) in sheets.into_iter().enumerate() {
            let (page, contents) = place(index);
            let content = compressed(&sheet.content(&mut used));
            let mut written = pdf.page(page);
            let (width, height) = ((sheet.width * POINTS) as f32, (sheet.height * POINTS) as f32);
            written.media_box(Rect::new(0.0, 0.0, width, height));
            written.parent(pages).contents(contents);
            written.resources().fonts().pair(FONT, font);
            written.finish();
            pdf.stream(contents, &content).filter(Filter::FlateDecode);
        }
        embed(&mut pdf, font, &used)?;
        pdf.document_info(Ref::new(20))
            .title(TextStr(&markup::plain(&self.description)))
            .producer(TextStr("NextStat"));
        Ok(pdf.finish())
    }

    fn content(&self, used: &mut Used) -> Vec<u8> {
        let mut content = Content::new();
        let points = POINTS as f32;
        // After this transformation y grows downwards, as in the drawing.
        content.transform([points, 0.0, 0.0, -points, 0.0, self.height as f32 * points]);
        for item in &self.items {
            match item {
                Item::Shape(shape) => paint(&mut content, shape),
                Item::Text { x, y, text, style } => write(&mut content, (*x, *y), text, style, used),
            }
        }
        content.finish().to_vec()
    }
}

fn share(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

fn paint(content: &mut Content, shape: &Shape) {
    if let Some(fill) = shape.ink.fill {
        content.set_fill_rgb(share(fill.0), share(fill.1), share(fill.2));
    }
    if let Some(stroke) = shape.ink.stroke {
        let colour = stroke.colour;
        content.set_stroke_rgb(share(colour.0), share(colour.1), share(colour.2));
        content.set_line_width(stroke.width as f32);
        let dash = stroke.dash.map(|(on, off)| [on as f32, off as f32]);
        content.set_dash_pattern(dash.into_iter().flatten(), 0.0);
    }
    for segment in &shape.path {
        match *segment {
            Segment::Move(x, y) => content.move_to(x as f32, y as f32),
            Segment::Line(x, y) => content.line_to(x as f32, y as f32),
            Segment::Curve(a, b, c, d, x, y) => {
                content.cubic_to(a as f32, b as f32, c as f32, d as f32, x as f32, y as f32)
            }
            Segment::Close => content.close_path(),
        };
    }
    match (shape.ink.fill, shape.ink.stroke) {
        (Some(_), Some(_)) => content.fill_nonzero_and_stroke(),
        (Some(_), None) => content.fill_nonzero(),
        (None, Some(_)) => content.stroke(),
        (None, None) => content.end_path(),
    };
}

fn write(content: &mut Content, at: (f64, f64), text: &str, style: &Style, used: &mut Used) {
    let (glyphs, width) = font::place(text);
    let start = match style.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -0.5 * width,
        Anchor::End => -width,
    };
    content.begin_text();
    content.set_fill_rgb(share(style.colour.0), share(style.colour.1), share(style.colour.2));
    // A run is a sequence of glyphs of one size on one baseline. An accent is a separate run.
    let mut run: Vec<u8> = Vec::new();
    let mut run_at = (start, 0.0, 1.0);
    let show = |content: &mut Content, run: &mut Vec<u8>, (along, up, scale): (f64, f64, f64)| {
        if !run.is_empty() {
            content.set_font(FONT, (scale * style.size) as f32);
            let (along, up) = (along * style.size, up * style.size);
            let (matrix, x, y) = if style.upwards {
                ([0.0, -1.0, -1.0, 0.0], at.0 - up, at.1 - along)
            } else {
                ([1.0, 0.0, 0.0, -1.0], at.0 + along, at.1 - up)
            };
            content.set_text_matrix([matrix[0], matrix[1], matrix[2], matrix[3], x as f32, y as f32]);
            content.show(Str(run));
            run.clear();
        }
    };
    let mut after_accent = false;
    let mut strange = Vec::new();
    for glyph in glyphs {
        if glyph.system.is_some() {
            // Glyphs of system fonts are drawn as outlines, because not every font may be embedded.
            show(content, &mut run, run_at);
            strange.push(glyph);
            continue;
        }
        let accent = ('\u{300}'..='\u{36f}').contains(&glyph.character);
        if accent || after_accent || run.is_empty() || (glyph.y, glyph.scale) != (run_at.1, run_at.2) {
            show(content, &mut run, run_at);
            run_at = (start + glyph.x, glyph.y, glyph.scale);
        }
        after_accent = accent;
        let number = used.remapper.remap(glyph.glyph.0);
        used.characters.insert(number, (glyph.glyph.0, glyph.character));
        run.extend(number.to_be_bytes());
    }
    show(content, &mut run, run_at);
    content.end_text();
    for glyph in strange {
        let (along, up) = ((start + glyph.x) * style.size, glyph.y * style.size);
        let origin = if style.upwards { (at.0 - up, at.1 - along) } else { (at.0 + along, at.1 - up) };
        let mut path =
            GlyphPath { content, origin, size: style.size, upwards: style.upwards, last: (0.0, 0.0) };
        font::outline(&glyph, &mut path);
        content.fill_nonzero();
    }
}

/// Writes the outline of a glyph as a path of the page. The received outline is in units of the font size,
/// with y upwards.
struct GlyphPath<'a> {
    content: &'a mut Content,
    origin: (f64, f64),
    size: f64,
    upwards: bool,
    last: (f32, f32),
}

impl GlyphPath<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (along, up) = (f64::from(x) * self.size, f64::from(y) * self.size);
        let (x, y) = if self.upwards {
            (self.origin.0 - up, self.origin.1 - along)
        } else {
            (self.origin.0 + along, self.origin.1 - up)
        };
        (x as f32, y as f32)
    }
}

impl ttf_parser::OutlineBuilder for GlyphPath<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.last = self.at(x, y);
        self.content.move_to(self.last.0, self.last.1);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.last = self.at(x, y);
        self.content.line_to(self.last.0, self.last.1);
    }

    fn quad_to(&mut self, a: f32, b: f32, x: f32, y: f32) {
        // PDF has cubic curves only.
        let (control, end, last) = (self.at(a, b), self.at(x, y), self.last);
        let toward = |from: (f32, f32)| {
            (from.0 + 2.0 / 3.0 * (control.0 - from.0), from.1 + 2.0 / 3.0 * (control.1 - from.1))
        };
        let (one, two) = (toward(last), toward(end));
        self.content.cubic_to(one.0, one.1, two.0, two.1, end.0, end.1);
        self.last = end;
    }

    fn curve_to(&mut self, a: f32, b: f32, c: f32, d: f32, x: f32, y: f32) {
        let (one, two, end) = (self.at(a, b), self.at(c, d), self.at(x, y));
        self.content.cubic_to(one.0, one.1, two.0, two.1, end.0, end.1);
        self.last = end;
    }

    fn close(&mut self) {
        self.content.close_path();
    }
}

fn embed(pdf: &mut Pdf, font: Ref, used: &Used) -> Result<(), PictureError> {
    let refused = |message: String| PictureError::Encode { format: "PDF", message };
    let [cid, descriptor, file, names] = [6, 7, 8, 9].map(Ref::new);
    let face = font::face().ok_or_else(|| refused("the font is damaged".into()))?;
    let program =
        subsetter::subset(font::FILE, 0, &used.remapper).map_err(|error| refused(error.to_string()))?;
    let thousandth = 1000.0 / f32::from(face.units_per_em());

    pdf.type0_font(font)
        .base_font(FONT_NAME)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(cid)
        .to_unicode(names);
    let mut cid_font = pdf.cid_font(cid);
    cid_font.subtype(CidFontType::Type2).base_font(FONT_NAME).system_info(ADOBE_IDENTITY);
    cid_font.font_descriptor(descriptor).cid_to_gid_map_predefined(Name(b"Identity")).default_width(0.0);
    let mut widths = cid_font.widths();
    for (number, (glyph, _)) in &used.characters {
        let advance = face.glyph_hor_advance(ttf_parser::GlyphId(*glyph)).unwrap_or(0);
        widths.consecutive(*number, [f32::from(advance) * thousandth]);
    }
    widths.finish();
    cid_font.finish();

    let bounds = face.global_bounding_box();
    let [left, low, right, high] =
        [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|edge| f32::from(edge) * thousandth);
    pdf.font_descriptor(descriptor)
        .name(FONT_NAME)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(left, low, right, high))
        .italic_angle(0.0)
        .ascent(f32::from(face.ascender()) * thousandth)
        .descent(f32::from(face.descender()) * thousandth)
        .cap_height(729.0)
        .stem_v(90.0)
        .font_file2(file);
    let mut stream = compressed(&program);
    pdf.stream(file, &stream)
        .filter(Filter::FlateDecode)
        .pair(Name(b"Length1"), i32::try_from(program.len()).unwrap_or(i32::MAX));

    let mut map = UnicodeCmap::new(Name(b"NextStat-Unicode"), ADOBE_IDENTITY);
    for (number, (_, character)) in &used.characters {
        map.pair(*number, *character);
    }
    stream = compressed(&map.finish());
    pdf.stream(names, &stream).filter(Filter::FlateDecode);
    Ok(())
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6)
}
