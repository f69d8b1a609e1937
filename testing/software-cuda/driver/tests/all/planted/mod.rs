//! Faults that are planted in kernels and in calls. Each of them must be reported, with the right
//! place. `docs/gpu-without-a-card.md` lists them.

mod calls;
mod kernels;

use std::process::Command;

/// A fault of a program.
pub struct Planted {
    /// Name of the fault, as in the list of the document.
    pub name: &'static str,
    /// Executes the program. Returns the error of the call that finds the fault.
    pub run: fn() -> Result<(), u32>,
    pub error: u32,
    /// Parts of the report. Calls that are refused have none.
    pub report: &'static [&'static str],
}

/// Name of the variable with the fault that a process executes.
const WHICH: &str = "PLANTED_FAULT";

/// Executes one fault. A fault belongs to a process, because the driver writes its reports to the
/// error stream of the process.
#[test]
#[ignore = "the tests below run it in processes of their own"]
fn one() {
    let Ok(which) = std::env::var(WHICH) else { return };
    if let Some(kernel) = kernels::ALL.iter().find(|kernel| kernel.name == which) {
        println!("the error is {:?}", kernel.run());
    } else {
        let planted = calls::ALL.iter().find(|planted| planted.name == which).unwrap();
        println!("the error is {:?}", (planted.run)());
    }
}

/// Returns the output of a process that executes a fault.
///
/// One thread of the host executes the blocks in their order. With several threads, the report
/// would name the access that is noticed first, which can be an access of either block.
fn output(name: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "planted::one", "--include-ignored", "--nocapture"]).env(WHICH, name);
    command.env("SOFTWARE_CUDA_THREADS", "1");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn check(name: &str, parts: &[String], failures: &mut Vec<String>) {
    let output = output(name);
    if let Some(missing) = parts.iter().find(|part| !output.contains(part.as_str())) {
        failures.push(format!("{name}: `{missing}` is not in\n{output}"));
    }
}

#[test]
fn faults_of_kernels_are_reported_with_their_lines() {
    let mut failures = Vec::new();
    for kernel in kernels::ALL {
        let text = kernel.text();
        let lines = || text.lines().zip(1..).filter(|(line, _)| line.contains("// here"));
        let (line, number) = lines().next().unwrap();
        let line = line.trim();
        let place = format!("in kernel planted, block [{}, 0, 0], thread [{}, 0, 0]", kernel.place.0, kernel.place.1);
        let parts = [
            format!("the error is Err({})", kernel.error),
            kernel.report.to_owned(),
            format!("{place}, line {number} of the PTX: {line}"),
            "during the launch of kernel planted".into(),
        ];
        check(kernel.name, &parts, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn faults_of_calls_are_reported() {
    let mut failures = Vec::new();
    for planted in calls::ALL {
        let error = format!("the error is Err({})", planted.error);
        let parts: Vec<String> = std::iter::once(error).chain(planted.report.iter().map(|it| it.to_string())).collect();
        check(planted.name, &parts, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_document_lists_all_faults() {
    let document = include_str!("../../../../../../docs/gpu-without-a-card.md");
    let names: Vec<&str> = kernels::ALL.iter().map(|it| it.name).chain(calls::ALL.iter().map(|it| it.name)).collect();
    assert!(names.len() >= 40, "{} faults", names.len());
    let missing: Vec<&&str> = names.iter().filter(|name| !document.contains(&format!("* {name}\n"))).collect();
    assert!(missing.is_empty(), "the document does not list {missing:#?}");
}
