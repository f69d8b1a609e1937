//! The profile that this process records. While this process records a profile, executions run on
//! their calling threads, thunk by thunk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fusebox_runtime::{Buffer, ExecuteOptions, LoadedExecutable, RunError};
use fusebox_workshop::profile::{Recording, StepFacts};

use crate::error::{Answer, Error};

static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);
/// Whether this process records a profile. Executions read this flag without taking the lock.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

fn recording() -> MutexGuard<'static, Option<Recording>> {
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a recording.
pub fn begin() -> Answer {
    let mut recording = recording();
    if recording.is_some() {
        return Err(Error::precondition("a profile is being recorded already: end it first"));
    }
    *recording = Some(Recording::begin());
    IS_ACTIVE.store(true, Ordering::Release);
    Ok(())
}

/// Ends the recording and returns it.
pub fn end() -> Answer<Recording> {
    let ended = recording().take();
    IS_ACTIVE.store(false, Ordering::Release);
    ended.ok_or_else(|| Error::precondition("no profile is being recorded"))
}

/// Whether executions are recorded.
pub fn is_active() -> bool {
    IS_ACTIVE.load(Ordering::Acquire)
}

/// Executes a program on the calling thread, and adds the times of its thunks to the recording.
pub fn execute(
    program: &LoadedExecutable,
    facts: &Arc<[StepFacts]>,
    arguments: &[&Buffer],
    options: &ExecuteOptions<'_>,
) -> Result<Vec<Buffer>, RunError> {
    // The time that the program waits for its arguments is not a time of its thunks.
    arguments.iter().try_for_each(|argument| argument.wait())?;
    let begin = Instant::now();
    let (results, steps) = program.execute_in_steps(arguments, options)?;
    // A thunk of another thread may end after the recording.
    if let Some(recording) = recording().as_mut() {
        recording.add(program, facts, begin, &steps);
    }
    Ok(results)
}
