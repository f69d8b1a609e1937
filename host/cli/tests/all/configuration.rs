//! Checks `fusebox.toml` in the whole program: where the program finds the file, which decisions it
//! makes, and which options of the command line override it.

use crate::built;
use crate::program::Workplace;

/// Two kernels: a transpose and a sine.
const MODULE: &str = "HloModule m

ENTRY main {
  x = f32[300,200] parameter(0)
  t = f32[200,300] transpose(x), dimensions={1,0}
  s = f32[300,200] sine(x)
  ROOT r = (f32[200,300], f32[300,200]) tuple(t, s)
}
";

/// Returns a module with one fusion of this name, in the form that `testing/hostile-emitter`
/// expects.
fn of_64(name: &str) -> String {
    format!(
        "HloModule m\n{name} {{ p = f32[64] parameter(0)\n ROOT root = f32[64] negate(p) }}\n\
         ENTRY main {{ p = f32[64] parameter(0)\n ROOT f = f32[64] fusion(p), kind=kLoop, calls={name} }}\n"
    )
}

/// Creates a workplace with the module and a `fusebox.toml` that contains `settings`.
fn place(settings: &str) -> Workplace {
    let place = Workplace::with_module(MODULE);
    place.write("fusebox.toml", settings.as_bytes());
    place
}

fn explained(place: &Workplace, arguments: &[&str]) -> String {
    place.run(&[&["explain", "m.hlo", "--all", "--target", "simt"], arguments].concat()).succeeded()
}

/// Returns the names and fingerprints of the kernels, in order.
fn fusions(place: &Workplace) -> Vec<(String, String)> {
    let json: serde_json::Value = serde_json::from_str(&explained(place, &["--json"])).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    json.as_array().unwrap().iter().map(|kernel| (text(&kernel["fusion"]), text(&kernel["fingerprint"]))).collect()
}

#[test]
fn a_kind_is_given_to_an_emitter_with_knobs_and_explain_says_where() {
    let place = place("[emitters]\ntranspose = \"tiled-transpose{edge=16}\"\nscatter = \"scatter\"\n");
    let text = explained(&place, &[]);
    assert!(text.contains("chosen: chosen by `transpose=tiled-transpose{edge=16}` (fusebox.toml:2)"), "{text}");
    assert!(text.contains("edge=16"), "{text}");
    // The module has no scatter. A choice in the file may apply only to other modules.
    let text = explained(&place, &["--emitter", "transpose=tiled-transpose{edge=32}"]);
    assert!(text.contains("chosen by `transpose=tiled-transpose{edge=32}`\n") && text.contains("edge=32"), "{text}");
    let text = explained(&place, &["--emitter", "transpose=tiled-transpose{edge=32}", "--knob", "edge=64"]);
    assert!(text.contains("edge=64") && !text.contains("edge=32"), "--knob is nearer: {text}");
    assert!(!explained(&place, &["--no-config"]).contains("edge=16"));
}

#[test]
fn fusions_are_chosen_by_name_and_by_fingerprint() {
    let all = fusions(&place(""));
    let [(name, fingerprint), (other, other_fingerprint)] = &all[..] else { panic!("{all:?}") };
    let chosen = |settings: &str, arguments: &[&str]| {
        let text = explained(&place(settings), arguments);
        let line = text.lines().find(|line| line.contains("chosen: chosen by"));
        let before = text.split("chosen: chosen by").next().unwrap();
        let fusion = before.lines().rfind(|line| !line.starts_with(' ')).map(|line| line.split(':').next().unwrap());
        line.map(|line| (fusion.unwrap().to_owned(), line.to_owned()))
    };
    for (settings, wanted, line) in [
        (format!("[fusions]\n{name} = \"loop\"\n"), name, format!("by `fusion:{name}=loop` (fusebox.toml:2)")),
        (format!("[fusions]\n{other} = \"loop\"\n"), other, format!("`fusion:{other}=loop`")),
        (format!("[fingerprints]\n\"{}*\" = \"loop\"\n", &fingerprint[..12]), name, "`fingerprint:".into()),
        (format!("[fingerprints]\n{other_fingerprint} = \"loop\"\n"), other, "`fingerprint:".into()),
    ] {
        let (fusion, found) = chosen(&settings, &[]).unwrap();
        assert!(fusion == *wanted && found.contains(&line), "{settings}: {fusion} {found}");
    }
    // A choice for a named fusion overrides a choice for a kind, whichever comes first. The command
    // line overrides the file.
    let both = format!("[fusions]\n{name} = \"loop\"\n[emitters]\ntranspose = \"tiled-transpose\"\n");
    assert!(chosen(&both, &[]).unwrap().1.contains("fusion:"), "of the file");
    let against = chosen(&both, &["--emitter", "transpose=tiled-transpose"]).unwrap().1;
    assert!(against.contains("`transpose=tiled-transpose`") && !against.contains("fusebox.toml"), "{against}");
    let named = format!("fusion:{name}=loop");
    let against = chosen("", &["--emitter", &named, "--emitter", "transpose=tiled-transpose"]).unwrap().1;
    assert!(against.contains(&named), "{against}");
    // On the command line, a name that matches no fusion is an error, and the message lists the
    // fusions. In the file, such a name is not an error.
    place("")
        .run(&["run", "m.hlo", "--emitter", "fusion:nothing*=loop"])
        .failed(1, &["fusion:nothing* matches no fusion", name, fingerprint]);
    assert_eq!(chosen("[fusions]\n\"nothing*\" = \"loop\"\n", &[]), None);
}

#[test]
fn the_nearest_file_counts_and_its_paths_are_its_own() {
    let place = place("[emitters]\ntranspose = \"loop\"\n");
    std::fs::create_dir_all(place.path("models/small")).unwrap();
    std::fs::create_dir(place.path("plugins")).unwrap();
    std::fs::copy(built::simple_loop(), place.path("plugins/mine.so")).unwrap();
    place.write("models/small/m.hlo", MODULE.as_bytes());
    let explain = |arguments: &[&str]| place.run(&[&["explain", "--all"], arguments].concat()).succeeded();
    assert!(explain(&["models/small/m.hlo"]).contains("`transpose=loop` (fusebox.toml:2)"));
    place.write("models/fusebox.toml", b"[plugins.mine]\npath = \"../plugins/mine.so\"\n");
    let text = explain(&["models/small/m.hlo"]);
    assert!(!text.contains("fusebox.toml:2") && text.contains("simple-loop 0.1.0"), "{text}");
    place.write("models/fusebox.toml", b"[emitters]\nloop = \"../plugins/mine.so\"\n");
    assert!(explain(&["models/small/m.hlo"]).contains("mine.so` (models/fusebox.toml:2)"));
    assert!(explain(&["models/small/m.hlo", "--config", "fusebox.toml"]).contains("(fusebox.toml:2)"));
    let from_input = place.run_with_input(&["explain", "-", "--all"], MODULE).succeeded();
    assert!(from_input.contains("(fusebox.toml:2)"), "of the working directory: {from_input}");
    place.run(&["run", "m.hlo", "--config", "none.toml"]).failed(1, &["none.toml"]);
    place.run(&["run", "m.hlo", "--config", "fusebox.toml", "--no-config"]).failed(2, &["--no-config"]);
}

#[test]
fn two_versions_of_one_emitter_stand_side_by_side() {
    let place = Workplace::with_module(&of_64("harmless"));
    let settings = format!(
        "[plugins.old]\npath = \"{}\"\n[plugins.new]\npath = \"{}\"\n",
        built::hostile("").display(),
        built::hostile("newer").display()
    );
    place.write("fusebox.toml", settings.as_bytes());
    let text = explained(&place, &[]);
    assert!(text.contains("  hostile 0.1.0 (") && text.contains("  hostile 0.2.0 ("), "both bid: {text}");
    let chosen = explained(&place, &["--emitter", "loop=hostile@0.1.0"]);
    assert!(chosen.lines().any(|line| line.contains("hostile 0.1.0 (") && line.contains("chosen by")), "{chosen}");
    let newest = explained(&place, &["--emitter", "hostile"]);
    assert!(newest.lines().any(|line| line.contains("hostile 0.2.0 (") && line.contains("chosen by")), "{newest}");
}

#[test]
fn one_plugin_is_isolated_with_its_limits_and_the_command_line_sets_others() {
    let settings = |limits: &str| {
        let place = Workplace::with_module(&of_64("hoard"));
        let library = built::hostile("").display().to_string();
        let text = format!("[plugins.bad]\npath = \"{library}\"\n{limits}\n[emitters]\nloop = \"hostile\"\n");
        place.write("fusebox.toml", text.as_bytes());
        place
    };
    let place = settings("isolate = true\nmemory = \"1G\"\n");
    place.run(&["run", "m.hlo"]).failed(1, &["isolated", "it had 1.0 GiB of memory"]);
    place.run(&["run", "m.hlo", "--isolate-memory", "512M"]).failed(1, &["it had 0.5 GiB of memory"]);
    place.run(&["run", "m.hlo", "--isolate-time", "0"]).failed(2, &["--isolate-time"]);
    let place = settings("isolate = true\ntime = 1\n");
    place.write("m.hlo", of_64("hang").as_bytes());
    place.run(&["run", "m.hlo"]).failed(1, &["did not answer within 1 s"]);
    let emitters = place.run(&["emitters"]).succeeded();
    assert_eq!(emitters.matches(", isolated").count(), 2, "only those of the plugin: {emitters}");
}

#[test]
fn what_is_wrong_in_the_file_is_told_with_its_place() {
    let place = place("");
    for (text, words) in [
        ("[plugin]\n", &["fusebox.toml:1:2: error: unknown key `plugin`; did you mean `plugins`?"][..]),
        ("[plugins.a]\npath = \"none.so\"\n", &["fusebox.toml:2:8: error: plugin `a`: emitter library none.so"]),
        (
            "[emitters]\nloop = \"lop\"\n",
            &["fusebox.toml:2:8: error: emitter spec `loop=lop`: there is no such emitter; did you mean `loop`?"],
        ),
        (
            "[emitters]\nloop = \"loop@0.2.9\"\n",
            &["fusebox.toml:2:8: error: emitter spec `loop=loop@0.2.9`: there is no such emitter; there is `loop@0."],
        ),
        ("[emitters]\nloop = \"lop{\"\n", &["fusebox.toml:2:8: error: emitter spec `loop=lop{`"]),
    ] {
        place.write("fusebox.toml", text.as_bytes());
        place.run(&["run", "m.hlo"]).failed(1, words);
        place.run(&["emitters"]).failed(1, words);
        place.run(&["run", "m.hlo", "--no-config"]).succeeded();
    }
    // A library that this run does not load may contain emitters of that kind.
    place.write("fusebox.toml", b"[emitters]\nlop = \"loop\"\n");
    let ran = place.run(&["run", "m.hlo"]);
    let warning =
        "fusebox.toml:2:7: warning: emitter spec `lop=loop`: no emitter is of kind `lop`; did you mean `loop`?";
    assert!(ran.code == Some(0) && ran.err.contains(warning), "{}", ran.err);
    place.run(&["run", "m.hlo", "--no-config", "--emitter", "lop=loop"]).failed(1, &["no emitter is of kind `lop`"]);
    place.write("fusebox.toml", b"[emitters]\nloop = \"loop{wings=2}\"\n");
    place.run(&["run", "m.hlo"]).failed(1, &["has no knob `wings`"]);
}

/// Returns the state of the cache that the program reports: a hit, a miss, or no state.
fn cached(place: &Workplace, arguments: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    let arguments =
        [&["compile", "m.hlo", "--emit", "executable", "-o", "m.fusebox", "--progress"], arguments].concat();
    let ran = place.run_with_environment(&arguments, variables);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let said = ran.err.split_once("m.hlo: cache: ")?.1;
    Some(said.split([',', '\n']).next().unwrap().to_owned())
}

#[test]
fn the_cache_is_where_the_command_or_the_variable_or_the_file_says() {
    let place = Workplace::with_module(&of_64("small"));
    let says = |word: &str| Some(word.to_owned());
    assert_eq!(cached(&place, &[], &[]), None, "by default there is none");
    assert_eq!(cached(&place, &["--cache", "a"], &[]), says("miss"));
    assert_eq!(cached(&place, &["--cache", "a"], &[]), says("hit"));
    assert_eq!(cached(&place, &[], &[("FUSEBOX_CACHE", "a")]), says("hit"));
    assert_eq!(cached(&place, &["--cache", "b"], &[("FUSEBOX_CACHE", "a")]), says("miss"));
    assert_eq!(cached(&place, &["--no-cache"], &[("FUSEBOX_CACHE", "a")]), None);
    assert_eq!(cached(&place, &[], &[("FUSEBOX_CACHE", "")]), None);
    place.write("fusebox.toml", b"[cache]\npath = \"a\"\nlimit = \"100\"\n");
    assert_eq!(cached(&place, &[], &[]), says("hit"));
    assert_eq!(cached(&place, &[], &[("FUSEBOX_CACHE", "c")]), says("miss"));
    let ran = place.run(&["run", "m.hlo", "--cache", "d"]);
    assert!(ran.err.contains("warning: ") && ran.err.contains("more than 100"), "the file's limit: {}", ran.err);
    let ran = place.run(&["run", "m.hlo", "--cache", "d", "--cache-limit", "1M"]);
    assert_eq!(ran.err, "");
    let json: serde_json::Value = serde_json::from_str(&place.run(&["bench", "m.hlo", "--json"]).succeeded()).unwrap();
    assert_eq!(json["cache"], "hit");
    place.run(&["run", "m.hlo", "--cache", "m.hlo"]).failed(1, &["m.hlo"]);
}

#[test]
fn a_plugin_that_has_changed_is_no_hit() {
    let place = Workplace::with_module(&of_64("small"));
    std::fs::copy(built::simple_loop(), place.path("mine.so")).unwrap();
    let arguments = ["--cache", "kept", "--load", "mine.so"];
    assert_eq!(cached(&place, &arguments, &[]).as_deref(), Some("miss"));
    assert_eq!(cached(&place, &arguments, &[]).as_deref(), Some("hit"));
    assert_eq!(cached(&place, &arguments[..2], &[]).as_deref(), Some("miss"), "without it");
    let library = std::fs::read(place.path("mine.so")).unwrap();
    place.write("mine.so", &[&library[..], b"x"].concat());
    assert_eq!(cached(&place, &arguments, &[]).as_deref(), Some("miss"));
}
