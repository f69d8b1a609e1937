//! Exit codes. 0: success. 1: the module, the inputs, an emitter or a file is at fault. 2: wrong
//! usage. 3: a bug in fusebox.

use std::fmt;
use std::panic::{UnwindSafe, catch_unwind};

use fusebox_choices::ChoiceError;
use fusebox_compiler::{AssemblerError, CompileError};
use fusebox_configuration::FilePosition;
use fusebox_files::{ReadError, WriteError};
use fusebox_lowering::LoweringError;
use fusebox_run::inputs::InputError;
use fusebox_run::stored::StoredError;
use fusebox_run::terminal::{self, PrintError};
use fusebox_runtime::{FormatError, LoadError, RunError};
use fusebox_workshop::WorkshopError;
use fusebox_workshop::driver::DriverError;
use fusebox_workshop::tune::{DatabaseError, LockError};

/// The reason why the program fails. The variant states whether the input, the usage or fusebox is
/// at fault.
#[derive(Debug)]
pub enum Failure {
    /// The module, the inputs, an emitter or a file is at fault.
    Input(String),
    /// The command line is at fault.
    Usage(String),
    /// fusebox itself has a bug.
    Bug(String),
}

impl Failure {
    /// Returns a failure for which the input is at fault.
    pub fn input(message: impl fmt::Display) -> Failure {
        Failure::Input(message.to_string())
    }

    /// Returns a failure whose cause is at this position of a file that the user wrote.
    pub fn at(place: &FilePosition, message: impl fmt::Display) -> Failure {
        Failure::Input(format!("{place}: error: {message}"))
    }

    /// Returns a failure for which the command line is at fault.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::Usage(message.to_string())
    }
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Dump(error) => error.into(),
            error if error.is_internal() => Failure::Bug(error.to_string()),
            error => Failure::input(error),
        }
    }
}

impl From<ChoiceError> for Failure {
    fn from(error: ChoiceError) -> Self {
        match error {
            ChoiceError::Input(message) => Failure::Input(message),
            ChoiceError::Usage(message) => Failure::Usage(message),
            ChoiceError::Bug(message) => Failure::Bug(message),
        }
    }
}

impl From<LoweringError> for Failure {
    fn from(error: LoweringError) -> Self {
        match error {
            LoweringError::Invalid { .. } | LoweringError::Unsupported { .. } => Failure::input(error),
            LoweringError::Target { .. }
            | LoweringError::Stage(_)
            | LoweringError::MlirPasses { .. }
            | LoweringError::NotConverted { .. } => Failure::usage(error),
            LoweringError::Composite { .. }
            | LoweringError::Conversions { .. }
            | LoweringError::Llvm(_)
            | LoweringError::ForeignSymbols(_) => Failure::Bug(error.to_string()),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Object(_) | LoadError::HostOp { .. } => Failure::Bug(error.to_string()),
            other => Failure::input(other),
        }
    }
}

impl From<WorkshopError> for Failure {
    fn from(error: WorkshopError) -> Self {
        match error {
            WorkshopError::Compile(error) => error.into(),
            WorkshopError::Load(error) => error.into(),
            WorkshopError::Write(error) => error.into(),
            WorkshopError::Tuned(error) => error.into(),
            WorkshopError::NoSuchFusion { .. } | WorkshopError::NoSuchInstruction { .. } => Failure::usage(error),
            other => Failure::input(other),
        }
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Missing | DriverError::NoFile(_) => Failure::usage(error),
            DriverError::Write(error) => error.into(),
            other => Failure::input(other),
        }
    }
}

impl From<AssemblerError> for Failure {
    fn from(error: AssemblerError) -> Self {
        match error {
            AssemblerError::Refused { .. } => Failure::Bug(error.to_string()),
            other => Failure::input(other),
        }
    }
}

/// Implements conversions from error types whose errors always mean that the input is at fault.
macro_rules! of_input {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::input(error)
            }
        }
    )*};
}

of_input!(RunError, InputError, StoredError, FormatError, ReadError, PrintError, DatabaseError, LockError);

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        if error.is_usage() { Failure::usage(error) } else { Failure::input(error) }
    }
}

/// Runs `work`, and ends the process. The outcome of `work` determines the exit code.
pub fn after(work: impl FnOnce() -> Result<(), Failure> + UnwindSafe) -> ! {
    report_bugs();
    let Ok(outcome) = catch_unwind(work) else { std::process::exit(3) };
    let code = match outcome {
        Ok(()) => 0,
        Err(Failure::Input(message)) => say(&message, 1),
        Err(Failure::Usage(message)) => say(&format!("{message}\n\nSee `fusebox --help`."), 2),
        Err(Failure::Bug(message)) => {
            terminal::complain(&format!("error: {message}\n{}", how_to_report()));
            3
        }
    };
    std::process::exit(code)
}

fn say(message: &str, code: i32) -> i32 {
    // Diagnostics already contain a position and the word "error".
    let has_place = message.lines().next().is_some_and(|line| line.contains(": error: "));
    if has_place {
        terminal::complain(message);
    } else {
        terminal::complain(&format!("error: {message}"));
    }
    code
}

/// Installs a panic hook that asks the user to report the bug. The hook ignores panics of emitters,
/// because these panics are caught and reported as errors.
fn report_bugs() {
    std::panic::set_hook(Box::new(|panic| {
        if fusebox_compiler::is_in_emitter() {
            return;
        }
        terminal::complain(&format!("internal error: {panic}\n{}", how_to_report()));
    }));
}

fn how_to_report() -> String {
    let command: Vec<String> = std::env::args().map(|a| if a.contains(' ') { format!("'{a}'") } else { a }).collect();
    format!(
        "This is a bug in fusebox {}. Please report it with the module (and inputs) and this command:\n  {}\n\
         Adding `--dump-to DIR` and attaching DIR helps to find it.",
        env!("CARGO_PKG_VERSION"),
        command.join(" ")
    )
}
