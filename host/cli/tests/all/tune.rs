//! Checks `fusebox tune` in the whole program: the stored choices, the commands that use them, and
//! the effects of concurrent or interrupted runs.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::built;
use crate::program::{Ran, Workplace};
use rustix::process::{Pid, Signal, kill_process};

/// Returns a module with transposes of these sizes and a sine. Each transpose is a kernel that
/// several emitters accept.
fn module(sizes: impl IntoIterator<Item = usize>) -> String {
    let (mut lines, mut shapes, mut names) = (String::new(), Vec::new(), Vec::new());
    for size in sizes {
        lines += &format!("  x{size} = f32[{size},48] parameter({})\n", names.len());
        lines += &format!("  t{size} = f32[48,{size}] transpose(x{size}), dimensions={{1,0}}\n");
        shapes.push(format!("f32[48,{size}]"));
        names.push(format!("t{size}"));
    }
    lines += &format!("  y = f32[99] parameter({})\n  s = f32[99] sine(y)\n", names.len());
    let (shapes, names) = (shapes.join(", "), names.join(", "));
    format!("HloModule m\n\nENTRY main {{\n{lines}  ROOT r = ({shapes}, f32[99]) tuple({names}, s)\n}}\n")
}

fn read(place: &Workplace, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn what_was_measured_is_kept_and_every_command_goes_by_it() {
    let place = Workplace::with_module(&module([300]));
    place.run(&["tune", "m.hlo", "--locked"]).failed(1, &["--locked", "was never tuned", "fused_t300 ("]);
    let first = place.run(&["tune", "m.hlo", "--export", "first.toml"]).succeeded();
    assert!(first.contains("2 fusions, 0 of them known"), "{first}");
    let second = place.run(&["tune", "m.hlo", "--locked", "--export", "second.toml"]).succeeded();
    assert!(second.contains("2 fusions, 2 of them known"), "{second}");
    let text = read(&place, "first.toml");
    assert_eq!(text, read(&place, "second.toml"));
    assert!(text.contains("[device.\"cpu: ") && text.contains("\nfusion = \"fused_t300\"\nspec = \""), "{text}");

    // The program also uses an imported choice of another emitter, and does not measure again.
    let (before, choice) = text.split_once("fusion = \"fused_t300\"\n").unwrap();
    let (_, after) = choice.split_once('\n').unwrap();
    let with_choice = |spec: &str| format!("{before}fusion = \"fused_t300\"\nspec = \"{spec}\"\n{after}");
    place.write("other.toml", with_choice("loop").as_bytes());
    place.run(&["tune", "--import", "other.toml"]).succeeded();
    place.run(&["tune", "m.hlo", "--locked", "--export", "third.toml"]).succeeded();
    assert_eq!(read(&place, "other.toml"), read(&place, "third.toml"));
    let explained = |arguments: &[&str]| place.run(&[&["explain", "m.hlo", "--all"], arguments].concat()).succeeded();
    let tuned = "fused_t300: loop ";
    let reason = "chosen: tuned: `fusebox tune` chose `loop`";
    assert!(explained(&[]).contains(tuned) && explained(&[]).contains(reason), "{}", explained(&[]));
    assert!(!explained(&["--no-tuned"]).contains(reason));
    assert!(!explained(&["--tuned", "elsewhere.redb"]).contains(reason));
    assert!(!explained(&["--threads", "7"]).contains(reason), "this is another device");
    assert!(
        explained(&["--emitter", "transpose=panel-transpose"]).contains("fused_t300: panel-transpose "),
        "the user comes first"
    );
    let kernels = place.run(&["compile", "m.hlo", "--emit", "mlir"]).succeeded();
    assert_ne!(kernels, place.run(&["compile", "m.hlo", "--emit", "mlir", "--no-tuned"]).succeeded());
    let result = place.run(&["run", "m.hlo"]).succeeded();
    assert_eq!(result, place.run(&["run", "m.hlo", "--no-tuned"]).succeeded());

    // If a choice names an emitter that is not loaded, the choice counts as missing.
    place.write("other.toml", with_choice("nobody@1.0.0").as_bytes());
    place.run(&["tune", "--import", "other.toml"]).succeeded();
    place
        .run(&["tune", "m.hlo", "--locked"])
        .failed(1, &["fused_t300", "was tuned for nobody@1.0.0, which is not here"]);
}

/// Returns a module that computes the softmax of four rows. Operations on a whole row read the
/// results of the row's reductions.
fn softmax(columns: usize) -> String {
    format!(
        "HloModule m\n\
         max {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }}\n\
         sum {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }}\n\
         ENTRY main {{ x = f32[4,{columns}] parameter(0)\n low = f32[] constant(-inf)\n zero = f32[] constant(0)\n\
         most = f32[4] reduce(x, low), dimensions={{1}}, to_apply=max\n\
         mosts = f32[4,{columns}] broadcast(most), dimensions={{0}}\n\
         less = f32[4,{columns}] subtract(x, mosts)\n grown = f32[4,{columns}] exponential(less)\n\
         all = f32[4] reduce(grown, zero), dimensions={{1}}, to_apply=sum\n\
         alls = f32[4,{columns}] broadcast(all), dimensions={{0}}\n\
         ROOT shares = f32[4,{columns}] divide(grown, alls) }}\n"
    )
}

#[test]
fn a_cut_that_is_imported_is_made_and_explained() {
    let place = Workplace::new();
    let missing = (1..40).find_map(|it| {
        place.write("m.hlo", softmax(16 * it).as_bytes());
        let ran = place.run(&["tune", "m.hlo", "--locked"]);
        ran.err.contains("(cut-").then_some(ran.err)
    });
    let missing = missing.expect("there is a size for which predictions do not tell cuts apart");
    let region = missing.lines().find_map(|line| Some(line.split_once("(cut-")?.1.split_once(')')?.0)).unwrap();
    place.write("other.hlo", b"HloModule m\nENTRY main { y = f32[99] parameter(0)\n ROOT s = f32[99] sine(y) }\n");
    place.run(&["tune", "other.hlo", "--export", "other.toml"]).succeeded();
    let other = read(&place, "other.toml");
    let device = other.lines().find_map(|line| Some(line.strip_prefix("[device.")?.rsplit_once('.')?.0)).unwrap();
    for (way, said) in [("apart", "would take"), ("row-normalise@0.2.0", "takes ")] {
        let lines = format!("fusion = \"most\"\nspec = \"{way}\"\ninstead_of = \"apart\"\n");
        place.write("cut.toml", format!("[device.{device}.cut-{region}]\n{lines}").as_bytes());
        place.run(&["tune", "--import", "cut.toml"]).succeeded();
        let told = place.run(&["explain", "m.hlo", "--why", "most"]).succeeded();
        let line = told.lines().find(|line| line.contains("row-normalise")).unwrap_or(&told);
        assert!(line.contains(said) && line.contains(&format!("tuned: `fusebox tune` chose `{way}`")), "{told}");
        assert!(!place.run(&["explain", "m.hlo", "--why", "most", "--no-tuned"]).succeeded().contains("tuned"));
    }
}

#[test]
fn a_wrong_kernel_never_wins() {
    let text = "HloModule m\nwrong_result { p = f32[64] parameter(0)\n ROOT root = f32[64] negate(p) }\n\
                ENTRY main { p = f32[64] parameter(0)\n ROOT f = f32[64] fusion(p), kind=kLoop, calls=wrong_result }\n";
    let place = Workplace::with_module(text);
    let library = built::hostile("").display().to_string();
    let run = |arguments: &[&str]| place.run(&[&["run", "m.hlo"], arguments].concat()).succeeded();
    let right = run(&[]);
    assert_ne!(run(&["--load", &library]), right, "the wrong one comes first by itself");
    let told = place.run(&["tune", "m.hlo", "--load", &library]).succeeded();
    assert!(told.contains("hostile@0.1.0 is refused: its result is wrong: result 0: element [0] is"), "{told}");
    assert_eq!(run(&["--load", &library]), right);
}

#[test]
fn two_processes_at_once_go_by_the_same() {
    let place = Workplace::with_module(&module([200, 201]));
    let names = ["a.toml", "b.toml"];
    let start = |name: &str| {
        let mut command = place.command(&["tune", "m.hlo", "--export", name]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for child in names.map(start) {
        Ran::from(child.wait_with_output().unwrap()).succeeded();
    }
    let [a, b] = names.map(|name| read(&place, name));
    assert_eq!(a, b);
}

#[test]
fn an_interrupt_keeps_what_is_done() {
    let place = Workplace::with_module(&module(100..140));
    let mut command = place.command(&["tune", "m.hlo"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let missing = || place.run(&["tune", "m.hlo", "--locked"]).err.matches("was never tuned").count();
    while missing() > 39 {
        assert!(begin.elapsed() < Duration::from_secs(300), "nothing is ever kept");
        std::thread::sleep(Duration::from_millis(50));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.failed(1, &["interrupted", "are not tuned", "finished measurements are kept"]);
    let left = missing();
    assert!(left > 0 && left < 40, "{left} are left");
}

/// Overwrites the tables of the database. They are between the header and the free pages.
fn damage(place: &Workplace) -> Vec<u8> {
    let mut bytes = std::fs::read(place.path("t.redb")).unwrap();
    let text = bytes.windows(6).position(|it| it == b"fusion").unwrap();
    let page = text & !0xfff;
    bytes[page..page + 0x1000].fill(0xff);
    place.write("t.redb", &bytes);
    bytes
}

/// Checks an empty file. Another process may have created the file but not yet written to it.
#[test]
fn an_empty_file_holds_no_choices() {
    let place = Workplace::with_module(&module([300]));
    place.write("t.redb", b"");
    place.run(&["run", "m.hlo", "--tuned", "t.redb"]).succeeded();
    place.run(&["tune", "m.hlo", "--tuned", "t.redb", "--locked"]).failed(1, &["was never tuned"]);
    place.run(&["tune", "m.hlo", "--tuned", "t.redb", "--fusions-alone"]).succeeded();
}

#[test]
fn a_damaged_file_is_told_of_set_aside_and_begun_anew() {
    let place = Workplace::with_module(&module([300]));
    let tune = ["tune", "m.hlo", "--tuned", "t.redb", "--fusions-alone"];
    place.run(&tune).succeeded();
    let damaged = damage(&place);
    // With `--locked`, `run` and `tune` fail.
    for command in [&["run", "m.hlo", "--tuned", "t.redb"][..], &tune] {
        place.run(&[command, &["--locked"]].concat()).failed(1, &["t.redb is damaged", "--no-tuned"]);
    }
    assert!(std::fs::read(place.path("t.redb")).unwrap() == damaged);
    let told = |ran: Ran, aside: &str| {
        assert!(ran.err.contains("t.redb is damaged") && ran.err.contains(aside), "{}", ran.err);
        ran.succeeded();
        assert!(std::fs::read(place.path(aside)).unwrap() == damaged);
    };
    told(place.run(&["run", "m.hlo", "--tuned", "t.redb"]), "t.redb.damaged");
    assert!(!place.path("t.redb").exists());
    place.write("t.redb", &damaged);
    told(place.run(&tune), "t.redb.damaged-2");
    place.run(&["tune", "m.hlo", "--tuned", "t.redb", "--locked"]).succeeded();
    // A file that is not a database belongs to the user. The program must not move or change it.
    for command in [&["run", "m.hlo", "--tuned", "m.hlo"][..], &["tune", "m.hlo", "--tuned", "m.hlo"]] {
        place.run(command).failed(1, &["m.hlo", "--no-tuned"]);
    }
    assert_eq!(read(&place, "m.hlo"), module([300]));
}

#[test]
fn what_is_imported_where_nothing_may_change_is_kept_only_if_it_is_right() {
    let place = Workplace::with_module(&module([300]));
    let names = place.names();
    let import = |text: &str, locked: &[&str]| {
        place.write("choices.toml", text.as_bytes());
        let ran = place.run(&[&["tune", "m.hlo", "--tuned", "t.redb", "--import", "choices.toml"], locked].concat());
        std::fs::remove_file(place.path("choices.toml")).unwrap();
        ran
    };
    import("nonsense", &["--locked"]).failed(1, &["choices.toml"]);
    import("nonsense", &[]).failed(1, &["choices.toml"]);
    let other = Workplace::with_module(&module([300]));
    other.run(&["tune", "m.hlo", "--fusions-alone", "--export", "choices.toml"]).succeeded();
    let good = read(&other, "choices.toml");
    let line = good.lines().find(|line| line.starts_with("spec = ")).unwrap();
    let absent = good.replacen(line, "spec = \"nobody@9.9.9\"", 1);
    import(&absent, &["--locked"]).failed(1, &["nobody@9.9.9", "which is not here"]);
    assert_eq!(place.names(), names);
    import(&good, &["--locked"]).succeeded();
    place.run(&["tune", "m.hlo", "--tuned", "t.redb", "--locked"]).succeeded();
    let kept = std::fs::read(place.path("t.redb")).unwrap();
    import(&absent, &["--locked"]).failed(1, &["nobody@9.9.9"]);
    assert!(std::fs::read(place.path("t.redb")).unwrap() == kept);
}
