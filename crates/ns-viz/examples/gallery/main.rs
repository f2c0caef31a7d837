//! Draws all pictures from invented inputs: `cargo run -p ns-viz --example gallery -- FOLDER`.
//!
//! The typical pictures are written as SVG, PNG and PDF; `docs/plots` contains the SVG and PNG files. The
//! pictures that are hard to draw are written as SVG and PNG.

mod inputs;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".into()));
    std::fs::create_dir_all(folder.join("hard"))?;
    for (name, drawing) in inputs::typical() {
        let drawing = drawing?;
        drawing.save(folder.join(format!("{name}.svg")))?;
        drawing.save(folder.join(format!("{name}.pdf")))?;
        std::fs::write(folder.join(format!("{name}.png")), drawing.to_png(1.0)?)?;
    }
    for (name, drawing) in inputs::hard() {
        let drawing = drawing?;
        drawing.save(folder.join("hard").join(format!("{name}.svg")))?;
        std::fs::write(folder.join("hard").join(format!("{name}.png")), drawing.to_png(1.0)?)?;
    }
    Ok(())
}
