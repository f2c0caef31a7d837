//! Methods for the uncertainties of fits of weighted events.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The method for the uncertainties of a fit of weighted events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum WeightedUncertainties {
    /// The inverse Hessian, as for events without weights.
    Hesse,
    /// `V D V`, where `V` is the inverse Hessian and `D` is the covariance matrix of the gradient. Asymptotically
    /// correct.
    Sandwich,
    /// `V H' V`, where `V` is the inverse Hessian and `H'` is the Hessian of `-ln L` with squared event weights.
    SumW2,
}

impl WeightedUncertainties {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Hesse, Self::Sandwich, Self::SumW2];

    /// Returns the name of the method on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hesse => "hesse",
            Self::Sandwich => "sandwich",
            Self::SumW2 => "sumw2",
        }
    }
}

impl fmt::Display for WeightedUncertainties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WeightedUncertainties {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| {
            format!("unknown method '{text}' for the uncertainties of weighted events; use \"sandwich\", \"sumw2\" or \"hesse\"")
        })
    }
}
