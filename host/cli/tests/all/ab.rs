//! `fusebox ab`: compares the results and times of two sides.

use crate::program::Workplace;
use serde_json::Value;

/// A transpose and an independent sum of rows, which a choice for transposes does not affect.
const MODULE: &str = "HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[256,256] parameter(0)
  zero = f32[] constant(0)
  t = f32[256,256] transpose(x), dimensions={1,0}
  r = f32[256] reduce(x, zero), dimensions={1}, to_apply=add
  ROOT both = (f32[256,256], f32[256]) tuple(t, r)
}
";

const TRANSPOSES: [&str; 8] =
    ["ab", "m.hlo", "--a", "transpose=line-transpose", "--b", "transpose=loop", "--pairs", "12"];

fn json(place: &Workplace, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&place.run(&arguments).succeeded()).unwrap()
}

#[test]
fn kernels_that_differ_are_measured_alone_and_in_the_program() {
    let place = Workplace::with_module(MODULE);
    let report = json(&place, &[&TRANSPOSES[..], &["--dump-to", "dumps"]].concat());
    let fusions = report["fusions"].as_array().unwrap();
    assert_eq!(fusions.len(), 1, "only the transpose differs: {report}");
    for comparison in [&report["program"], &fusions[0]] {
        assert_eq!(comparison["results"]["different"], 0);
        let measured = comparison["measured"].as_array().unwrap();
        assert_eq!([&measured[0]["cache"], &measured[1]["cache"]], ["warm", "cold"]);
        for row in measured {
            assert_eq!(row["a_us"]["count"], 12);
            let ratio = &row["ratio"];
            let ends = [&ratio["low"], &ratio["ratio"], &ratio["high"]].map(|end| end.as_f64().unwrap());
            assert!(ends[0] > 0.0 && ends.is_sorted(), "{ratio}");
        }
    }
    // The kernel reads 256 KiB and writes 256 KiB.
    assert_eq!([&fusions[0]["a"]["bytes_read"], &fusions[0]["b"]["bytes_written"]], [262_144, 262_144]);
    assert!(fusions[0]["a"]["kernels"][0].as_str().unwrap().starts_with("line-transpose "), "{report}");
    assert!(place.path("dumps/a/03-fused.hlo").exists() && place.path("dumps/b/03-fused.hlo").exists());
    assert!(fusions[0]["b"]["code_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn a_pattern_chooses_fusions_of_which_the_kernels_are_alike() {
    let place = Workplace::with_module(MODULE);
    let arguments = [&TRANSPOSES[..], &["--fusion", "*_r"]].concat();
    let report = json(&place, &arguments);
    assert_eq!(report["fusions"][0]["name"], "fused_r");
    place.run(&[&TRANSPOSES[..], &["--fusion", "nothing"]].concat()).failed(2, &["`nothing`", "fused_r", "fused_t"]);
}

/// Checks the message about results that differ. The two sides add in different orders, so their
/// sums differ.
#[test]
fn results_that_differ_are_told_in_elements_and_ulps() {
    let module = "HloModule m
add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[4096,64] parameter(0)\n  zero = f32[] constant(0)
  ROOT r = f32[64] reduce(x, zero), dimensions={0}, to_apply=add }";
    let place = Workplace::with_module(module);
    let sides = ["ab", "m.hlo", "--a", "reduce=serial-reduce", "--b", "reduce=loop", "--pairs", "4"];
    let results = &json(&place, &sides)["program"]["results"];
    let different = results["different"].as_u64().unwrap();
    assert!(different > 0 && different <= 64 && results["ulps"].as_u64().unwrap() > 0, "{results}");
    let table = place.run(&sides).succeeded();
    assert!(table.contains("both right, by the interpreter\n"), "{table}");
    assert!(table.contains(&format!("{different} of 64 elements differ between the sides, by at most ")), "{table}");
    assert!(table.contains(", as rounding explains\n"), "{table}");
}

#[test]
fn another_fusebox_is_a_side() {
    let place = Workplace::with_module(MODULE);
    let other = env!("CARGO_BIN_EXE_fusebox");
    let report = json(&place, &["ab", "m.hlo", "--b", other, "--fusion", "fused_t", "--pairs", "4"]);
    let kernel = |side: &str| report["fusions"][0][side]["kernels"][0].as_str().unwrap().to_owned();
    assert!(kernel("a").starts_with(&kernel("b")), "{report}");
    assert_eq!(report["program"]["results"]["different"], 0);
    place.write("other", b"no program");
    place.run(&["ab", "m.hlo", "--b", "./other"]).failed(1, &["./other compile"]);
    place.run(&["ab", "m.hlo", "--b", other, "--b", "loop=loop"]).failed(2, &["cannot be chosen for this side"]);
}

/// Checks that a simulated GPU is not timed. The time that the simulator takes says nothing about a
/// GPU.
#[test]
fn a_simulated_gpu_is_not_timed() {
    let place = Workplace::with_module(MODULE);
    let arguments = ["ab", "m.hlo", "--target", "simt", "--b", "transpose=loop"];
    let report = json(&place, &arguments);
    assert_eq!(report["program"]["measured"].as_array().unwrap().len(), 0);
    assert_eq!(report["program"]["results"]["different"], 0);
}

#[test]
fn the_page_opens_in_a_browser_without_errors_and_without_network() {
    let place = Workplace::with_module(MODULE);
    place.run(&[&TRANSPOSES[..], &["--html", "page"]].concat()).succeeded();
    let page = std::fs::read_to_string(place.path("page/index.html")).unwrap();
    assert!(page.contains("line-transpose 0.3.0"), "{page}");
    let Some(content) = place.opened_page("page/index.html", "") else { return };
    // The page's script has run, because the page shows only the texts of the chosen stage.
    assert!(content.contains("<div data-stage=\"kernel\">"));
    assert!(content.contains("<div data-stage=\"llvm\" hidden=\"\">"));
}

/// Writes a script that edits the module and then runs fusebox on the edited module. As a side of a
/// comparison, the script has wrong results.
fn write_cheat(place: &Workplace, name: &str, replacement: &str) {
    use std::os::unix::fs::PermissionsExt;
    let program = env!("CARGO_BIN_EXE_fusebox");
    let script = format!(
        "#!/bin/sh\nfor module; do :; done\nsed -i '{replacement}' \"$module\"\nexec {program} \"$@\" --no-config --no-tuned\n"
    );
    place.write(name, script.as_bytes());
    std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns a module that multiplies `length` numbers and computes their exponentials.
fn elementwise(length: usize) -> String {
    format!(
        "HloModule m\nENTRY main {{ x = f32[{length}] parameter(0)\n  y = f32[{length}] multiply(x, x)
  ROOT e = f32[{length}] exponential(y) }}"
    )
}

#[test]
fn a_wrong_side_is_told_and_not_timed() {
    let place = Workplace::with_module(&elementwise(1000));
    let cheats = [
        ("zeros", "s/exponential(/floor(/"),
        ("nans", "s/exponential(/log(/;s/multiply(/subtract(/"),
        ("twice", "s/multiply(/add(/"),
    ];
    for (cheat, replacement) in cheats {
        write_cheat(&place, cheat, replacement);
        let cheat = format!("./{cheat}");
        let sides = ["ab", "m.hlo", "--b", &cheat, "--pairs", "4"];
        let ran = place.run(&[&sides[..], &["--html", &format!("{cheat}.page")]].concat());
        assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("m.hlo: B is wrong in program: result 0: element ["), "{}", ran.err);
        assert!(ran.out.contains("B is WRONG, by the interpreter: result 0: element ["), "{}", ran.out);
        assert!(!ran.out.contains("faster") && !ran.out.contains("GB/s"), "{}", ran.out);
        let page = std::fs::read_to_string(place.path(&format!("{cheat}.page/index.html"))).unwrap();
        assert!(page.contains("B is <span class=wrong>wrong</span>") && !page.contains("class=faster"), "{page}");
        let json = place.run(&[&sides[..], &["--json"]].concat());
        assert_eq!(json.code, Some(1), "{}", json.err);
        let report: Value = serde_json::from_str(&json.out).unwrap();
        for comparison in [&report["program"], &report["fusions"][0]] {
            assert_eq!(comparison["judged"]["verdict"], "wrong", "{report}");
            assert!(comparison["judged"]["a"].is_null() && comparison["judged"]["b"].is_string(), "{report}");
            assert_eq!(comparison["measured"].as_array().unwrap().len(), 0);
        }
        let sides = ["ab", "m.hlo", "--a", &cheat, "--b", "loop=loop", "--pairs", "4"];
        place.run(&sides).failed(1, &["m.hlo: A is wrong in program"]);
    }
}

/// Checks two cases: arrays that are too long for the interpreter, and a summary of several
/// modules.
#[test]
fn long_results_are_judged_by_the_bundled_emitters() {
    let place = Workplace::with_module(&elementwise(3_000_000));
    place.write("right.hlo", elementwise(100).replace("exponential(", "log(").as_bytes());
    write_cheat(&place, "cheat", "s/exponential(/floor(/");
    let ran = place.run(&["ab", "m.hlo", "right.hlo", "--b", "./cheat", "--pairs", "4"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("B is WRONG, by the bundled emitters: result 0"), "{}", ran.out);
    assert!(ran.out.contains("both right, by the interpreter"), "{}", ran.out);
    let summary = ran.out.lines().skip_while(|line| !line.starts_with("module ")).collect::<Vec<_>>();
    assert!(
        summary.iter().any(|line| line.starts_with("m.hlo") && line.ends_with("WRONG     B, in program")),
        "{}",
        ran.out
    );
    assert!(
        summary.iter().filter(|line| line.starts_with("right.hlo")).all(|line| !line.contains("WRONG")),
        "{}",
        ran.out
    );
}
