//! Digests of models and data. A result contains the digests of its input.

mod events;

use sha2::{Digest as _, Sha256};

use crate::{Constraint, Effect, Model, Observations};

/// A SHA-256 hash of texts, integers and bit patterns of numbers, which are added one after another.
pub struct Digest(Sha256);

impl Default for Digest {
    fn default() -> Self {
        Self(Sha256::new())
    }
}

impl Digest {
    /// Adds the length of a text and then the text. Because of the length, two texts in a row cannot be mistaken for
    /// one text.
    pub fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// Adds the length of an array and the bit patterns of its numbers.
    pub fn numbers(&mut self, numbers: &[f64]) {
        self.0.update((numbers.len() as u64).to_le_bytes());
        for x in numbers {
            self.0.update(x.to_bits().to_le_bytes());
        }
    }

    /// Adds one integer.
    pub fn integer(&mut self, value: usize) {
        self.0.update((value as u64).to_le_bytes());
    }

    /// Returns the hash as 64 hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Model {
    /// Returns a SHA-256 hash, as hexadecimal text, of everything that determines the likelihood except the
    /// data: names, yields, modifiers, parameters, the parameters of interest and interpolation codes.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut d = Digest::default();
        d.text(&self.interpolation.to_string());
        d.text(&self.measurement);
        d.integer(self.poi().unwrap_or(usize::MAX));
        for poi in self.pois.iter().skip(1) {
            d.integer(*poi);
        }
        for channel in &self.channels {
            d.text(&channel.name);
            d.integer(channel.samples.len());
            for sample in &channel.samples {
                d.text(&sample.name);
                d.numbers(&sample.nominal);
                d.integer(sample.modifiers.len());
                for modifier in &sample.modifiers {
                    d.text(modifier.effect.type_name());
                    d.integer(modifier.first);
                    match &modifier.effect {
                        Effect::HistoSys { lo, hi } => {
                            d.numbers(lo);
                            d.numbers(hi);
                        }
                        Effect::NormSys { lo, hi } => d.numbers(&[*lo, *hi]),
                        Effect::Function { values } => d.values(values),
                        _ => {}
                    }
                }
            }
        }
        for p in &self.parameters {
            d.text(&p.name);
            d.numbers(&[p.init, p.bounds.0, p.bounds.1, f64::from(u8::from(p.fixed))]);
            match p.constraint {
                Constraint::None => d.integer(0),
                Constraint::Gaussian { sigma, .. } => d.numbers(&[sigma]),
                Constraint::Poisson { tau, .. } => d.numbers(&[tau, tau]),
            }
        }
        d.event_model(self);
        d.finish()
    }
}

impl Observations {
    /// Returns a SHA-256 hash of the counts, auxiliary data and events, as hexadecimal text.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut d = Digest::default();
        d.numbers(&self.main);
        d.numbers(&self.aux);
        self.events.iter().for_each(|table| d.events(table));
        d.finish()
    }
}
