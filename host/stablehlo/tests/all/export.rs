//! Modules as StableHLO text, read again.

use std::fs;
use std::path::{Path, PathBuf};

use fusebox_core::hlo::{Module, parse_module, verify};
use fusebox_interpreter::evaluate;
use fusebox_stablehlo::{from_hlo, print_text, read_text, to_hlo};

use crate::programs::{arguments, from_artifact, names};
use crate::structure::difference;

/// Returns the StableHLO text of a module, and the module that this text contains.
fn through_text(module: &Module) -> Result<(String, Module), String> {
    let text = print_text(&from_hlo(module).map_err(|error| error.to_string())?);
    let program = read_text(&text, "exported").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let read = to_hlo(&program).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&read).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    Ok((text, read))
}

fn parsed(text: &str) -> Module {
    let module = parse_module(text, "m.hlo").unwrap();
    verify(&module).unwrap();
    module
}

fn is_kept(module: &Module, name: &str) {
    let (text, read) = through_text(module).unwrap_or_else(|error| panic!("{name}: {error}"));
    if let Some(difference) = difference(module, &read) {
        panic!("{name}\n{text}\n{difference}");
    }
}

#[test]
fn programs_of_jax_are_kept() {
    for name in names() {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.hlo"));
        let jax = parsed(&fs::read_to_string(file).unwrap());
        for module in [jax, from_artifact(&name)] {
            is_kept(&module, &name);
            let (_, read) = through_text(&module).unwrap();
            let arguments = arguments(&module);
            assert_eq!(evaluate(&read, &arguments).unwrap(), evaluate(&module, &arguments).unwrap(), "{name}");
        }
    }
}

/// Modules that StableHLO cannot express state why.
#[test]
fn modules_of_a_corpus_are_kept() {
    let Some(folder) = std::env::var_os("FUSEBOX_CORPUS") else { return };
    let (mut kept, mut refused) = (0, Vec::new());
    for path in modules_in(Path::new(&folder)) {
        let Ok(module) = parse_module(&fs::read_to_string(&path).unwrap(), &path.display().to_string()) else {
            continue;
        };
        match through_text(&module) {
            Ok(_) => {
                is_kept(&module, &path.display().to_string());
                kept += 1;
            }
            Err(error) => refused.push(error),
        }
    }
    println!("{kept} modules are kept, {} are refused:", refused.len());
    refused.iter().for_each(|error| println!("  {error}"));
    assert!(kept > 0 && refused.iter().all(|error| error.contains("StableHLO")), "{refused:?}");
}

fn modules_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => open.push(path),
                Some(extension) if extension == "hlo" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn program(name: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.hlo"))).unwrap()
}

#[test]
fn each_operation_and_attribute_is_kept() {
    is_kept(&parsed(&program("operations")), "operations");
    is_kept(&parsed(&program("collectives")), "collectives");
    let (text, read) = through_text(&parsed(&program("operations"))).unwrap();
    let instructions = read.computations.iter().flat_map(|computation| &computation.instructions);
    let erf = instructions.clone().find(|it| it.opcode().name() == "erf").unwrap();
    let metadata = erf.extra.as_ref().unwrap().metadata.as_ref().unwrap();
    assert_eq!((&*metadata.op_name, &*metadata.source_file, metadata.source_line), ("jit(f)/erf", "f.py", 7));
    assert!(
        text.contains("\"chlo.erf\"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc(\"jit(f)/erf\"(\"f.py\":7:0))"),
        "{text}"
    );
}

#[test]
fn what_stablehlo_cannot_express_is_named_with_its_line() {
    let error = |body: &str| {
        let text = format!(
            "HloModule m\n\nf {{\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] negate(p)\n}}\n\n\
             ENTRY main {{\n  x = f32[4] parameter(0)\n  {body}\n}}\n"
        );
        through_text(&parsed(&text)).map(|_| ()).unwrap_err()
    };
    for (body, message) in [
        (
            "ROOT y = f32[4] fusion(x), kind=kLoop, calls=f",
            "m.hlo:10:8: error: StableHLO has no operation fusion [in y]",
        ),
        (
            "z = f32[4] negate(x)\n  ROOT y = f32[4] abs(x), control-predecessors={z}",
            "m.hlo:11:8: error: StableHLO has no control predecessors [in y]",
        ),
        ("ROOT y = f32[4]{0:T(8)} negate(x)", "m.hlo:10:8: error: StableHLO has no tiles and memory spaces [in y]"),
        (
            "ROOT y = s32[4] bitcast(x)",
            "m.hlo:10:8: error: StableHLO cannot reinterpret the memory of an array in another way [in y]",
        ),
        ("ROOT y = s1[4] convert(x)", "m.hlo:10:8: error: StableHLO has no type s1 [in y]"),
        (
            "ROOT y = (f32[2], s32[2]) topk(x), k=2, largest=false",
            "m.hlo:10:8: error: StableHLO has no operation topk [in y]",
        ),
        (
            "t = token[] after-all()\n  ROOT y = f32[4] add-dependency(x, t)",
            "m.hlo:11:8: error: StableHLO has no operation add-dependency [in y]",
        ),
        (
            "k = s32[] constant(2)\n  ROOT y = f32[<=4] set-dimension-size(x, k), dimensions={0}",
            "m.hlo:11:8: error: StableHLO text has no dimensions of dynamic size [in y]",
        ),
        (
            "t = f32[2,2] reshape(x)\n  ROOT y = f32[2,2]{0,1} transpose(t), dimensions={1,0}",
            "m.hlo: error: StableHLO has only row-major arguments and results",
        ),
    ] {
        assert_eq!(error(body), message);
    }
}
