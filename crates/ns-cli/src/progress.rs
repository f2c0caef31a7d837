//! The progress bar of long analyses. It shows the number of finished fits (or points), their rate and the remaining
//! time. It is written to standard error, if this is a terminal.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use ns_core::Observer;

/// How long an analysis runs without a bar. Most analyses end before.
const QUIET: Duration = Duration::from_millis(500);

/// A bar that shows the number of finished fits.
pub(crate) struct Bar {
    bar: ProgressBar,
    visible: bool,
    /// Ensures that the bar is shown once, at the first report after [`QUIET`] with a total above zero.
    shown: Once,
    started: Instant,
    /// Largest number of finished fits that was reported so far. Other threads may report a smaller number later.
    done: AtomicU64,
}

impl Bar {
    /// Creates a bar that follows the text `what`. The bar stays hidden if `quiet` is set or standard error
    /// is not a terminal. It counts toys if the analysis is called so, otherwise fits.
    pub(crate) fn new(what: &'static str, quiet: bool) -> Self {
        Self::counting(what, if what == "toys" { "toys" } else { "fits" }, quiet)
    }

    /// Creates a bar like [`Self::new`] that counts `units`, such as points, instead of fits.
    pub(crate) fn counting(what: &'static str, units: &str, quiet: bool) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        let bar = ProgressBar::hidden();
        if visible {
            let units = if units == what { String::new() } else { format!(" {units}") };
            let template =
                format!("{{prefix}} [{{bar:40}}] {{human_pos}}/{{human_len}}{units}, {{rate}}, {{eta}} left");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                let rate = |state: &ProgressState, out: &mut dyn Write| {
                    let _ = write!(out, "{:.0}/s", state.per_sec());
                };
                bar.set_style(style.progress_chars("=> ").with_key("rate", rate));
            }
            bar.set_prefix(what);
        }
        Self { bar, visible, shown: Once::new(), started: Instant::now(), done: AtomicU64::new(0) }
    }

    /// Removes the bar from the terminal. Call this before anything else is printed.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn progress(&self, done: usize, total: usize) {
        if !self.visible || total == 0 {
            return;
        }
        self.bar.set_length(total as u64);
        let done = done as u64;
        // Threads may report in any order. Their increments add up to the largest number reported.
        let before = self.done.fetch_max(done, Ordering::Relaxed);
        if done > before {
            self.bar.inc(done - before);
        }
        if self.started.elapsed() < QUIET {
            return;
        }
        self.shown.call_once(|| {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(15));
            self.bar.enable_steady_tick(Duration::from_millis(250));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{AtomicU64, Bar, Instant, Observer, Once, ProgressBar, QUIET};

    fn bar(started: Instant) -> Bar {
        Bar {
            bar: ProgressBar::hidden(),
            visible: true,
            shown: Once::new(),
            started,
            done: AtomicU64::new(0),
        }
    }

    #[test]
    fn reports_in_any_order_never_move_it_back() {
        let bar = bar(Instant::now());
        bar.progress(0, 0);
        let positions = [2, 1, 4, 3, 4].map(|done| {
            bar.progress(done, 10);
            bar.bar.position()
        });
        assert_eq!(positions, [2, 2, 4, 4, 4]);
        bar.finish();
    }

    #[test]
    fn it_is_shown_after_half_a_second() {
        let early = bar(Instant::now());
        early.progress(1, 10);
        assert!(!early.shown.is_completed());
        let Some(before) = Instant::now().checked_sub(2 * QUIET) else { return };
        let late = bar(before);
        late.progress(0, 0);
        assert!(!late.shown.is_completed());
        late.progress(1, 10);
        assert!(late.shown.is_completed());
        late.finish();
    }
}
