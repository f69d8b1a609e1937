//! A progress bar on standard error.

use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use fusebox_compiler::{Advance, Progress};
use fusebox_run::terminal;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time after which a terminal shows a bar. Work that takes less time shows no bar.
const SHORT: Duration = Duration::from_secs(1);
/// Least time between two lines of progress, if standard error is not a terminal.
const LINES: Duration = Duration::from_secs(1);

/// Whether to show progress.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgressChoice {
    /// Show progress and the time left on standard error, even if it is not a terminal
    #[arg(long)]
    pub progress: bool,
}

/// A progress bar, if standard error is a terminal. Otherwise, prints progress as lines if the user
/// requests progress.
#[derive(Clone)]
pub struct ProgressReporter {
    bar: ProgressBar,
    begin: Instant,
    /// Time when the last line was printed; `None` if no lines are printed.
    line: Option<Arc<Mutex<Instant>>>,
}

impl ProgressReporter {
    /// Creates a bar with the label `name`.
    pub fn new(name: &str, choice: &ProgressChoice) -> ProgressReporter {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()).with_prefix(name.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len}, {eta} left: {wide_msg}") {
            bar.set_style(style);
        }
        let begin = Instant::now();
        let line = choice.progress && !stderr().is_terminal();
        ProgressReporter { bar, begin, line: line.then(|| Arc::new(Mutex::new(begin))) }
    }

    /// Adds steps to the total number of steps.
    pub fn expect(&self, steps: usize) {
        self.bar.inc_length(steps as u64);
    }

    /// Adds steps to the number of finished steps.
    pub fn advance(&self, steps: usize) {
        self.bar.inc(steps as u64);
        // If standard error is not a terminal, this draws nothing.
        if self.bar.is_hidden() && self.begin.elapsed() > SHORT {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let Some(Ok(mut last)) = self.line.as_ref().map(|line| line.lock()) else { return };
        if last.elapsed() > LINES {
            *last = Instant::now();
            self.write_line();
        }
    }

    /// Shows a message next to the bar.
    pub fn say(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Removes the bar. If progress is printed as lines, prints a final line.
    pub fn end(&self) {
        self.bar.finish_and_clear();
        if self.line.is_some() {
            self.write_line();
        }
    }

    /// Returns a callback that shows the progress of a compiler.
    pub fn of_compiler(&self) -> Progress {
        let bar = self.clone();
        Progress::to(move |advance| match advance {
            Advance::Begun(steps) => bar.expect(steps),
            Advance::Done(steps) => bar.advance(steps),
            Advance::Pass(..) => {}
        })
    }

    fn write_line(&self) {
        let bar = &self.bar;
        let (name, done, all) = (bar.prefix(), bar.position(), bar.length().unwrap_or(0));
        let time = if bar.is_finished() {
            format!("{} in all", HumanDuration(self.begin.elapsed()))
        } else {
            format!("{} left", HumanDuration(bar.eta()))
        };
        terminal::complain(&format!("{name}: {done}/{all}, {time}"));
    }
}
