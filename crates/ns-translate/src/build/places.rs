//! Names the parts of a description in messages.

use std::fmt;

use crate::pyhf::names::quoted;

/// A part of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// The whole description.
    All,
    /// The measurement.
    Measurement,
    /// The settings of a parameter.
    Parameter(&'a str),
    /// A channel.
    Channel(&'a str),
    /// A sample of a channel.
    Sample {
        /// Name of the channel.
        channel: &'a str,
        /// Name of the sample.
        sample: &'a str,
    },
    /// A systematic of a sample.
    Systematic {
        /// Name of the channel.
        channel: &'a str,
        /// Name of the sample.
        sample: &'a str,
        /// Name of the systematic.
        systematic: &'a str,
    },
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("description"),
            Self::Measurement => f.write_str("measurement"),
            Self::Parameter(name) => write!(f, "parameter {}", quoted(name)),
            Self::Channel(channel) => write!(f, "channel {}", quoted(channel)),
            Self::Sample { channel, sample } => {
                write!(f, "channel {}, sample {}", quoted(channel), quoted(sample))
            }
            Self::Systematic { channel, sample, systematic } => {
                write!(
                    f,
                    "channel {}, sample {}, systematic {}",
                    quoted(channel),
                    quoted(sample),
                    quoted(systematic)
                )
            }
        }
    }
}
