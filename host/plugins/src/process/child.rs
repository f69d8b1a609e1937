//! The code of the child process, which serves a library over standard input and output.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, Signal, getpgrp, getpid, kill_current_process_group, setrlimit};

use crate::failure::LoadError;
use crate::file::PluginFile;
use crate::library::PluginLibrary;
use crate::process::confinement::{Phase, confine};

/// The hidden subcommand with which the program serves a library: `<program> <SERVE_COMMAND>
/// <library> --content <file> [--memory <bytes>]`.
pub const SERVE_COMMAND: &str = "serve-emitter";

/// Reason why a child stopped serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The library was refused.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A pipe broke, or the system refused a limit.
    #[error("input or output of the isolated process failed: {0}")]
    Pipe(#[from] io::Error),
    /// The process could not be confined for the phase of serving, although it was confined for the
    /// phase of loading.
    #[error("cannot confine the process: {0}")]
    Confinement(#[from] seccompiler::Error),
}

/// Serves a library over standard input and output until the input ends. Reads the library's bytes
/// from the file `content`. `memory` is the limit of the address space in bytes. If this system
/// cannot keep the process from opening files, calls `warn`, at most once.
///
/// # Errors
/// If the library cannot be loaded, or a pipe breaks.
pub fn serve_library(
    library: &Path,
    content: &Path,
    memory: Option<u64>,
    warn: impl FnOnce(&str),
) -> Result<(), ServeError> {
    // Redirect the plugin's output to standard error, so that it does not mix with the frames.
    let output = rustix::io::dup(io::stdout()).map_err(io::Error::from)?;
    let mut output = File::from(output);
    rustix::stdio::dup2_stdout(io::stderr()).map_err(io::Error::from)?;
    // Set the limit before a second thread starts, because without the limit the allocator reserves
    // a GiB for that thread.
    limit_memory(memory)?;
    end_with_the_host()?;
    // The library's code runs only after the confinement.
    let file = PluginFile::read_from(library.into(), content);
    let confined = confine(Phase::Loading);
    if let Err(error) = &confined {
        warn(&format!("{} is not confined, and can open files and sockets: {error}", library.display()));
    }
    let opened = file.and_then(PluginLibrary::open);
    let library = match opened {
        Ok(library) => library,
        Err(error) => {
            write_frame(&mut output, error.to_string().as_bytes())?;
            return Err(error.into());
        }
    };
    if confined.is_ok() {
        confine(Phase::Serving)?;
    }
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

/// Ends this process, and all processes that the plugin has started, as soon as the host has ended.
/// The end of the host closes the other end of standard input. If the plugin is answering a request
/// when the host ends, the answer is abandoned.
///
/// The system can also send a signal to a process when its parent dies. But the system sends this
/// signal when the thread that started this process ends, and the thread may end long before the
/// host does.
fn end_with_the_host() -> io::Result<()> {
    let watch = || {
        let input = io::stdin();
        loop {
            let mut ends = [PollFd::new(&input, PollFlags::empty())];
            match poll(&mut ends, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) => break,
            }
        }
        // No process is left to read an answer. This process ends the process group only if it is
        // the group's leader.
        if getpgrp() == getpid() {
            _ = kill_current_process_group(Signal::KILL);
        }
        std::process::exit(0);
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(watch).map(drop)
}

fn limit_memory(bytes: Option<u64>) -> io::Result<()> {
    match bytes {
        None => Ok(()),
        Some(_) => Ok(setrlimit(Resource::As, Rlimit { current: bytes, maximum: bytes })?),
    }
}

fn read_frame(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    let mut frame = Vec::new();
    if input.take(length.into()).read_to_end(&mut frame)? == length as usize {
        Ok(frame)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn write_frame(output: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(frame)?;
    output.flush()
}
