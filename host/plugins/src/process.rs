//! Plugins in a process of their own: the program starts itself again as a server of one library.
//!
//! Both directions carry frames: four bytes of length, little-endian, then the bytes of a request or answer. The
//! child begins with an empty frame, or with one that says why it cannot serve.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::failure::{FailureKind, LoadError};
use crate::library::PluginLibrary;

/// The hidden subcommand under which the program serves a library: `<program> <SERVE_COMMAND> <library>`.
pub const SERVE_COMMAND: &str = "serve-emitter";

/// No answer is longer.
const LONGEST_FRAME: usize = 1 << 30;

/// A library in a child process. The child is started when it is first asked, and again after it died.
pub struct PluginProcess {
    program: PathBuf,
    library: PathBuf,
    timeout: Duration,
    running: Mutex<Option<Running>>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    answers: Receiver<io::Result<Vec<u8>>>,
}

impl PluginProcess {
    /// `program` serves `library` under [`SERVE_COMMAND`].
    pub fn new(program: PathBuf, library: PathBuf, timeout: Duration) -> Self {
        PluginProcess { program, library, timeout, running: Mutex::new(None) }
    }

    /// Asks the plugin.
    ///
    /// # Errors
    /// If the child cannot be started, dies, or does not answer in time; then it is ended.
    pub fn call(&self, request: &[u8]) -> Result<Vec<u8>, FailureKind> {
        let mut slot = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = match slot.take() {
            Some(running) => running,
            None => self.start()?,
        };
        // A child that died before it read everything is noticed by its missing answer.
        let sent = write_frame(&mut running.input, request);
        match running.answers.recv_timeout(self.timeout) {
            Ok(Ok(answer)) if sent.is_ok() => {
                *slot = Some(running);
                Ok(answer)
            }
            Err(RecvTimeoutError::Timeout) => {
                running.end(Patience::None);
                Err(FailureKind::TimedOut(self.timeout))
            }
            _ => Err(FailureKind::Died(running.end(Patience::Some))),
        }
    }

    fn start(&self) -> Result<Running, FailureKind> {
        let cannot =
            |error: io::Error| FailureKind::Died(format!("{} cannot be started: {error}", self.program.display()));
        let mut child = Command::new(&self.program)
            .arg(SERVE_COMMAND)
            .arg(&self.library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(cannot(io::Error::other("its pipes are missing")));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            loop {
                let answer = read_frame(&mut output);
                let last = answer.is_err();
                if sender.send(answer).is_err() || last {
                    return;
                }
            }
        });
        let running = Running { child, input, answers };
        // The first frame is empty if the library was loaded, else it says why not.
        match running.answers.recv_timeout(self.timeout) {
            Ok(Ok(refusal)) if refusal.is_empty() => Ok(running),
            Ok(Ok(refusal)) => {
                running.end(Patience::None);
                Err(FailureKind::Died(String::from_utf8_lossy(&refusal).into_owned()))
            }
            Err(RecvTimeoutError::Timeout) => {
                running.end(Patience::None);
                Err(FailureKind::TimedOut(self.timeout))
            }
            _ => Err(FailureKind::Died(running.end(Patience::Some))),
        }
    }
}

/// Whether to wait for a child to leave by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// It is to be ended.
    None,
    /// It has closed its pipe and is about to leave; how it leaves is worth a moment.
    Some,
}

impl Running {
    /// Ends the child if it still runs, and says how it ended.
    fn end(mut self, patience: Patience) -> String {
        for _ in 0..50 {
            match self.child.try_wait() {
                Ok(Some(status)) => return describe(status),
                Ok(None) if patience == Patience::Some => std::thread::sleep(Duration::from_millis(10)),
                _ => break,
            }
        }
        _ = self.child.kill();
        self.child.wait().map_or_else(|error| error.to_string(), describe)
    }
}

impl Drop for PluginProcess {
    fn drop(&mut self) {
        let slot = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut running) = slot.take() {
            _ = running.child.kill();
            _ = running.child.wait();
        }
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "no exit code".into(),
    }
}

/// Serves a library over standard input and output until the input ends: the child's side.
///
/// # Errors
/// If the library cannot be loaded, or a pipe breaks.
pub fn serve_library(library: &Path) -> Result<(), ServeError> {
    // What a plugin prints must not get between the frames: it goes to standard error.
    let output = rustix::io::dup(io::stdout()).map_err(io::Error::from)?;
    let mut output = std::fs::File::from(output);
    rustix::stdio::dup2_stdout(io::stderr()).map_err(io::Error::from)?;
    let library = match PluginLibrary::open(library) {
        Ok(library) => library,
        Err(error) => {
            write_frame(&mut output, error.to_string().as_bytes())?;
            return Err(error.into());
        }
    };
    write_frame(&mut output, &[])?;
    let mut input = io::stdin().lock();
    loop {
        match read_frame(&mut input) {
            Ok(request) => write_frame(&mut output, &library.call(&request))?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Why a child stopped serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The library was refused.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A pipe broke.
    #[error("the pipe to the host: {0}")]
    Pipe(#[from] io::Error),
}

fn read_frame(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_FRAME {
        return Err(io::Error::other(format!("a frame of {length} bytes")));
    }
    let mut frame = Vec::new();
    match input.take(length as u64).read_to_end(&mut frame)? == length {
        true => Ok(frame),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn write_frame(output: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(frame)?;
    output.flush()
}
