//! Checks what the commands print and which files they write.

use crate::program::Workplace;

const MODULE: &str = "HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  two = f32[] constant(2)
  b = f32[4] broadcast(two), dimensions={}
  m = f32[4] multiply(x, b)
  i = s32[4] iota(), iota_dimension=0
  ROOT t = (f32[4], s32[4]) tuple(m, i)
}
";

#[test]
fn run_prints_a_summary_or_values() {
    let place = Workplace::with_module(MODULE);
    for flags in [&["--interpreter"][..], &[], &["--target", "simt"]] {
        let mut arguments = vec!["run", "m.hlo", "--print"];
        arguments.extend(flags);
        let out = place.run(&arguments).succeeded();
        assert!(out.contains("result 1: s32[4] min 0 max 3 mean 1.5 checksum "), "{out}");
        assert!(out.contains("{0, 1, 2, 3}"), "{out}");
    }
}

#[test]
fn how_far_the_work_is_stands_on_standard_error_if_asked_for() {
    let place = Workplace::with_module(MODULE);
    let commands = [&["run", "m.hlo"][..], &["compile", "m.hlo", "--emit", "mlir"], &["bench", "m.hlo"]];
    for command in commands {
        let (usual, told) = (place.run(command), place.run(&[command, &["--progress"]].concat()));
        assert_eq!(usual.err, "", "no terminal, not asked for");
        assert!(told.err.starts_with("m.hlo: ") && told.err.trim_end().ends_with(" in all"), "{}", told.err);
        let (usual, told) = (usual.succeeded(), told.succeeded());
        assert!(usual == told || command[0] == "bench" && told.lines().count() == 1, "{told}");
    }
    let tuned = place.run(&["tune", "m.hlo", "--progress"]);
    // A slow machine also prints the progress after the first kernel.
    let last = tuned.err.trim_end().lines().last().unwrap_or_default();
    assert!(last.starts_with("m.hlo: 2/2, "), "{}", tuned.err);
}

#[test]
fn the_seed_decides_random_inputs() {
    let place = Workplace::with_module(MODULE);
    let run = |seed| place.run(&["run", "m.hlo", "--seed", seed]).succeeded();
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

#[test]
fn results_can_be_read_back() {
    let place = Workplace::with_module(MODULE);
    place.write("id.hlo", b"HloModule i\nENTRY main { p = f32[4] parameter(0)\n  q = s32[4] parameter(1)\n  ROOT t = (f32[4], s32[4]) tuple(p, q) }");
    let first = place.run(&["run", "m.hlo", "--outputs", "o.npz"]).succeeded();
    assert_eq!(place.run(&["run", "id.hlo", "--inputs", "o.npz"]).succeeded(), first);
}

#[test]
fn modules_come_from_standard_input_too() {
    let place = Workplace::new();
    let out = place.run_with_input(&["run", "-", "--print"], MODULE);
    assert!(out.succeeded().contains("{0, 1, 2, 3}"));
}

#[test]
fn an_executable_is_stored_and_run() {
    let place = Workplace::with_module(MODULE);
    place.run(&["compile", "m.hlo", "--target", "cpu", "-o", "m.fusebox"]).succeeded();
    let compiled = place.run(&["run", "m.fusebox"]).succeeded();
    assert_eq!(compiled, place.run(&["run", "m.hlo"]).succeeded());
}

#[test]
fn compile_stops_at_every_stage() {
    let place = Workplace::with_module(MODULE);
    let emit =
        |stage: &str, target: &str| place.run(&["compile", "m.hlo", "--target", target, "--emit", stage]).succeeded();
    assert!(emit("hlo", "cpu").contains("fusion("));
    assert!(emit("mlir", "cpu").contains("func.func"));
    assert!(emit("mlir-lowered", "cpu").contains("func"));
    assert!(emit("llvm", "cpu").contains("define"));
    assert!(emit("asm", "cpu").contains("ret"));
    assert!(emit("ptx", "sm_90").contains(".entry"));
}

#[test]
fn bench_prints_its_contract_last() {
    let place = Workplace::with_module(MODULE);
    let out = place.run(&["bench", "m.hlo", "--json"]).succeeded();
    let line = out.lines().last().unwrap();
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    for key in ["compile_ms", "median_us", "min_us"] {
        assert!(value[key].as_f64().is_some_and(|v| v > 0.0), "{line}");
    }
    assert!(value["runs"].as_u64().is_some_and(|v| v >= 1), "{line}");
    assert_eq!(value["target"], "cpu");
}

#[test]
fn emitters_lists_the_loop_emitter() {
    let place = Workplace::new();
    assert!(place.run(&["emitters"]).succeeded().contains("loop"));
    let list: serde_json::Value = serde_json::from_str(&place.run(&["emitters", "--json"]).succeeded()).unwrap();
    assert!(list.as_array().unwrap().iter().any(|e| e["name"] == "loop" && e["origin"] == "linked in"), "{list}");
}

#[test]
fn explain_names_emitters_launches_maps_and_host_operations() {
    let place = Workplace::with_module(
        "HloModule m
lt { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[64] parameter(0)
  e = f32[64] exponential(x)
  ROOT s = f32[64] sort(e), dimensions={0}, to_apply=lt
}",
    );
    let out = place.run(&["explain", "m.hlo", "--all"]).succeeded();
    for words in [
        "fused_e: loop",
        "chosen: no other plan to compare with",
        "roots: e (exponential)",
        "hero: neither e nor any of its producers can be the hero",
        "predicted: 256 bytes read, 256 written, 0.076 us",
        " us for launch and distribution; computing ",
        "    visit of ",
        "    writes: ",
        "launch: ",
        "output 0 (Unique): ",
        "s: sort is executed by a host routine",
    ] {
        assert!(out.contains(words), "`{words}` is missing in:\n{out}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&place.run(&["explain", "m.hlo", "--json"]).succeeded()).unwrap();
    assert_eq!(json[0]["emitter"], "loop");
    assert_eq!(json[0]["heroes"][0]["root"], "e");
    assert_eq!(json[0]["heroes"][0]["kind"], "none");
    assert_eq!(json[0]["knobs"]["blocks"], 1);
}

#[test]
fn indexing_prints_maps() {
    let place = Workplace::with_module(
        "HloModule m\nENTRY main { x = f32[2,3] parameter(0)\n  ROOT t = f32[3,2] transpose(x), dimensions={1,0} }",
    );
    assert!(place.run(&["indexing", "m.hlo"]).succeeded().contains("(d1, d0)"));
}

#[test]
fn dumps_are_numbered_by_phase() {
    let place = Workplace::with_module(MODULE);
    place.run(&["run", "m.hlo", "--dump-to", "d"]).succeeded();
    let mut names: Vec<String> =
        std::fs::read_dir(place.path("d")).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in [
        "01-parsed.hlo",
        "02-passes.hlo",
        "03-fused.hlo",
        "04-selected.fused_m.txt",
        "05-plan.fused_m.txt",
        "06-emitted.fused_m.mlir",
        "09-thunks.txt",
        "10-result.txt",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is missing in {names:?}");
    }
    // A pass writes a file only if the pass changes the module.
    let passes = names.iter().filter(|name| name.starts_with("02-passes."));
    let texts: Vec<String> =
        passes.map(|name| std::fs::read_to_string(place.path(&format!("d/{name}"))).unwrap()).collect();
    assert!(texts.len() < 8 && texts.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    let parsed = std::fs::read_to_string(place.path("d/03-fused.hlo")).unwrap();
    place.write("again.hlo", parsed.as_bytes());
    let (first, again) = (place.run(&["run", "m.hlo"]), place.run(&["run", "again.hlo"]));
    assert_eq!(first.succeeded(), again.succeeded(), "a dump is a module");
}

#[test]
fn kernel_quality_is_reported_by_ptxas() {
    let place = Workplace::with_module(MODULE);
    let absent = place.run_with_environment(&["explain", "--ptxas", "m.hlo"], &[("FUSEBOX_PTXAS", "absent")]);
    absent.failed(1, &["FUSEBOX_PTXAS names absent, which is no file"]);
    let fetched = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/ptxas");
    let program = std::env::var_os("FUSEBOX_PTXAS").map_or(fetched, Into::into);
    if !program.exists() {
        eprintln!("skipped: no ptxas at {}", program.display());
        return;
    }
    let environment = [("FUSEBOX_PTXAS", program.to_str().unwrap())];
    let out = place.run_with_environment(&["explain", "--ptxas", "m.hlo"], &environment).succeeded();
    let rows: Vec<&str> = out.lines().collect();
    assert!(rows[0].starts_with("target kernel"), "{out}");
    assert!(rows.iter().any(|row| row.starts_with("sm_80")), "{out}");
    assert!(rows.iter().any(|row| row.starts_with("sm_90") && row.contains(" loop ")), "{out}");
    let json =
        place.run_with_environment(&["explain", "--ptxas", "--json", "--target", "sm_90", "m.hlo"], &environment);
    let json = json.succeeded();
    assert!(json.contains("\"target\":\"sm_90\"") && json.contains("\"spill_stores\":0"), "{json}");
}

#[test]
fn passes_can_be_left_out_one_by_one() {
    let place = Workplace::with_module(&MODULE.replace("constant(2)", "constant(1)"));
    let hlo = |passes: &[&str]| place.run(&[&["compile", "m.hlo", "--emit", "hlo"], passes].concat()).succeeded();
    assert!(!hlo(&[]).contains("multiply("));
    assert!(hlo(&["--passes=-simplify"]).contains("multiply("));
    let help = place.run(&["compile", "--help"]).succeeded();
    let listed = help.lines().filter_map(|line| line.trim().strip_prefix("- -"));
    let optional: Vec<String> = listed.filter_map(|line| Some(format!("-{}", line.split(':').next()?))).collect();
    assert!(optional.contains(&"-simplify".to_owned()) && optional.len() >= 8, "{help}");
    let run = |passes: &[&str]| place.run(&[&["run", "m.hlo", "--print"], passes].concat()).succeeded();
    assert_eq!(run(&["--passes", &optional.join(",")]), run(&[]));
    place.run(&["run", "m.hlo", "--passes=-dead-code"]).failed(2, &["possible values: -equal-combiners, -movements"]);
}

#[test]
fn constants_that_were_left_out_are_refused_or_filled() {
    let place = Workplace::with_module(
        "HloModule m\nENTRY e {\n  c = f32[64] constant({...})\n  n = s32[64] constant({...})\n  ROOT t = (f32[64], s32[64]) tuple(c, n)\n}\n",
    );
    place.run(&["run", "m.hlo"]).failed(1, &["m.hlo:3:", "--elided-constants", "[in c]"]);
    let filled = |how| place.run(&["run", "m.hlo", "--elided-constants", how]).succeeded();
    assert!(filled("zero").contains("f32[64] min 0 max 0"), "{}", filled("zero"));
    let random = filled("random");
    assert!(random.contains("f32[64] min -1 max 0.9375") && random.contains("s32[64] min 0 max 1"), "{random}");
    assert_eq!(random, filled("random"));
}

#[test]
fn of_several_modules_in_a_file_one_is_chosen() {
    let second =
        MODULE.replace("HloModule m\n", "HloModule second, is_scheduled=true\n").replace("constant(2)", "constant(3)");
    let place = Workplace::with_module(&format!("{MODULE}\n{second}\nHloModule broken\nENTRY e {{ x = f32[ }}\n"));
    place.run(&["run", "m.hlo"]).failed(1, &["here are 3 modules", "--module", "m, second, broken"]);
    place.run(&["run", "m.hlo", "--module", "third"]).failed(1, &["no module third", "m, second, broken"]);
    let line = format!("m.hlo:{}:", MODULE.lines().count() * 2 + 4);
    place.run(&["run", "m.hlo", "--module", "broken"]).failed(1, &[&line]);
    let other = Workplace::with_module(&second).run(&["run", "m.hlo", "--print"]).succeeded();
    assert_eq!(place.run(&["run", "m.hlo", "--print", "--module", "second"]).succeeded(), other);
}

/// Checks two long names of kernels that differ only at their ends, and a long name of a fused
/// instruction.
#[test]
fn names_may_be_long() {
    let name = |last: &str| "n".repeat(250) + last;
    let [first, second, inner] = ["1", "2", "3"].map(name);
    let place = Workplace::with_module(&format!(
        "HloModule m\nENTRY e {{\n  x = f32[4,100] parameter(0)\n  {inner} = f32[4,100] sine(x)\n  r = f32[100,4] transpose({inner}), \
         dimensions={{1,0}}\n  {first} = f32[100,4] multiply(r, r)\n  {second} = f32[4,100] exponential({inner})\n  \
         ROOT t = (f32[100,4], f32[4,100]) tuple({first}, {second})\n}}\n"
    ));
    for target in ["cpu", "simt"] {
        place.run(&["run", "m.hlo", "--target", target, "--check", "--dump-to", "dump"]).succeeded();
    }
    place.run(&["compile", "m.hlo", "--target", "sm_90", "--emit", "ptx", "--dump-to", "dump"]).succeeded();
}
