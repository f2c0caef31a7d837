//! Positions of the parts of a text with markup.

use super::Node;

/// Size of a script, as a fraction of the size of the text that it belongs to.
const SMALLER: f64 = 0.7;
/// Smallest size of a script, as a fraction of the font size.
const SMALLEST: f64 = 0.45;
/// Heights of the baselines of scripts above that of their text, in units of its size.
const ABOVE: f64 = 0.38;
const BELOW: f64 = -0.18;

/// Characters of one size on one baseline. Lengths are in units of the font size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// Distance from the start of the text.
    pub(crate) x: f64,
    /// Height of the baseline above that of the text.
    pub(crate) rise: f64,
    /// Size, as a fraction of the font size.
    pub(crate) scale: f64,
    pub(crate) width: f64,
}

/// Returns the pieces of a text and its width. `width` is the width of characters without markup at the font size 1.
pub(crate) fn lay(nodes: &[Node], width: &dyn Fn(&str) -> f64) -> (Vec<Piece>, f64) {
    let mut pieces = Vec::new();
    let end = add(nodes, width, (0.0, 0.0, 1.0), &mut pieces);
    (pieces, end)
}

/// Adds the pieces of `nodes` from a position with a height and a size on. Returns the position after them.
fn add(
    nodes: &[Node],
    width: &dyn Fn(&str) -> f64,
    (x, rise, scale): (f64, f64, f64),
    pieces: &mut Vec<Piece>,
) -> f64 {
    let mut pen = x;
    for node in nodes {
        match node {
            Node::Text(text) => {
                let width = scale * width(text);
                pieces.push(Piece { text: text.clone(), x: pen, rise, scale, width });
                pen += width;
            }
            Node::Scripts { below, above } => {
                let smaller = (SMALLER * scale).max(SMALLEST);
                let start = pen + 0.03 * scale;
                let low = add(below, width, (start, rise + BELOW * scale, smaller), pieces);
                let high = add(above, width, (start, rise + ABOVE * scale, smaller), pieces);
                pen = low.max(high) + 0.03 * scale;
            }
        }
    }
    pen
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn scripts_stand_one_above_the_other() {
        let nodes = parse("$a_{bc}^{d}e$").unwrap_or_default();
        let (pieces, width) = lay(&nodes, &|text| text.chars().count() as f64);
        let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts, ["a", "bc", "d", "e"]);
        assert_eq!(pieces[1].x, pieces[2].x);
        assert!(pieces[1].rise < 0.0 && pieces[2].rise > 0.0 && pieces[1].scale == 0.7);
        assert!((pieces[3].x - (1.0 + 1.4 + 0.06)).abs() < 1e-12 && (width - 3.46).abs() < 1e-12);
    }
}
