//! The progress bar of long work: fits done, rate and time left, on standard error and only on a
//! terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ns_core::Observer;

/// A bar that hears about finished fits.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar for work of some name; silent with `--quiet` and where standard error is no terminal.
    pub(crate) fn new(what: &'static str, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(15));
        let style = ProgressStyle::with_template(
            "{prefix} [{bar:40}] {human_pos}/{human_len} fits, {per_sec}, {eta} left",
        );
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(what);
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar }
    }

    /// Takes the bar away, before anything else is written.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn progress(&self, done: usize, total: usize) {
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
    }
}
