//! Checks runs with little memory. The program must fail with an error and must not abort. Large
//! results must need little more memory than their own bytes.

use crate::program::{Ran, Workplace};

/// Runs the program with an address space of `mebibytes` MiB. The program itself needs less than
/// 400 MiB.
fn within(place: &Workplace, mebibytes: u64, arguments: &[&str]) -> Ran {
    place.shell(&format!("ulimit -v {}; exec \"$@\" --threads 1", mebibytes << 10), arguments)
}

/// Returns a module whose result has this shape and consists of one repeated element.
fn filled(shape: &str) -> String {
    let ty = shape.split('[').next().unwrap();
    format!(
        "HloModule m\nENTRY main {{\n  z = {ty}[] constant(3)\n  ROOT r = {shape} broadcast(z), dimensions={{}}\n}}\n"
    )
}

/// As 8-byte numbers, the values would take 512 MiB.
#[test]
fn a_summary_needs_no_memory_of_its_own() {
    let place = Workplace::with_module(&filled("s8[67108864]"));
    let out = within(&place, 700, &["run", "m.hlo"]).succeeded();
    assert!(out.contains("s8[67108864] min 3 max 3 mean 3 checksum"), "{out}");
}

/// One string per value would take gigabytes.
#[test]
fn values_are_printed_as_they_are_made() {
    let place = Workplace::with_module(&filled("s8[16777216]"));
    let arguments = ["run", "m.hlo", "--print", "--outputs", "out.npz"];
    let line = "ulimit -v 614400; \"$@\" --threads 1 | wc -c";
    let printed: usize = place.shell(line, &arguments).succeeded().trim().parse().unwrap();
    assert!(printed > 3 * 16777216, "{printed}");
    // A dump shows only the first values.
    place.shell("ulimit -v 614400; exec \"$@\" --threads 1", &["run", "m.hlo", "--dump-to", "d"]).succeeded();
    let dumped = std::fs::read_to_string(place.path("d/10-result.txt")).unwrap();
    assert!(dumped.len() < 1 << 20 && dumped.ends_with("3 … and 16711680 more\n"), "{}", dumped.len());
}

#[test]
fn what_does_not_fit_is_an_error_that_says_so() {
    let place = Workplace::with_module(&filled("f32[100000,100000]"));
    for flags in [&[][..], &["--target", "simt"], &["--print"], &["--outputs", "out.npz"]] {
        let arguments = [&["run", "m.hlo"], flags].concat();
        within(&place, 2000, &arguments).failed(1, &["bytes of memory", "not available"]);
    }
    within(&place, 2000, &["run", "m.hlo", "--interpreter"]).failed(1, &["m.hlo:4:", "`r`", "too large"]);
    assert_eq!(place.names(), ["m.hlo"], "nothing is left behind");
}

/// Checks that the simulator fails with an error. The buffers fit into memory, but the simulator
/// also keeps a history of the accesses to every element, which does not fit.
#[test]
fn the_simulator_needs_memory_for_its_checks() {
    let place = Workplace::with_module(&filled("s8[67108864]"));
    let ran = within(&place, 700, &["run", "m.hlo", "--target", "simt"]);
    ran.failed(1, &["1073741824 bytes of memory are not available"]);
}

#[test]
fn the_interpreter_names_the_instruction_that_memory_is_short_for() {
    let text = "HloModule m
ENTRY main {
  x = f32[67108864] iota(), iota_dimension=0
  y = f32[67108864] negate(x)
  ROOT t = f32[67108864] add(x, y)
}
";
    let place = Workplace::with_module(text);
    // An element takes eight bytes in the interpreter.
    within(&place, 700, &["run", "m.hlo", "--interpreter"]).failed(1, &["m.hlo:3:", "`x`", "bytes of memory"]);
    within(&place, 2000, &["run", "m.hlo", "--interpreter"]).failed(1, &["m.hlo:4:", "`y`", "bytes of memory"]);
}

/// No array is too large here, but the compiler's own lists are.
#[test]
fn a_module_that_does_not_fit_is_an_error() {
    let steps = 100_000;
    let line = |i: usize| format!("  {}x{} = f32[8] add(x{i}, x0)\n", if i + 1 == steps { "ROOT " } else { "" }, i + 1);
    let lines: String = (0..steps).map(line).collect();
    let place = Workplace::with_module(&format!("HloModule m\nENTRY e {{\n  x0 = f32[8] parameter(0)\n{lines}}}\n"));
    within(&place, 470, &["compile", "m.hlo", "-o", "m.fbx"]).failed(1, &["more memory than there is"]);
    assert_eq!(place.names(), ["m.hlo"], "nothing is left behind");
}

#[test]
fn inputs_that_do_not_fit_are_an_error() {
    let place = Workplace::with_module(&filled("s8[400000000]"));
    place.run(&["run", "m.hlo", "--outputs", "in.npz"]).succeeded();
    place.write("take.hlo", b"HloModule t\nENTRY main { x = s8[400000000] parameter(0)\n  z = s8[1] slice(x), slice={[0:1]}\n  ROOT r = s8[1] add(z, z) }");
    within(&place, 700, &["run", "take.hlo"]).failed(1, &["400000000 bytes of memory for random inputs"]);
    let ran = within(&place, 700, &["run", "take.hlo", "--inputs", "in.npz"]);
    ran.failed(1, &["in.npz, arr_0: 400000000 bytes of memory are not available"]);
}
