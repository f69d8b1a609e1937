//! Shows the progress of long work in a line on standard error.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stderr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fusebox_compiler::{Advance, Progress};

/// Environment variable that asks for the progress line even if standard error is not a terminal.
const VARIABLE: &str = "FUSEBOX_PROGRESS";
/// Duration of work after which the progress line appears.
const LONG: Duration = Duration::from_secs(2);
/// Time between two updates of the line on a terminal.
const UPDATE: Duration = Duration::from_millis(250);

/// The progress line of a piece of work. If the work takes longer than `LONG`, a thread shows the
/// state of the work in the line. The line vanishes when this value is dropped.
pub struct ProgressLine(Option<Arc<Work>>);

struct Work {
    name: &'static str,
    begin: Instant,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The work that is being done now.
    now: String,
    /// Number of completed steps, and number of all steps.
    steps: (usize, usize),
    has_ended: bool,
    is_shown: bool,
}

impl ProgressLine {
    /// Begins a piece of work. The work has a progress line only if standard error is a terminal or
    /// the user asks for the line.
    pub fn begin(name: &'static str) -> ProgressLine {
        let is_wanted = stderr().is_terminal() || std::env::var_os(VARIABLE).is_some_and(|value| value == "1");
        if !is_wanted {
            return ProgressLine(None);
        }
        let work = Arc::new(Work { name, begin: Instant::now(), state: Mutex::default(), ended: Condvar::new() });
        let shown = Arc::clone(&work);
        // Without a thread there is no line, but the work is done.
        let thread = thread::Builder::new().name("fusebox progress".into()).spawn(move || shown.show());
        ProgressLine(thread.ok().map(|_| work))
    }

    /// Changes the text.
    pub fn say(&self, now: String) {
        self.0.iter().for_each(|work| work.lock().now.clone_from(&now));
    }

    /// Returns a callback that shows the progress of a compiler.
    pub fn of_compiler(&self) -> Progress {
        let Some(work) = self.0.clone() else { return Progress::default() };
        /// Number of steps for each kernel.
        const STEPS: usize = 3;
        Progress::to(move |advance| {
            let mut state = work.lock();
            match advance {
                Advance::Pass(number, all, name) => state.now = format!("pass {number} of {all} ({name})"),
                Advance::Begun(steps) => state.steps.1 += steps,
                Advance::Done(steps) => state.steps.0 += steps,
            }
            let (done, all) = (state.steps.0 / STEPS, state.steps.1.div_ceil(STEPS));
            if all > 0 {
                state.now = format!("kernel {} of {all}", (done + 1).min(all));
            }
        })
    }
}

impl Work {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the state of the work at intervals until the work has ended.
    fn show(&self) {
        let is_terminal = stderr().is_terminal();
        let mut wait = LONG;
        let mut state = self.lock();
        let mut last = String::new();
        loop {
            let waited = self.ended.wait_timeout_while(state, wait, |state| !state.has_ended);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.has_ended {
                break;
            }
            state.is_shown = true;
            let mut line = format!("fusebox: {}: {}", self.name, state.now);
            if is_terminal {
                let _ = write!(line, ", {} s", self.begin.elapsed().as_secs());
                let _ = stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
                wait = UPDATE;
            } else if line != last {
                let _ = stderr().write_all(format!("{line}\n").as_bytes());
                last = line;
            }
        }
        if state.is_shown && is_terminal {
            let _ = stderr().write_all(b"\r\x1b[K");
        }
        state.is_shown = false;
        self.ended.notify_all();
    }
}

impl Drop for ProgressLine {
    /// Waits until the line has vanished, so that it does not hide other output.
    fn drop(&mut self) {
        let Some(work) = &self.0 else { return };
        let mut state = work.lock();
        state.has_ended = true;
        work.ended.notify_all();
        let vanished = work.ended.wait_while(state, |state| state.is_shown);
        drop(vanished.unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use fusebox_compiler::Advance;

    use super::{ProgressLine, State, Work};
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Instant;

    #[test]
    fn the_line_names_passes_and_then_kernels() {
        let (state, ended) = (Mutex::new(State::default()), Condvar::new());
        let line = ProgressLine(Some(Arc::new(Work { name: "compiling", begin: Instant::now(), state, ended })));
        let progress = line.of_compiler();
        let now = || line.0.as_ref().unwrap().lock().now.clone();
        progress.tell(Advance::Pass(3, 40, "simplify"));
        assert_eq!(now(), "pass 3 of 40 (simplify)");
        progress.tell(Advance::Begun(6));
        assert_eq!(now(), "kernel 1 of 2");
        progress.tell(Advance::Done(3));
        assert_eq!(now(), "kernel 2 of 2");
        progress.tell(Advance::Done(3));
        assert_eq!(now(), "kernel 2 of 2");
        line.say("other".into());
        assert_eq!(now(), "other");
    }
}
