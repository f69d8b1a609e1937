//! Reads, verifies and prints HLO files, and reads the printed modules back. Also prints how long
//! each step took.
//!
//! ```text
//! cargo run --release --example check_hlo -- [--fill] [--emit FOLDER] [--generate N] FILE…
//! ```
//!
//! Files ending in `.pb` are serialised modules. `--emit` writes each module as text and in
//! serialised form.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use fusebox_hlo::{
    Diagnostic, Elided, Module, ParseOptions, parse_module_with, print_module, read_proto, verify, write_proto,
};

fn main() -> ExitCode {
    let mut options = ParseOptions::default();
    let mut folder: Option<PathBuf> = None;
    let mut failed = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let result = match argument.as_str() {
            "--fill" => {
                options.elided = Elided::Random;
                continue;
            }
            "--emit" => {
                folder = arguments.next().map(PathBuf::from);
                continue;
            }
            "--generate" => {
                let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(40_000);
                check(generated(count).as_bytes(), &format!("<{count} instructions>"), &options)
            }
            path => {
                std::fs::read(path).map_err(|error| error.to_string()).and_then(|bytes| check(&bytes, path, &options))
            }
        };
        let written = result.and_then(|module| match &folder {
            Some(folder) => emit(&module, &argument, folder).map_err(|error| error.to_string()),
            None => Ok(()),
        });
        if let Err(message) = written {
            eprintln!("{argument}: {message}");
            failed = true;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn emit(module: &Module, path: &str, folder: &Path) -> std::io::Result<()> {
    let stem = Path::new(path).file_stem().unwrap_or_default();
    std::fs::write(folder.join(stem).with_extension("hlo"), print_module(module))?;
    std::fs::write(folder.join(stem).with_extension("pb"), write_proto(module))
}

fn joined(faults: Vec<Diagnostic>) -> String {
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

fn check(bytes: &[u8], name: &str, options: &ParseOptions) -> Result<Module, String> {
    let start = Instant::now();
    let mut module = if name.ends_with(".pb") {
        read_proto(bytes)
    } else {
        parse_module_with(&String::from_utf8_lossy(bytes), name, options)
    }
    .map_err(joined)?;
    let read = start.elapsed();
    verify(&module).map_err(joined)?;
    let verified = start.elapsed();
    let printed = print_module(&module);
    let finished = start.elapsed();
    println!("{name}: read {read:?}, verify {:?}, print {:?}", verified - read, finished - verified);
    let mut again = parse_module_with(&printed, "<printed>", options).map_err(joined)?;
    let mut serialised = read_proto(&write_proto(&module)).map_err(joined)?;
    for copy in [&mut module, &mut again, &mut serialised] {
        copy.clear_source();
    }
    if module != again {
        return Err("the printed module is another one".to_owned());
    }
    if module != serialised {
        return Err("the serialised module is another one".to_owned());
    }
    Ok(module)
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
