//! `cargo bench` compares this emitter with the emitters that fusebox chooses by default, on the
//! modules in this folder. Passes arguments after `--` to `fusebox ab` (`-- --pairs 20`). The
//! environment variable `FUSEBOX` names the fusebox program.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

const MODULES: [&str; 2] = ["benches/small.hlo", "benches/large.hlo"];

fn main() -> ExitCode {
    let program = std::env::var_os("FUSEBOX").unwrap_or_else(|| "fusebox".into());
    match compare(&program) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let program = program.display();
            eprintln!("cannot run {program}: {error}; put the folder of fusebox into PATH, or its file's name into FUSEBOX");
            ExitCode::FAILURE
        }
    }
}

fn compare(program: &OsString) -> std::io::Result<bool> {
    // Cargo puts the library into the folder of this program.
    let library = format!("lib{}.so", env!("CARGO_PKG_NAME").replace('-', "_"));
    let library = std::env::current_exe()?.with_file_name(library);
    let handed_on = std::env::args().skip(1).filter(|argument| argument != "--bench");
    Ok(Command::new(program).arg("ab").args(MODULES).arg("--b").arg(library).args(handed_on).status()?.success())
}
