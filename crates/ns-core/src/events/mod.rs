//! Event-level models: densities of observables, functions of parameters, and tables of events.

mod channel;
mod convolution;
mod decay;
mod density;
mod evaluate;
mod file_columns;
mod function;
mod given;
mod landau;
mod landau_terms;
mod log_density;
mod penalty;
mod row_groups;
mod special;
mod table;
mod tape;
mod value;
mod weights;

pub use channel::{BinRule, Binning, EventChannel, Observable, Process};
pub use convolution::{Convolution, Projection};
pub use decay::{Decay, DecaySides, Oscillation, Smearing};
pub use density::{Density, Tail};
pub use evaluate::functions as function_values;
pub use file_columns::ParquetEventData;
pub use function::{Function, FunctionForm, InterpolationForm};
pub use given::Given;
pub use log_density::{ConditionalDensity, LogDensity};
pub use penalty::{Measured, Penalty, PenaltyForm};
pub use row_groups::RowGroups;
pub use special::Special;
pub use table::EventTable;
pub use tape::{Op, Tape, TapeError};
pub use value::Value;
pub use weights::WeightSys;
