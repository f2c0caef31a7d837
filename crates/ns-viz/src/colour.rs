//! Colours that people with colour blindness can distinguish, and colour scales.
//!
//! The palette is that of Okabe and Ito, *Color Universal Design* (2008).

use serde::{Deserialize, Serialize};

/// An opaque colour, one byte per channel (sRGB).
///
/// All colours are opaque, because transparency looks different in every viewer. [`Colour::mix`] computes the
/// colour of overlapping shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

pub(crate) const BLACK: Colour = Colour(0, 0, 0);
pub(crate) const WHITE: Colour = Colour(255, 255, 255);
pub(crate) const GREY: Colour = Colour(110, 110, 110);
pub(crate) const LIGHT_GREY: Colour = Colour(214, 214, 214);
pub(crate) const BLUE: Colour = Colour(0, 114, 178);
pub(crate) const ORANGE: Colour = Colour(230, 159, 0);
pub(crate) const VERMILION: Colour = Colour(213, 94, 0);
/// Colour of the band of one standard deviation, the usual green of limit plots.
pub(crate) const BAND_ONE: Colour = Colour(0, 200, 80);
pub(crate) const BAND_TWO: Colour = Colour(255, 221, 51);

/// Fill colours of the background samples of a stack, in order of use. Red is reserved for signals.
const SAMPLES: [Colour; 10] = [
    Colour(86, 180, 233),
    Colour(230, 159, 0),
    Colour(0, 158, 115),
    Colour(240, 228, 66),
    Colour(204, 121, 167),
    Colour(0, 114, 178),
    Colour(170, 170, 170),
    Colour(148, 103, 60),
    Colour(170, 215, 190),
    Colour(120, 94, 200),
];
const SIGNALS: [Colour; 3] = [Colour(213, 54, 40), Colour(140, 20, 80), Colour(250, 130, 110)];

/// Returns the colour of the background sample with this index. From the eleventh sample on, the colours
/// repeat in other shades.
pub(crate) fn sample(index: usize) -> Colour {
    shade(&SAMPLES, index)
}

/// Returns the colour of the signal sample with this index.
pub(crate) fn signal(index: usize) -> Colour {
    shade(&SIGNALS, index)
}

fn shade(palette: &[Colour], index: usize) -> Colour {
    let base = palette.get(index % palette.len().max(1)).copied().unwrap_or(GREY);
    let round = (index / palette.len().max(1)).min(3);
    base.mix(if round % 2 == 1 { WHITE } else { BLACK }, 0.28 * (round as f64 / 2.0).ceil())
}

impl Colour {
    /// Mixes this colour with another one. `amount` is the fraction of `other`, from 0 to 1.
    pub(crate) fn mix(self, other: Colour, amount: f64) -> Colour {
        let channel = |own: u8, theirs: u8| {
            let mixed = f64::from(own) + (f64::from(theirs) - f64::from(own)) * amount.clamp(0.0, 1.0);
            mixed.round() as u8
        };
        Colour(channel(self.0, other.0), channel(self.1, other.1), channel(self.2, other.2))
    }

    /// Returns black or white, whichever is easier to read on this colour.
    pub(crate) fn readable_ink(self) -> Colour {
        let luminance = 0.2126 * f64::from(self.0) + 0.7152 * f64::from(self.1) + 0.0722 * f64::from(self.2);
        if luminance > 125.0 { BLACK } else { WHITE }
    }

    /// Returns the colour in hexadecimal form, such as `#0072b2`.
    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Returns the colour of a value from -1 to 1 in a scale from blue (-1) through white (0) to red (1).
pub(crate) fn diverging(value: f64) -> Colour {
    along(
        &[
            Colour(8, 64, 140),
            Colour(66, 146, 198),
            Colour(186, 214, 235),
            WHITE,
            Colour(252, 200, 175),
            Colour(225, 90, 60),
            Colour(150, 10, 25),
        ],
        0.5 * (value + 1.0),
    )
}

/// Returns the colour of a value from 0 to 1 in a scale from blue (0) to nearly white (1). Black lines are
/// visible on all these colours.
pub(crate) fn sequential(value: f64) -> Colour {
    along(
        &[Colour(120, 178, 220), Colour(173, 208, 234), Colour(214, 230, 244), Colour(250, 252, 254)],
        value,
    )
}

fn along(stops: &[Colour], value: f64) -> Colour {
    let position = value.clamp(0.0, 1.0) * stops.len().saturating_sub(1) as f64;
    let below = position.floor() as usize;
    let stop = |index: usize| stops.get(index.min(stops.len().saturating_sub(1))).copied().unwrap_or(WHITE);
    stop(below).mix(stop(below + 1), position - position.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_hit_their_ends_and_never_fail() {
        assert_eq!(diverging(0.0), WHITE);
        assert_eq!(diverging(-1.0), Colour(8, 64, 140));
        assert_eq!(diverging(7.0), Colour(150, 10, 25));
        assert_eq!(sequential(f64::NAN), sequential(f64::NAN));
    }

    #[test]
    fn forty_samples_have_forty_colours() {
        let mut seen: Vec<Colour> = (0..40).map(sample).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 40);
    }
}
