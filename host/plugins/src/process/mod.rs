//! Runs plugins in separate processes. For each library, the program starts itself again as a child
//! process that serves the library.
//!
//! Requests and answers are sent as frames. A frame is a length of four bytes, little-endian,
//! followed by the bytes of a request or an answer. The child's first frame is empty, or contains
//! the reason why the child cannot serve.
//!
//! The child is the leader of a process group that contains all processes it starts. One deadline
//! applies to sending a request and receiving its answer. When the deadline passes, or the child
//! ends, the host ends the child's process group. So a plugin that starts processes, holds pipes
//! open or ignores requests cannot make the host wait beyond the deadline.

mod child;
mod confinement;
mod pipe;

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::failure::FailureKind;
use crate::file::PluginFile;
pub use child::{SERVE_COMMAND, ServeError, serve_library};
use pipe::{Pipe, TransferError};

/// Limits of an isolated plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Maximum time for one answer, and for the start of the process.
    pub time: Duration,
    /// Maximum number of bytes of address space. `None` if there is no limit.
    pub memory: Option<u64>,
}

/// A library in a child process. The first request starts the child. If the child dies, the next
/// request starts a new child.
pub struct PluginProcess {
    program: PathBuf,
    library: PluginFile,
    limits: ProcessLimits,
    running: Mutex<Option<RunningChild>>,
}

struct RunningChild {
    child: Child,
    input: Pipe<ChildStdin>,
    output: Pipe<ChildStdout>,
}

impl PluginProcess {
    /// Prepares a process for a library, without starting it. `program` must serve `library` if its
    /// first argument is [`SERVE_COMMAND`].
    pub fn new(program: PathBuf, library: PluginFile, limits: ProcessLimits) -> Self {
        PluginProcess { program, library, limits, running: Mutex::new(None) }
    }

    /// Sends a request to the plugin and returns the answer, of at most `most` bytes.
    ///
    /// # Errors
    /// If the child cannot be started, dies, answers with more than `most` bytes, or does not
    /// answer in time. If an error occurs, the host ends the child.
    pub fn call(&self, request: &[u8], most: usize) -> Result<Vec<u8>, FailureKind> {
        let mut slot = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = match slot.take() {
            Some(running) => running,
            None => self.start()?,
        };
        match running.exchange(request, most, Instant::now() + self.limits.time) {
            Ok(answer) => {
                *slot = Some(running);
                Ok(answer)
            }
            Err(broken) => Err(self.failed(running, broken)),
        }
    }

    fn start(&self) -> Result<RunningChild, FailureKind> {
        let cannot = |error: io::Error| FailureKind::Died {
            how: format!("{} cannot be started: {error}", self.program.display()),
            memory: None,
        };
        let mut command = Command::new(&self.program);
        // The child reads the bytes that were checked here, also after a restart.
        command.arg(SERVE_COMMAND).arg(self.library.path()).arg("--content").arg(self.library.name_of_copy());
        if let Some(memory) = self.limits.memory {
            command.arg("--memory").arg(memory.to_string());
        }
        let deadline = Instant::now() + self.limits.time;
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn();
        let mut running = RunningChild::of(spawned.map_err(cannot)?).map_err(cannot)?;
        // The first frame is empty if the library was loaded. Otherwise the frame contains the
        // reason.
        match running.answer(MOST_REFUSAL_BYTES, deadline) {
            Ok(refusal) if refusal.is_empty() => Ok(running),
            Ok(refusal) => {
                _ = running.end(ExitWait::None);
                Err(FailureKind::Died { how: String::from_utf8_lossy(&refusal).into_owned(), memory: None })
            }
            Err(broken) => Err(self.failed(running, broken)),
        }
    }

    /// Ends the child and returns the reason.
    fn failed(&self, running: RunningChild, broken: TransferError) -> FailureKind {
        match broken {
            TransferError::Late => {
                _ = running.end(ExitWait::None);
                FailureKind::TimedOut(self.limits.time)
            }
            TransferError::TooLong { bytes, most } => {
                _ = running.end(ExitWait::None);
                FailureKind::Limit { what: "the bytes of its answer", found: bytes as u64, most: most as u64 }
            }
            TransferError::Closed => match running.end(ExitWait::Some) {
                Ok(status) => {
                    // A process that runs out of memory aborts, or accesses memory that it did not
                    // get.
                    let starved = matches!(status.signal(), Some(4 | 6 | 7 | 9 | 11)) || status.code() == Some(101);
                    FailureKind::Died { how: describe(status), memory: self.limits.memory.filter(|_| starved) }
                }
                Err(error) => FailureKind::Died { how: error.to_string(), memory: None },
            },
        }
    }
}

/// Maximum number of bytes of the message with which a child refuses to serve.
const MOST_REFUSAL_BYTES: usize = fusebox_core::plugin::limits::MOST_MESSAGE_BYTES;

/// Whether to wait for a child to exit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExitWait {
    /// End the child at once.
    None,
    /// Wait briefly for the exit status of a child that has closed its pipe.
    Some,
}

impl RunningChild {
    fn of(mut child: Child) -> io::Result<RunningChild> {
        let pipes = match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Pipe::new(input).and_then(|input| Ok((input, Pipe::new(output)?))),
            _ => Err(io::Error::other("its pipes are missing")),
        };
        match pipes {
            Ok((input, output)) => Ok(RunningChild { child, input, output }),
            Err(error) => {
                _ = child.kill();
                _ = child.wait();
                Err(error)
            }
        }
    }

    fn exchange(&mut self, request: &[u8], most: usize, deadline: Instant) -> Result<Vec<u8>, TransferError> {
        let RunningChild { child, input, .. } = self;
        input.write_frame(request, deadline, &mut || is_gone(child))?;
        self.answer(most, deadline)
    }

    fn answer(&mut self, most: usize, deadline: Instant) -> Result<Vec<u8>, TransferError> {
        let RunningChild { child, output, .. } = self;
        output.read_frame(most, deadline, &mut || is_gone(child))
    }

    /// Ends the child and its whole group, and returns the child's exit status.
    fn end(mut self, patience: ExitWait) -> io::Result<ExitStatus> {
        for _ in 0..50 {
            if patience == ExitWait::None || is_gone(&self.child) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Kill the group before waiting for the child. The group's id is the child's id, and before
        // the wait no other process can get this id.
        _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        _ = self.child.kill();
        self.child.wait()
    }
}

/// Whether the child has ended. Does not reap the child.
fn is_gone(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

impl Drop for PluginProcess {
    fn drop(&mut self) {
        let slot = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = slot.take() {
            _ = running.end(ExitWait::None);
        }
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "no exit code".into(),
    }
}
