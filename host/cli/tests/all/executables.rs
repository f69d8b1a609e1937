//! Checks executables as files: damaged, signed, and from another author.

use std::process::Stdio;

use crate::program::{Ran, Workplace};
use fusebox_core::device::instructions;
use fusebox_runtime::Executable;

/// A program with a kernel, a loop with a predicate, a host operation and a constant.
const PROGRAM: &str = "HloModule m
less {
  p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
next {
  p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[64] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[64] sine(x)
  ROOT t = (s32[], f32[64]) tuple(j, y)
}
ascending {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY main {
  x = f32[64] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[64]) tuple(zero, x)
  loop = (s32[], f32[64]) while(start), condition=less, body=next
  y = f32[64] get-tuple-element(loop), index=1
  ROOT s = f32[64] sort(y), dimensions={0}, to_apply=ascending
}
";

fn with_executable(target: &str) -> Workplace {
    let place = Workplace::with_module(PROGRAM);
    place.run(&["compile", "m.hlo", "--target", target, "--emit", "executable", "-o", "m.fusebox"]).succeeded();
    place
}

#[test]
fn a_damaged_executable_is_never_run() {
    let place = with_executable("cpu");
    let whole = std::fs::read(place.path("m.fusebox")).unwrap();
    let expected = place.run(&["run", "m.fusebox"]).succeeded();
    assert_eq!(expected, place.run(&["run", "m.hlo"]).succeeded());
    // Damages bytes of header, code, thunks and constants.
    for number in 0..60 {
        let at = if number < 20 { number * 3 } else { whole.len() * (number - 20) / 40 };
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (number % 8);
        place.write("damaged.fusebox", &damaged);
        let ran = place.run(&["run", "damaged.fusebox"]);
        assert_eq!(ran.code, Some(1), "byte {at}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out, "", "byte {at}");
        assert!(ran.err.contains("damaged.fusebox"), "byte {at}: {}", ran.err);
    }
    place.write("cut.fusebox", &whole[..whole.len() - 1]);
    place.run(&["run", "cut.fusebox"]).failed(1, &["cut.fusebox", "damaged executable", "compile the module again"]);
}

#[test]
fn an_executable_of_another_format_says_what_to_do() {
    let place = Workplace::new();
    place.write("e.fusebox", b"FUSEBOX\n\x63\0\0\0rest");
    place.run(&["run", "e.fusebox"]).failed(1, &["e.fusebox", "format 99", "compile the module again"]);
}

/// Checks an unchanged executable, and an executable that requires an instruction set that no
/// machine has.
#[test]
fn an_executable_says_all_that_it_needs_of_a_processor_and_runs_nowhere_else() {
    for target in ["cpu", "simt"] {
        let place = with_executable(target);
        let mut executable = Executable::from_bytes(&std::fs::read(place.path("m.fusebox")).unwrap()).unwrap();
        let present: Vec<&str> = instructions::present().collect();
        // The compiler compiles all code for this machine's instruction sets, so code may use all
        // of them.
        assert!(executable.instruction_sets.iter().all(|set| present.contains(&set.as_str())));
        for wide in ["sse4.2", "avx", "avx2", "fma", "avx512f", "avx512vl", "avx512vbmi2", "avx512fp16"] {
            assert_eq!(executable.instruction_sets.iter().any(|set| set == wide), present.contains(&wide), "{wide}");
        }
        executable.instruction_sets.extend(["avx9999f".into(), "amx-none".into()]);
        place.write("other.fusebox", &executable.to_bytes().unwrap());
        let words = ["avx9999f, amx-none", "does not have", "compile the module again on this machine"];
        place.run(&["run", "other.fusebox"]).failed(1, &words);
    }
}

/// Checks that kernels and comparators for `cpu,-avx512` use no AVX-512 instructions, and that the
/// program runs.
#[test]
fn an_executable_without_avx512_needs_none() {
    let place = with_executable("cpu,-avx512");
    let sets = Executable::from_bytes(&std::fs::read(place.path("m.fusebox")).unwrap()).unwrap().instruction_sets;
    assert!(!sets.iter().any(|set| set.contains("512") || set.starts_with("amx")), "{sets:?}");
    assert_eq!(sets.iter().any(|set| set == "avx2"), instructions::present().any(|set| set == "avx2"));
    place.run(&["compile", "m.hlo", "--target", "cpu,-avx512", "--emit", "asm", "-o", "m.s"]).succeeded();
    let assembly = std::fs::read_to_string(place.path("m.s")).unwrap();
    assert!(!assembly.contains("zmm"), "{assembly}");
    place.run(&["run", "m.fusebox"]).succeeded();
}

/// For every target, comparators run on the host. So an executable for a GPU must state which
/// instruction sets the comparators need.
#[test]
fn an_executable_for_a_gpu_says_what_its_comparators_need() {
    let place = Workplace::with_module(
        "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  d = f32[] subtract(b, a)\n  \
         m = f32[] multiply(d, d)\n  s = f32[] add(m, a)\n  ROOT c = pred[] compare(s, b), direction=LT\n}\n\
         ENTRY e {\n  x = f32[64] parameter(0)\n  ROOT s = f32[64] sort(x), dimensions={0}, to_apply=less\n}\n",
    );
    let sets = |target: &str| {
        let arguments = ["compile", "m.hlo", "--target", target, "--emit", "executable", "-o", "m.fusebox"];
        place.run(&arguments).succeeded();
        Executable::from_bytes(&std::fs::read(place.path("m.fusebox")).unwrap()).unwrap().instruction_sets
    };
    assert_eq!(sets("sm_80"), sets("cpu"));
}

#[test]
fn an_executable_is_not_interpreted() {
    with_executable("cpu").run(&["run", "--interpreter", "m.fusebox"]).failed(2, &["machine code"]);
}

/// Module that jax prints for `jax.jit(f, donate_argnums=0).lower(x, y).as_text("hlo")`.
const DONATING: &str = "HloModule jit_f, input_output_alias={ {0}: (0, {}, may-alias) }, \
entry_computation_layout={(f32[1000]{0}, f32[10]{0})->(f32[1000]{0}, f32[1000]{0})}
ENTRY main {
  x = f32[1000]{0} parameter(0)
  y = f32[10]{0} parameter(1)
  i = s32[] constant(3)
  z = f32[1000]{0} sine(x)
  d = f32[1000]{0} dynamic-update-slice(x, y, i)
  ROOT r = (f32[1000]{0}, f32[1000]{0}) tuple(d, z)
}
";

#[test]
fn a_donated_input_is_updated_in_place_by_modules_and_executables() {
    let place = Workplace::with_module(DONATING);
    let text = place.run(&["explain", "m.hlo", "--memory"]).succeeded();
    assert!(text.contains("result 0 uses the buffer of input 0, which x donates"), "{text}");
    assert!(text.contains("outputs 4000, temporaries "), "{text}");
    for target in ["cpu", "simt"] {
        place.run(&["compile", "m.hlo", "--target", target, "--emit", "executable", "-o", "m.fusebox"]).succeeded();
        let expected = place.run(&["run", "m.hlo", "--target", target, "--check", "--print"]).succeeded();
        assert_eq!(place.run(&["run", "m.fusebox", "--print"]).succeeded(), expected);
    }
    place.run(&["bench", "m.hlo"]).succeeded();
}

#[test]
fn results_have_the_same_bits_for_any_number_of_threads_and_in_every_run() {
    let place = Workplace::with_module(
        "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\
         ENTRY main {\n  x = f32[300,4000] parameter(0)\n  z = f32[] constant(0)\n  \
         ROOT r = f32[] reduce(x, z), dimensions={0,1}, to_apply=add\n}\n",
    );
    let run = |threads| place.run(&["run", "m.hlo", "--print", "--threads", threads]).succeeded();
    let expected = run("1");
    ["2", "7", "7", "7"].iter().for_each(|threads| assert_eq!(run(threads), expected, "{threads} threads"));
}

/// Returns the number of copy thunks in a program. The parameter `p` of the program is donated to
/// its only result `n`.
fn copies(lines: &str) -> usize {
    let place = Workplace::with_module(&format!(
        "HloModule m, input_output_alias={{ {{}}: (0, {{}}, may-alias) }}\n\
         ENTRY main {{\n  p = f32[512,64] parameter(0)\n  g = f32[512,64] parameter(1)\n  {lines}\n}}\n"
    ));
    for target in ["cpu", "simt"] {
        place.run(&["run", "m.hlo", "--target", target, "--check", "--dump-to", target]).succeeded();
    }
    let steps = std::fs::read_to_string(place.path("cpu/09-thunks.txt")).unwrap();
    steps.lines().filter(|line| line.trim_start().starts_with("copy ")).count()
}

#[test]
fn element_by_element_a_donated_input_is_written_where_it_is_read() {
    assert_eq!(copies("s = f32[512,64] multiply(g, g)\n  ROOT n = f32[512,64] subtract(p, s)"), 0);
    assert_eq!(
        copies("m = f32[512,64] maximum(p, g)\n  q = f32[512,64] multiply(p, m)\n  ROOT n = f32[512,64] add(q, g)"),
        0
    );
    let shown_otherwise = "r = f32[512,64] reverse(p), dimensions={0}\n  ROOT n = f32[512,64] subtract(p, r)";
    assert_eq!(copies(shown_otherwise), 1, "an element is read after another thread may have written it");
    let shifted = "c = f32[] constant(1)\n  b = f32[512,63] slice(p), slice={[0:512],[0:63]}\n  \
                   s = f32[512,64] pad(b, c), padding=0_0x1_0\n  ROOT n = f32[512,64] multiply(p, s)";
    assert_eq!(copies(shifted), 1);
}

/// Creates a pair of keys, and writes the public key to a file.
fn key(place: &Workplace, file: &str) -> minisign::KeyPair {
    let pair = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    place.write(file, &pair.pk.to_box().unwrap().to_bytes());
    pair
}

fn sign(place: &Workplace, pair: &minisign::KeyPair, file: &str) {
    let data = std::fs::File::open(place.path(file)).unwrap();
    let signature = minisign::sign(Some(&pair.pk), &pair.sk, data, None, None).unwrap();
    place.write(&format!("{file}.minisig"), &signature.to_bytes());
}

#[test]
fn only_what_the_key_has_signed_is_run_where_a_signature_is_required() {
    let place = with_executable("cpu");
    let (ours, theirs) = (key(&place, "ours.pub"), key(&place, "theirs.pub"));
    let run = |arguments: &[&str]| place.run(&[&["run", "--require-signature"], arguments].concat());
    run(&["ours.pub", "m.fusebox"]).failed(1, &["m.fusebox.minisig"]);
    sign(&place, &ours, "m.fusebox");
    run(&["ours.pub", "m.fusebox"]).succeeded();
    run(&["theirs.pub", "m.fusebox"]).failed(1, &["m.fusebox", "theirs.pub", "minisign -Sm"]);
    run(&["none.pub", "m.fusebox"]).failed(1, &["none.pub"]);
    place.write("garbage.pub", b"no key");
    run(&["garbage.pub", "m.fusebox"]).failed(1, &["garbage.pub"]);

    // Another well-formed executable with the same signature.
    let other = Workplace::with_module(&PROGRAM.replace("sine", "cosine"));
    other.run(&["compile", "m.hlo", "--emit", "executable", "-o", "m.fusebox"]).succeeded();
    place.write("m.fusebox", &std::fs::read(other.path("m.fusebox")).unwrap());
    place.run(&["run", "m.fusebox"]).succeeded();
    run(&["ours.pub", "m.fusebox"]).failed(1, &["m.fusebox", "ours.pub"]);
    sign(&place, &theirs, "m.fusebox");
    run(&["theirs.pub", "m.fusebox"]).succeeded();

    run(&["ours.pub", "m.hlo"]).failed(1, &["--require-signature applies only to executables"]);
}

#[test]
fn several_processes_share_a_cache_and_damage_in_it_is_a_miss() {
    let place = Workplace::with_module(PROGRAM);
    let expected = place.run(&["run", "m.hlo"]).succeeded();
    let arguments = ["run", "m.hlo", "--cache", "kept", "--progress"];
    let processes: Vec<_> = (0..4)
        .map(|_| place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for process in processes {
        assert_eq!(Ran::from(process.wait_with_output().unwrap()).succeeded(), expected);
    }
    let told = |word: &str| {
        let ran = place.run(&arguments);
        assert!(ran.err.contains(word) && !ran.err.contains("warning"), "no {word}: {}", ran.err);
        assert_eq!(ran.succeeded(), expected);
    };
    told("cache: hit");
    for (number, file) in std::fs::read_dir(place.path("kept")).unwrap().enumerate() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        if number % 2 == 0 {
            bytes[middle] ^= 1
        } else {
            bytes.truncate(middle)
        }
        std::fs::write(&path, bytes).unwrap();
    }
    told("cache: miss, 0 of");
    told("cache: hit");
}
