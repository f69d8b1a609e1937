//! Plugins through the whole program: one emitter through three carriers, and a hostile one.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../plugins/tests/boundary/built.rs"]
#[allow(dead_code, reason = "every test binary uses a part")]
mod built;
mod program;

use program::{Ran, Workplace};

/// Several results of two shapes, a reduction, a transcendental function.
const MODULE: &str = "HloModule m

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

fused {
  p = f32[96,64] parameter(0)
  e = f32[96,64] exponential(p)
  zero = f32[] constant(0)
  s = f32[96] reduce(e, zero), dimensions={1}, to_apply=add
  ROOT t = (f32[96,64], f32[96]) tuple(e, s)
}

ENTRY main {
  p = f32[96,64] parameter(0)
  ROOT f = (f32[96,64], f32[96]) fusion(p), kind=kLoop, calls=fused
}
";

/// A module whose only fusion has that name: it tells the hostile emitter what to do.
fn hostile_module(name: &str) -> String {
    format!(
        "HloModule m

{name} {{
  p = f32[64] parameter(0)
  ROOT root = f32[64] negate(p)
}}

ENTRY main {{
  p = f32[64] parameter(0)
  ROOT f = f32[64] fusion(p), kind=kLoop, calls={name}
}}
"
    )
}

fn succeeded(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out
}

#[test]
fn code_and_results_do_not_depend_on_the_carrier() {
    let place = Workplace::with_module(MODULE);
    let library = format!("loop={}", built::bundled_loop().display());
    for target in ["cpu", "simt"] {
        let carried = |arguments: &[&str]| {
            let compile = ["compile", "m.hlo", "--target", target, "--emit", "mlir"];
            let run = ["run", "m.hlo", "--target", target, "--print"];
            [compile.as_slice(), &run].map(|command| succeeded(place.run(&[command, arguments].concat())))
        };
        let linked = carried(&["--emitter", "loop=loop"]);
        assert!(linked[0].contains("xla_gpu.pure_call"), "{}", linked[0]);
        assert_eq!(linked, carried(&["--emitter", &library]));
        assert_eq!(linked, carried(&["--emitter", &library, "--isolate"]));
    }
}

#[test]
fn a_strangers_emitter_gives_the_right_results() {
    let place = Workplace::with_module(&hostile_module("fused"));
    let library = built::simple_loop();
    for target in ["cpu", "simt"] {
        let run = |emitter: &str| succeeded(place.run(&["run", "m.hlo", "--target", target, "--emitter", emitter]));
        assert_eq!(run("loop=loop"), run(&library.display().to_string()));
    }
}

const MISDEEDS: [(&str, &str); 9] = [
    ("panic_in_plan", "it panicked: index out of bounds"),
    ("panic_in_emit", "it panicked"),
    ("overlap", "is reached twice"),
    ("out_of_bounds", "is outside of [64]"),
    ("invalid_ir", "the emitted IR is invalid"),
    ("deep_regions", "regions within each other; kernels have at most"),
    ("unrolled", "operations; kernels have at most"),
    ("huge_text", "is the limit"),
    ("many_variables", "the variables of a map: 1002; 256 is the limit"),
];

#[test]
fn an_automatic_choice_that_fails_is_replaced_with_a_warning() {
    for (name, expected) in MISDEEDS {
        let place = Workplace::with_module(&hostile_module(name));
        // Loaded without being named for a kind of fusion: `twin=` forces nothing here.
        let library = format!("twin={}", built::hostile("").display());
        let hostile = place.run(&["run", "m.hlo", "--target", "simt", "--emitter", &library]);
        let warning =
            format!("warning: emitter hostile 0.1.0 ({}", built::hostile("").canonicalize().unwrap().display());
        assert!(hostile.err.contains(&warning) && hostile.err.contains(expected), "{name}: {}", hostile.err);
        assert_eq!(succeeded(hostile), succeeded(place.run(&["run", "m.hlo", "--target", "simt"])));
    }
}

#[test]
fn a_forced_choice_that_fails_is_an_error() {
    for (name, expected) in MISDEEDS {
        let place = Workplace::with_module(&hostile_module(name));
        let library = format!("loop={}", built::hostile("").display());
        for isolate in [&["--isolate"][..], &[]] {
            let arguments = ["run", "m.hlo", "--target", "simt", "--emitter", &library];
            let ran = place.run(&[&arguments, isolate].concat());
            assert_eq!(ran.code, Some(1), "{name}: {}", ran.err);
            assert!(ran.err.contains("emitter hostile 0.1.0") && ran.err.contains(expected), "{name}: {}", ran.err);
        }
    }
}

#[test]
fn a_library_that_aborts_is_survived_in_isolation() {
    let place = Workplace::with_module(&hostile_module("abort"));
    let library = format!("loop={}", built::hostile("").display());
    let ran = place.run(&["run", "m.hlo", "--emitter", &library, "--isolate"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("its process died (signal 6)"), "{}", ran.err);
}

#[test]
fn memory_of_an_isolated_library_is_limited() {
    let place = Workplace::with_module(&hostile_module("hoard"));
    let library = format!("loop={}", built::hostile("").display());
    let run =
        |memory: &str| place.run(&["run", "m.hlo", "--emitter", &library, "--isolate", "--isolate-memory", memory]);
    let ran = run("1G");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("it had 1.0 GiB of memory"), "{}", ran.err);
    assert_eq!(run("much").code, Some(2));
}

#[test]
fn a_truncated_library_is_an_error_of_the_user() {
    let place = Workplace::with_module(MODULE);
    let whole = std::fs::read(built::bundled_loop()).unwrap();
    place.write("cut.so", &whole[..whole.len() / 2]);
    let ran = place.run(&["run", "m.hlo", "--emitter", "./cut.so"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cut.so: not a complete shared library"), "{}", ran.err);
}

#[test]
fn what_lies_in_a_folder_of_plugins_and_is_none_is_skipped_with_a_warning() {
    let place = Workplace::with_module(MODULE);
    let folder = place.path("plugins");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(built::simple_loop(), folder.join("a.so")).unwrap();
    std::fs::write(folder.join("b.so"), "no library").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.join("c.so")).status().unwrap().success());
    for isolate in [&["--isolate"][..], &[]] {
        let ran = place.run_with_environment(
            &[&["emitters"], isolate].concat(),
            &[("FUSEBOX_EMITTER_PATH", folder.to_str().unwrap())],
        );
        for warning in ["b.so: not a complete shared library", "c.so: it is a FIFO"] {
            assert!(ran.err.contains("warning: skipped: ") && ran.err.contains(warning), "{}", ran.err);
        }
        assert!(succeeded(ran).contains("simple-loop"));
        for named in ["b.so", "c.so"] {
            let path = folder.join(named);
            let of_spec = place.run(&[&["run", "m.hlo", "--emitter", path.to_str().unwrap()], isolate].concat());
            assert_eq!(of_spec.code, Some(1), "{}", of_spec.err);
            let of_path =
                place.run_with_environment(&["emitters"], &[("FUSEBOX_EMITTER_PATH", path.to_str().unwrap())]);
            assert_eq!(of_path.code, Some(1), "{}", of_path.err);
        }
    }
}
