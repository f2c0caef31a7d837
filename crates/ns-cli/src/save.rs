//! Saves toys while they are run: the flags, and writing a run to its file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ns_core::{Control, Model, Session};
use ns_inference::InferenceError;
use ns_inference::report::Part;
use ns_inference::toys::store::{Recording, StoreError, StoredRow, ToyDestination};
use ns_inference::toys::{
    FitRowSink, FitToyRow, FitToysHeader, FitToysTest, Hypothesis, RowSink, Shard, ToyHeader, ToyRow, ToyRun,
    ToyTest,
};

use crate::error::CliError;
use crate::output::distinct;

/// Which toys are run and where they are kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Toys")]
pub(crate) struct SaveArgs {
    /// Run only part K of N of the toys; `merge-toys` puts saved parts together
    #[arg(long, value_name = "K/N", default_value_t = Shard::WHOLE, hide_default_value = true)]
    shard: Shard,
    /// Keep every toy in a Parquet file; until it is finished, in pieces in the folder FILE.parts
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Continue a run that was saved and killed or interrupted, with what is missing; begins it if there
    /// is nothing yet
    #[arg(long, requires = "save")]
    resume: bool,
    /// Write a piece after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, requires = "save",
          allow_negative_numbers = true, value_parser = seconds)]
    save_every: f64,
    /// Toys handed to the device at a time; no number depends on it. A killed run loses one such batch
    /// [default: what takes a few seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
}

/// Reads a time.
fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=86_400.0).contains(value));
    value.ok_or_else(|| format!("'{text}' is no number of seconds between 0 and 86400"))
}

impl SaveArgs {
    /// Which part of the toys is run.
    pub(crate) fn shard(&self) -> Shard {
        self.shard
    }

    /// Toys handed to the device at a time.
    pub(crate) fn batch(&self) -> Option<u64> {
        self.batch
    }

    /// Claims the path of the file, before any work.
    ///
    /// # Errors
    /// If it cannot be written, if another run uses it, or if the result goes to the same path.
    pub(crate) fn claim(&self, result: Option<&Path>) -> Result<Option<ToyDestination>, CliError> {
        distinct([("--output", result), ("--save", self.save.as_deref())])?;
        Ok(self.save.as_ref().map(|path| ToyDestination::claim(path, self.resume)).transpose()?)
    }

    /// Runs the missing toys and hands over all rows, including those of an earlier run.
    ///
    /// # Errors
    /// If the device fails or the file cannot be written.
    pub(crate) fn run<'a, T: Toys<'a>>(
        &self,
        place: Option<ToyDestination>,
        mut test: T,
        (model, session): (&'a Model, &'a dyn Session),
        control: Control<'_>,
        take: &mut dyn FnMut(&[T::Row]),
    ) -> Result<Done, CliError> {
        let mut done = Done { shard: T::Row::shard(test.header()), ..Done::default() };
        let run = if let Some(place) = place {
            let mut recording = place.begin::<T::Row>(test.header())?;
            recording.set_every(Duration::from_secs_f64(self.save_every));
            let there = recording.n_there();
            if there > 0 {
                // The first part's generating point, to the last bit.
                test = T::from_header(model, session, recording.header().clone(), control)?;
                test.set_batch(self.batch);
            }
            let missing = recording.missing();
            let mut saver = Saver { recording: &mut recording, failure: None };
            let run = test.run(&missing, control, &mut saver);
            let run = match saver.failure {
                Some(failure) => return Err(failure.into()),
                None => run?,
            };
            done.earlier = there;
            let mut rows = 0;
            recording.finish(|some| {
                rows += some.len() as u64;
                take(some);
                Ok::<_, StoreError>(())
            })?;
            done.rows = rows;
            run
        } else {
            let all = test.everything();
            let mut direct = Direct { take, rows: 0 };
            let run = test.run(&all, control, &mut direct)?;
            done.rows = direct.rows;
            run
        };
        if run.interrupted && done.rows == 0 {
            return Err(InferenceError::Cancelled.into());
        }
        done.saved = self.save.is_some();
        done.interrupted = run.interrupted;
        done.toys_per_s = (run.n_rows > 0 && run.wall_s > 0.0).then(|| run.n_rows as f64 / run.wall_s);
        Ok(done)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    shard: Shard,
    saved: bool,
    /// Rows of an earlier run.
    earlier: u64,
    rows: u64,
    pub(crate) interrupted: bool,
    /// Toys of this run.
    pub(crate) toys_per_s: Option<f64>,
}

impl Done {
    /// Warnings about the run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut list = Vec::new();
        if self.interrupted {
            let how = if self.saved { "; continue with --resume" } else { "" };
            list.push(format!("interrupted: only the toys done by then are counted{how}"));
        }
        if self.shard != Shard::WHOLE {
            let how = if self.saved { "; merge-toys gives those of the whole run" } else { "" };
            list.push(format!("these are the numbers of shard {} alone{how}", self.shard));
        }
        list
    }

    /// Where the toys come from, as text; nothing if all of them were run now.
    pub(crate) fn about(&self) -> Option<Part> {
        let text = || format!("{} of {} toys from an earlier run", self.earlier, self.rows);
        (self.earlier > 0).then(|| Part::Text(text()))
    }
}

/// The common interface of both kinds of runs.
pub(crate) trait Toys<'a>: Sized {
    /// The row that is kept of a toy.
    type Row: StoredRow;

    /// The header, which determines the numbers of the toys.
    fn header(&self) -> &<Self::Row as StoredRow>::Header;

    /// Takes up a run that was begun earlier.
    fn from_header(
        model: &'a Model,
        session: &'a dyn Session,
        header: <Self::Row as StoredRow>::Header,
        control: Control<'_>,
    ) -> Result<Self, InferenceError>;

    /// Toys handed to the device at a time.
    fn set_batch(&mut self, batch: Option<u64>);

    /// All toys of the shard, by series.
    fn everything(&self) -> Vec<(usize, Range<u64>)>;

    /// Runs toys.
    fn run(
        &self,
        ranges: &[(usize, Range<u64>)],
        control: Control<'_>,
        sink: &mut dyn Take<Self::Row>,
    ) -> Result<ToyRun, InferenceError>;
}

/// Receives rows of either kind.
pub(crate) trait Take<R> {
    /// Receives further rows.
    fn take(&mut self, rows: &[R]) -> Result<(), InferenceError>;
}

/// Hands rows on.
struct Direct<'a, R> {
    take: &'a mut dyn FnMut(&[R]),
    rows: u64,
}

impl<R> Take<R> for Direct<'_, R> {
    fn take(&mut self, rows: &[R]) -> Result<(), InferenceError> {
        self.rows += rows.len() as u64;
        (self.take)(rows);
        Ok(())
    }
}

/// Saves rows, and keeps the error if that fails.
struct Saver<'a, R: StoredRow> {
    recording: &'a mut Recording<R>,
    failure: Option<StoreError>,
}

impl<R: StoredRow> Take<R> for Saver<'_, R> {
    fn take(&mut self, rows: &[R]) -> Result<(), InferenceError> {
        self.recording.add(rows).map_err(|error| {
            self.failure = Some(error);
            InferenceError::Cancelled
        })
    }
}

/// Adapts one kind of sink to the other.
struct Sink<'a, R>(&'a mut dyn Take<R>);

impl RowSink for Sink<'_, ToyRow> {
    fn rows(&mut self, rows: &[ToyRow]) -> Result<(), InferenceError> {
        self.0.take(rows)
    }
}

impl FitRowSink for Sink<'_, FitToyRow> {
    fn rows(&mut self, rows: &[FitToyRow]) -> Result<(), InferenceError> {
        self.0.take(rows)
    }
}

impl<'a> Toys<'a> for ToyTest<'a> {
    type Row = ToyRow;

    fn header(&self) -> &ToyHeader {
        self.header()
    }

    fn from_header(
        model: &'a Model,
        session: &'a dyn Session,
        header: ToyHeader,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        Self::from_header(model, session, header, control)
    }

    fn set_batch(&mut self, batch: Option<u64>) {
        self.set_batch(batch);
    }

    fn everything(&self) -> Vec<(usize, Range<u64>)> {
        self.ranges().into_iter().map(|(h, range)| (usize::from(h.number()), range)).collect()
    }

    fn run(
        &self,
        ranges: &[(usize, Range<u64>)],
        control: Control<'_>,
        sink: &mut dyn Take<ToyRow>,
    ) -> Result<ToyRun, InferenceError> {
        let ranges: Vec<(Hypothesis, Range<u64>)> = ranges
            .iter()
            .filter_map(|(series, range)| {
                let number = u8::try_from(*series).ok()?;
                Some((Hypothesis::from_number(number)?, range.clone()))
            })
            .collect();
        self.run(&ranges, control, &mut Sink(sink))
    }
}

impl<'a> Toys<'a> for FitToysTest<'a> {
    type Row = FitToyRow;

    fn header(&self) -> &FitToysHeader {
        self.header()
    }

    fn from_header(
        model: &'a Model,
        session: &'a dyn Session,
        header: FitToysHeader,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        Self::from_header(model, session, header, control)
    }

    fn set_batch(&mut self, batch: Option<u64>) {
        self.set_batch(batch);
    }

    fn everything(&self) -> Vec<(usize, Range<u64>)> {
        vec![(0, self.range())]
    }

    fn run(
        &self,
        ranges: &[(usize, Range<u64>)],
        control: Control<'_>,
        sink: &mut dyn Take<FitToyRow>,
    ) -> Result<ToyRun, InferenceError> {
        let ranges: Vec<Range<u64>> = ranges.iter().map(|(_, range)| range.clone()).collect();
        self.run(&ranges, control, &mut Sink(sink))
    }
}
