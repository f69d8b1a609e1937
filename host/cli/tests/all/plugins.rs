//! Checks plugins in the whole program: an emitter that reaches the host in three ways, and a
//! hostile emitter.

use crate::built;
use crate::program::{Ran, Workplace};

/// A program that becomes one loop kernel on all targets. The kernel has several results of two
/// shapes and a transcendental function.
const MODULE: &str = "HloModule m

fused {
  p = f32[96,64] parameter(0)
  e = f32[96,64] exponential(p)
  c = f32[96,1] slice(e), slice={[0:96], [5:6]}
  s = f32[96] reshape(c)
  ROOT t = (f32[96,64], f32[96]) tuple(e, s)
}

ENTRY main {
  p = f32[96,64] parameter(0)
  ROOT f = (f32[96,64], f32[96]) fusion(p), kind=kLoop, calls=fused
}
";

/// Returns a module whose only fusion has this name. The name selects the behaviour of the hostile
/// emitter.
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

const MISDEEDS: [(&str, &str); 10] = [
    ("panic_in_plan", "it panicked: index out of bounds"),
    ("panic_in_emit", "it panicked"),
    ("overlap", "is reached twice"),
    ("out_of_bounds", "is outside of [64]"),
    ("invalid_ir", "the emitted IR is invalid"),
    ("deep_regions", "nested regions; kernels have at most"),
    ("unrolled", "copies, with the loops around it; loops have at most 512"),
    ("huge_text", "is the limit"),
    ("unsupported", "cannot be compiled for"),
    ("many_variables", "the variables of a map: 1002; 256 is the limit"),
];

#[test]
fn an_automatic_choice_that_fails_is_replaced_with_a_warning() {
    for (name, expected) in MISDEEDS {
        let place = Workplace::with_module(&hostile_module(name));
        let library = built::hostile("").display().to_string();
        let hostile = place.run(&["run", "m.hlo", "--target", "simt", "--load", &library]);
        let warning =
            format!("warning: emitter hostile 0.1.0 ({}", built::hostile("").canonicalize().unwrap().display());
        assert!(hostile.err.contains(&warning) && hostile.err.contains(expected), "{name}: {}", hostile.err);
        assert_eq!(succeeded(hostile), succeeded(place.run(&["run", "m.hlo", "--target", "simt"])));
    }
}

/// Checks that the dumps contain plans and kernels that fail, because their author must see them.
#[test]
fn plans_and_kernels_that_fail_are_in_the_dumps() {
    for (name, file) in [
        ("overlap", "05-plan.overlap.refused-hostile.txt"),
        ("panic_in_emit", "05-plan.panic_in_emit.refused-hostile.txt"),
        ("invalid_ir", "06-emitted.invalid_ir.refused-hostile.mlir"),
        ("unsupported", "06-emitted.unsupported.refused-hostile.mlir"),
    ] {
        let place = Workplace::with_module(&hostile_module(name));
        let hostile = built::hostile("").display().to_string();
        for (choice, code) in [(["--load", &hostile], 0), (["--emitter", &format!("loop={hostile}")], 1)] {
            let arguments = ["run", "m.hlo", "--target", "simt", "--dump-to", "d"];
            let ran = place.run(&[arguments.as_slice(), &choice].concat());
            assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
            let dumped = std::fs::read_to_string(place.path(&format!("d/{file}"))).unwrap();
            assert!(dumped.contains("refused: emitter hostile 0.1.0"), "{name}: {dumped}");
            std::fs::remove_dir_all(place.path("d")).unwrap();
        }
    }
}

#[test]
fn a_faulty_kernel_is_reported_with_its_emitter() {
    let place = Workplace::with_module(&hostile_module("astray"));
    let library = format!("loop={}", built::hostile("").display());
    let ran = place.run(&["run", "m.hlo", "--target", "simt", "--emitter", &library]);
    ran.failed(1, &["kernel astray, written by emitter hostile 0.1.0, is faulty", "out of bounds"]);
}

/// Checks that the simulator reports a kernel that reads out of bounds. On the cpu, such a read may
/// go unnoticed.
#[test]
fn a_kernel_out_of_bounds_on_the_cpu_is_told_by_the_simulator() {
    let place = Workplace::with_module(&hostile_module("reads_astray"));
    let library = format!("loop={}", built::hostile("").display());
    let run =
        |arguments: &[&str]| place.run(&[&["run", "m.hlo", "--check", "--emitter", &library], arguments].concat());
    let words =
        ["the result is not the interpreter's: ", "on the simulator: ", "hostile 0.1.0, is faulty", "out of bounds"];
    run(&[]).failed(1, &words);
    let found = place.run(&["bisect", "m.hlo", "--emitter", &library]);
    for words in ["Emitter hostile 0.1.0 is at fault", "On the simulator: ", "is faulty", "out of bounds"] {
        assert!(found.out.contains(words), "`{words}` is missing in: {}{}", found.out, found.err);
    }
    // Other emitters compute right results, and `--check` confirms this.
    let right = place.run(&["run", "m.hlo", "--check"]);
    assert!(right.code == Some(0) && right.err.contains("check: right, by the interpreter"), "{}", right.err);
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
        for warning in ["b.so: it is no shared library but text", "c.so: it is a FIFO"] {
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

/// A program with two kernels: a transpose and a sine. Only emitters of one kind accept the
/// transpose.
const TWO_KINDS: &str = "HloModule m

ENTRY main {
  x = f32[300,200] parameter(0)
  t = f32[200,300] transpose(x), dimensions={1,0}
  s = f32[300,200] sine(x)
  ROOT r = (f32[200,300], f32[300,200]) tuple(t, s)
}
";

#[test]
fn a_choice_that_made_nothing_is_an_error_that_says_what_there_is() {
    let place = Workplace::with_module(TWO_KINDS);
    let run = |arguments: &[&str]| place.run(&[&["run", "m.hlo", "--target", "simt"], arguments].concat());
    run(&["--emitter", "nosuchkind=loop"])
        .failed(1, &["no emitter is of kind `nosuchkind`; the kinds are concatenate, "]);
    run(&["--emitter", "scan=loop"]).failed(1, &["`scan=loop`", "no kernel", "1 transpose", "1 loop"]);
    run(&["--emitter", "loop=row-reduce"]).failed(1, &["`loop=row-reduce`", "it declines all 1 of its kind", "reduc"]);
    run(&["--emitter", "scatter=loop"]).failed(1, &["`scatter=loop`", "of other kinds"]);
    run(&["--emitter", "loop=row-reduce", "--force"]).failed(1, &["row-reduce", "does not accept fusion"]);
    run(&["--emitter", "loop=loop"]).succeeded();
    // The last choice for a kind overrides the earlier choices, and the program does not check the
    // earlier ones.
    run(&["--emitter", "loop=row-reduce", "--emitter", "loop=loop"]).succeeded();
}

#[test]
fn what_a_chosen_emitter_declines_goes_to_the_others_and_is_counted() {
    // One kernel computes two results in one pass over x. Another kernel has one result.
    let both = "HloModule m

ENTRY main {
  x = f32[300,200] parameter(0)
  y = f32[1000] parameter(1)
  c = f32[300,200] cosine(x)
  q = f32[300,200] exponential(x)
  e = f32[1000] exponential(y)
  ROOT r = (f32[300,200], f32[300,200], f32[1000]) tuple(c, q, e)
}
";
    let place = Workplace::with_module(both);
    // The out-of-tree emitter accepts only fusions with one result.
    let library = built::simple_loop().display().to_string();
    let plain = place.run(&["run", "m.hlo"]).succeeded();
    let chosen = place.run(&["run", "m.hlo", "--emitter", &library]);
    assert_eq!(chosen.code, Some(0), "{}", chosen.err);
    assert!(chosen.err.contains("takes 1 of 2 kernels of its kind and declines 1"), "{}", chosen.err);
    assert!(chosen.err.contains("takes fusions with one array as their result"), "{}", chosen.err);
    assert_eq!(chosen.out.lines().count(), plain.lines().count());
    place.run(&["run", "m.hlo", "--emitter", &library, "--force"]).failed(1, &["does not accept fusion"]);
}

#[test]
fn a_loaded_library_bids_like_the_others() {
    let place = Workplace::with_module(TWO_KINDS);
    let library = built::simple_loop().display().to_string();
    let explained = place.run(&["explain", "m.hlo", "--all", "--load", &library]).succeeded();
    assert!(explained.contains("simple-loop 0.1.0"), "{explained}");
    let predicted =
        |words: &str| explained.lines().any(|line| line.contains(words) && line.contains("predicted to take"));
    assert!(predicted("simple-loop 0.1.0") && predicted("chosen: "), "{explained}");
}

#[test]
fn knobs_reach_the_emitter_in_charge_and_unknown_ones_are_named() {
    let place = Workplace::with_module("fusion {\n  p = f32[4096] parameter(0)\n  ROOT s = f32[4096] sine(p)\n}\n");
    let run = |arguments: &[&str]| place.run(&[&["explain", "m.hlo", "--all", "--target", "simt"], arguments].concat());
    run(&["--knob", "threads=64"]).failed(2, &["write --emitter 'NAME{threads=64}'"]);
    run(&["--emitter", "loop=loop", "--knob", "threads"]).failed(2, &["NAME=VALUE"]);
    run(&["--emitter", "loop=loop", "--knob", "wings=2"]).failed(1, &["no knob `wings`", "here it has"]);
    let chosen = run(&["--emitter", "loop=loop", "--knob", "threads=64"]).succeeded();
    assert!(chosen.contains("x 64") || chosen.contains("64 threads"), "{chosen}");
}

/// The name of a kind selects all linked-in emitters of this kind. Any other name selects a single
/// emitter.
#[test]
fn a_kind_has_several_emitters() {
    let place = Workplace::with_module(
        "HloModule m\nENTRY e {\n  x = f32[40,50] parameter(0)\n  ROOT t = f32[50,40] transpose(x), dimensions={1,0}\n}\n",
    );
    let run = |choice: &str| place.run(&["explain", "m.hlo", "--all", "--force", "--emitter", choice]);
    let any = run("transpose=transpose").succeeded();
    assert!(any.contains("chosen by `transpose=transpose`"), "{any}");
    let one = run("transpose=panel-transpose").succeeded();
    assert!(one.contains("chosen by `transpose=panel-transpose`"), "{one}");
    run("transpose=tiled-transpose").failed(1, &["tiled-transpose", "it requires blocks of many threads, as on a GPU"]);
    run("transpose=transpose@9.9.9").failed(1, &["there is no such emitter"]);
}
