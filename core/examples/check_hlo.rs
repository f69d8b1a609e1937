//! Reads HLO files, verifies them, prints them and reads them back; says how long each step took.
//!
//! ```text
//! cargo run --release --example check_hlo -- [--fill] [--generate N] FILE…
//! ```

use std::process::ExitCode;
use std::time::Instant;

use fusebox_core::hlo::{Diagnostic, ParseOptions, PrintOptions, parse_module_with, print_module_with, verify};

fn main() -> ExitCode {
    let mut options = ParseOptions::default();
    let mut failed = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let (name, text) = match argument.as_str() {
            "--fill" => {
                options.fill_elided = true;
                continue;
            }
            "--generate" => {
                let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(40_000);
                (format!("<{count} instructions>"), generated(count))
            }
            path => match std::fs::read_to_string(path) {
                Ok(text) => (path.to_owned(), text),
                Err(error) => {
                    eprintln!("{path}: {error}");
                    failed = true;
                    continue;
                }
            },
        };
        if let Err(faults) = check(&text, &name, &options) {
            faults.iter().for_each(|fault| eprintln!("{fault}"));
            failed = true;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn check(text: &str, name: &str, options: &ParseOptions) -> Result<(), Vec<Diagnostic>> {
    let start = Instant::now();
    let mut module = parse_module_with(text, name, options)?;
    let parsed = start.elapsed();
    verify(&module)?;
    let verified = start.elapsed();
    let printed = print_module_with(&module, &PrintOptions::default());
    let finished = start.elapsed();
    let mut again = parse_module_with(&printed, "<printed>", options)?;
    module.clear_source();
    again.clear_source();
    println!("{name}: parse {parsed:?}, verify {:?}, print {:?}", verified - parsed, finished - verified);
    if module != again {
        println!("{name}: the printed module is another one");
    }
    Ok(())
}

/// A module of about `count` instructions with the constructs of large programs: long chains, many
/// calls of small computations, wide tuples, metadata.
fn generated(count: usize) -> String {
    let mut text = String::from("HloModule generated\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n");
    text += "  ROOT s = f32[] add(a, b)\n}\n\nscale {\n  x = f32[64,128]{1,0} parameter(0)\n";
    text += "  ROOT y = f32[64,128]{1,0} multiply(x, x)\n}\n\nENTRY main {\n  v.0 = f32[64,128]{1,0} parameter(0)\n";
    text += "  zero = f32[] constant(0)\n";
    let shape = "f32[64,128]{1,0}";
    for i in 1..count / 8 {
        let p = i - 1;
        text += &format!("  r.{i} = f32[64]{{0}} reduce(v.{p}, zero), dimensions={{1}}, to_apply=sum\n");
        text += &format!("  b.{i} = {shape} broadcast(r.{i}), dimensions={{0}}\n");
        text +=
            &format!("  e.{i} = {shape} exponential(b.{i}), metadata={{op_name=\"jit(f)/exp\" stack_frame_id=3}}\n");
        text += &format!("  c.{i} = {shape} call(e.{i}), to_apply=scale\n");
        text += &format!("  k.{i} = f32[4]{{0}} constant({{1.5, 2.25, -3, 1e-9}})\n");
        text += &format!("  t.{i} = ({shape}, f32[4]{{0}}) tuple(c.{i}, k.{i})\n");
        text += &format!("  g.{i} = {shape} get-tuple-element(t.{i}), index=0\n");
        text += &format!("  v.{i} = {shape} add(g.{i}, v.{p})\n");
    }
    text + "}\n"
}
