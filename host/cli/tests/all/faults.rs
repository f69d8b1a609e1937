//! Checks exit codes and messages for bad modules, bad inputs and wrong usage.

use crate::program::Workplace;

const ADD: &str = "HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT a = f32[4] add(x, y)
}
";

#[test]
fn malformed_modules_are_diagnosed_with_their_place() {
    for (name, text, place, words) in [
        ("unknown opcode", ADD.replace("add(x", "frobnicate(x"), ":5:", "frobnicate"),
        ("unknown operand", ADD.replace("add(x, y", "add(x, z"), ":5:", "z"),
        ("wrong shape", ADD.replace("ROOT a = f32[4]", "ROOT a = f32[5]"), ":5:", "f32[4]"),
        ("wrong arity", ADD.replace("add(x, y", "add(x, y, x"), ":5:", "add"),
        ("absurd size", ADD.replace("f32[4]", "f32[4611686018427387904]"), ":3:", "4611686018427387904"),
        ("negative size", ADD.replace("x = f32[4]", "x = f32[-4]"), ":3:", ""),
        ("truncated", ADD[..60].into(), ":", ""),
        ("empty", String::new(), "", ""),
        ("garbage", "\u{0}\u{1}\u{2} }{)(".into(), ":1:", ""),
        ("collective", ADD.replace("add(x, y)", "all-reduce(x), replica_groups={{0,1}}, to_apply=main"), ":", ""),
    ] {
        let place_of = Workplace::with_module(&text);
        for command in [&["run", "m.hlo"][..], &["run", "--interpreter", "m.hlo"], &["explain", "m.hlo"]] {
            let ran = place_of.run(command);
            assert_eq!(ran.code, Some(1), "{name}: {}{}", ran.out, ran.err);
            assert!(ran.err.contains("m.hlo") || name == "empty", "{name}: {}", ran.err);
            assert!(ran.err.contains(place) && ran.err.contains(words), "{name}: {}", ran.err);
        }
    }
}

#[test]
fn missing_files_are_named() {
    Workplace::new().run(&["run", "none.hlo"]).failed(1, &["none.hlo"]);
    Workplace::with_module(ADD).run(&["run", "m.hlo", "--inputs", "none.npz"]).failed(1, &["none.npz"]);
}

#[test]
fn broken_inputs_are_refused() {
    let place = Workplace::with_module(ADD);
    place.write("garbage.npz", b"this is no zip file");
    place.write("empty.npz", b"");
    place.run(&["run", "m.hlo", "--inputs", "garbage.npz"]).failed(1, &["garbage.npz"]);
    place.run(&["run", "m.hlo", "--inputs", "empty.npz"]).failed(1, &["empty.npz"]);
    // Uses the results of another module, which returns one array instead of two.
    place.write("other.hlo", b"HloModule o\nENTRY main {\n  ROOT c = f32[4] constant({1,2,3,4})\n}\n");
    place.run(&["run", "--interpreter", "other.hlo", "--outputs", "one.npz"]).succeeded();
    place.run(&["run", "m.hlo", "--inputs", "one.npz"]).failed(1, &["one.npz"]);
    let whole = std::fs::read(place.path("one.npz")).unwrap();
    place.write("cut.npz", &whole[..whole.len() / 2]);
    place.run(&["run", "m.hlo", "--inputs", "cut.npz"]).failed(1, &["cut.npz"]);
}

/// Returns a module of `levels` computations. Each computation calls the previous one `calls`
/// times.
fn tower(levels: usize, calls: usize) -> String {
    let mut text = "HloModule m\nc0 { p = s32[] parameter(0)\n  ROOT r = s32[] add(p, p) }\n".to_string();
    for level in 1..=levels {
        let line = |call: usize| match call {
            0 => format!("  x0 = s32[] call(p), to_apply=c{}\n", level - 1),
            _ => format!("  x{call} = s32[] call(x{}), to_apply=c{}\n", call - 1, level - 1),
        };
        let lines: String = (0..calls).map(line).collect();
        text += &format!("c{level} {{ p = s32[] parameter(0)\n{lines}  ROOT r = s32[] copy(x{}) }}\n", calls - 1);
    }
    text + &format!("ENTRY main {{ p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=c{levels} }}\n")
}

#[test]
fn calls_that_multiply_are_refused_and_deep_ones_are_not() {
    let doubling = Workplace::with_module(&tower(40, 2));
    let deep = Workplace::with_module(&tower(300, 1));
    for command in [&["run", "m.hlo"][..], &["run", "--interpreter", "m.hlo"]] {
        doubling.run(command).failed(1, &["m.hlo:", "calls nest so deeply that more than"]);
        deep.run(command).succeeded();
    }
}

#[test]
fn wrong_usage_has_code_2() {
    let place = Workplace::with_module(ADD);
    place.run(&[]).failed(2, &["Usage"]);
    place.run(&["run"]).failed(2, &["MODULE"]);
    place.run(&["run", "m.hlo", "--frobnicate"]).failed(2, &["--frobnicate"]);
    place.run(&["run", "m.hlo", "--target", "tpu"]).failed(2, &["tpu", "sm_NN"]);
    place.run(&["run", "m.hlo", "--emitter", "loop="]).failed(2, &["names no emitter", "kind=name"]);
    place.run(&["compile", "m.hlo", "--emit", "ptx"]).failed(2, &["sm_NN"]);
}

#[test]
fn unknown_emitters_are_named_with_what_was_meant() {
    let place = Workplace::with_module(ADD);
    place
        .run(&["run", "m.hlo", "--emitter", "loop=nobody"])
        .failed(1, &["loop=nobody", "`fusebox emitters` lists all"]);
    place.run(&["run", "m.hlo", "--emitter", "loop=lop"]).failed(1, &["loop=lop", "did you mean `loop`?"]);
    place.run(&["run", "m.hlo", "--emitter", "./none.so"]).failed(1, &["none.so"]);
}

#[test]
fn a_gpu_that_is_not_there_is_said_plainly() {
    if fusebox_runtime::describe_gpu().is_ok() {
        eprintln!("skipped: a GPU is here");
        return;
    }
    let place = Workplace::with_module(ADD);
    place.run(&["run", "m.hlo", "--target", "cuda"]).failed(1, &["no CUDA driver", "--target cpu"]);
    place.run(&["compile", "m.hlo", "--target", "sm_90", "--emit", "executable", "-o", "m.fusebox"]).succeeded();
    place.run(&["run", "m.fusebox"]).failed(1, &["no CUDA driver"]);
}

#[test]
fn what_nothing_executes_is_named_with_its_place() {
    let call = "HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] sine(x)
  ROOT c = f32[4] custom-call(y), custom_call_target=\"somebody_elses\"
}
";
    let place = Workplace::with_module(call);
    for command in [&["run", "m.hlo"][..], &["compile", "m.hlo", "--emit", "executable", "-o", "m.fusebox"]] {
        place.run(command).failed(1, &["m.hlo:5:", "custom-call", "\"somebody_elses\"", "[in c]"]);
    }
}

#[test]
fn escape_codes_of_what_is_quoted_do_not_reach_the_terminal() {
    let place = Workplace::new();
    let nasty = "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}";
    place.write("m.hlo", format!("HloModule m\nENTRY e {{\n  x = f32[4] nonsense({nasty}) {nasty}\n}}\n").as_bytes());
    place.write("fusebox.toml", format!("[{nasty}]\nx = 1\n").as_bytes());
    for arguments in [&["run", "m.hlo", "--no-config"][..], &["compile", "m.hlo", "--no-config"], &["explain", "m.hlo"]]
    {
        let ran = place.run(arguments);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!ran.err.chars().any(steers), "{:?}", ran.err);
    }
}
