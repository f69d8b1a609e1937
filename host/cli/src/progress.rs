//! A bar on standard error that says how far the work is.

use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use fusebox_compiler::{Advance, Progress};
use fusebox_run::terminal;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What takes less time has no bar on a terminal.
const SHORT: Duration = Duration::from_secs(1);
/// Time between two lines where there is no terminal.
const LINES: Duration = Duration::from_secs(1);

/// Whether to say how far the work is.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgressChoice {
    /// Say on standard error how far the work is, with the time left, also where that is no
    /// terminal
    #[arg(long)]
    pub progress: bool,
}

/// The bar: on a terminal, or, where it was asked for, as lines.
#[derive(Clone)]
pub struct Bar {
    bar: ProgressBar,
    begin: Instant,
    /// When the last line was written; `None` where no lines are to be.
    line: Option<Arc<Mutex<Instant>>>,
}

impl Bar {
    /// A bar for work on this.
    pub fn new(name: &str, choice: &ProgressChoice) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()).with_prefix(name.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len}, {eta} left: {wide_msg}") {
            bar.set_style(style);
        }
        let begin = Instant::now();
        let line = choice.progress && !stderr().is_terminal();
        Bar { bar, begin, line: line.then(|| Arc::new(Mutex::new(begin))) }
    }

    /// So many steps more are to come.
    pub fn expect(&self, steps: usize) {
        self.bar.inc_length(steps as u64);
    }

    /// So many of them are done.
    pub fn advance(&self, steps: usize) {
        self.bar.inc(steps as u64);
        // Where standard error is no terminal this draws nothing.
        if self.bar.is_hidden() && self.begin.elapsed() > SHORT {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let Some(Ok(mut last)) = self.line.as_ref().map(|line| line.lock()) else { return };
        if last.elapsed() > LINES {
            *last = Instant::now();
            self.write_line();
        }
    }

    /// What is being done.
    pub fn say(&self, what: String) {
        self.bar.set_message(what);
    }

    /// The work is over.
    pub fn end(&self) {
        self.bar.finish_and_clear();
        if self.line.is_some() {
            self.write_line();
        }
    }

    /// Of what a compiler tells.
    pub fn of_compiler(&self) -> Progress {
        let bar = self.clone();
        Progress::to(move |advance| match advance {
            Advance::Begun(steps) => bar.expect(steps),
            Advance::Done(steps) => bar.advance(steps),
        })
    }

    fn write_line(&self) {
        let bar = &self.bar;
        let (name, done, all) = (bar.prefix(), bar.position(), bar.length().unwrap_or(0));
        let time = match bar.is_finished() {
            true => format!("{} in all", HumanDuration(self.begin.elapsed())),
            false => format!("{} left", HumanDuration(bar.eta())),
        };
        terminal::complain(&format!("{name}: {done}/{all}, {time}"));
    }
}
