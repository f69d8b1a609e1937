//! Checks `fusebox emitters`: how it describes libraries, and how `fusebox.lock` pins them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::built;
use crate::program::Workplace;
use serde_json::Value;

const MODULE: &str = "HloModule m\nENTRY main {\n  p = f32[64] parameter(0)\n  ROOT r = f32[64] negate(p)\n}\n";
const SETTINGS: &str = "[plugins.mine]\npath = \"mine.so\"\n";

/// Creates a workplace with a module and a `fusebox.toml`. The file names one plugin, the
/// out-of-tree emitter.
fn place() -> Workplace {
    let place = Workplace::with_module(MODULE);
    place.write("fusebox.toml", SETTINGS.as_bytes());
    std::fs::copy(built::simple_loop(), place.path("mine.so")).unwrap();
    place
}

/// Replaces all occurrences of `from` in a file by `to`.
fn patched(place: &Workplace, file: &str, from: &[u8], to: &[u8]) {
    let mut bytes = std::fs::read(place.path(file)).unwrap();
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at..at + to.len()].copy_from_slice(to));
    place.write(file, &bytes);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn inspecting_tells_all_without_running_anything() {
    let place = place();
    let text = place.run(&["emitters", "inspect", "mine.so"]).succeeded();
    for words in [
        "simple-loop 0.1.0, with fusebox-core 0.1.0",
        "interface  1.0",
        "kind loop",
        "can be loaded",
        "sm_NN",
        "mine.so",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let told = json(&place.run(&["emitters", "inspect", "mine.so", "--json"]).succeeded());
    assert_eq!(told["emitters"][0]["name"], "simple-loop");
    assert_eq!(told["sha256"].as_str().unwrap().len(), 64);
    // The library panics when the program asks for the library's description. The library file
    // contains no crate name and version.
    let hostile = built::hostile("panic").display().to_string();
    let text = place.run(&["emitters", "inspect", &hostile]).succeeded();
    assert!(text.contains("the file does not say"), "{text}");
    assert!(place.run(&["emitters", "--no-config", "--load", &hostile]).err.contains("no description today"));
    // The interface of this library is newer than that of the program.
    place.write("mine.so", &built::with_interface(std::fs::read(place.path("mine.so")).unwrap(), 1999));
    let ran = place.run(&["emitters", "inspect", "mine.so"]);
    let text = ran.out.clone();
    ran.failed(1, &["wanted 1000"]);
    assert!(text.contains("interface  1.999") && text.contains("refused: ") && text.contains("wanted 1000"), "{text}");
    place
        .run(&["emitters", "inspect", "m.hlo"])
        .failed(1, &["it is no shared library but text; `cargo build --release`"]);
    place.run(&["emitters", "inspect", "none.so"]).failed(1, &["none.so"]);
}

#[test]
fn bundled_libraries_list_their_emitters() {
    let reduce = built::bundled_reduce().display().to_string();
    let told = json(&Workplace::new().run(&["emitters", "inspect", &reduce, "--json"]).succeeded());
    let listed: Vec<&Value> = told["emitters"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    let loaded = json(&Workplace::new().run(&["emitters", "list", "--load", &reduce, "--json"]).succeeded());
    let loaded: Vec<&Value> =
        loaded.as_array().unwrap().iter().filter(|it| it["origin"] != "linked in").map(|it| &it["name"]).collect();
    assert!(listed.len() > 1);
    assert_eq!(listed, loaded);
}

#[test]
fn a_library_that_calls_itself_otherwise_than_its_file_is_refused() {
    let place = place();
    patched(&place, "mine.so", b"loop simple-loop 0.1.0\n", b"loop simple-lo0p 0.1.0\n");
    for isolate in [&["--isolate"][..], &[]] {
        place.run(&[&["run", "m.hlo", "--no-config", "--load", "mine.so"], isolate].concat()).failed(
            1,
            &["mine.so: its emitters describe themselves differently", "export_emitters!", "build it again"],
        );
    }
}

#[test]
fn a_pinned_plugin_is_refused_when_it_has_changed_and_another_is_not() {
    let place = place();
    let mend = "`fusebox emitters lock` pins it";
    place.run(&["run", "m.hlo", "--locked"]).failed(
        1,
        &["fusebox.toml:2:8: error: plugin `mine`: found mine.so with SHA-256 ", "fusebox.lock does not have it", mend],
    );
    place.run(&["emitters", "verify"]).failed(1, &["1 of 1 plugins of fusebox.toml cannot be used as they are"]);
    place.run(&["run", "m.hlo"]).succeeded();
    // Rebuilding a plugin under development changes the file.
    let built = std::fs::read(place.path("mine.so")).unwrap();
    place.write("mine.so", &[&built[..], b"\0"].concat());
    place.run(&["run", "m.hlo"]).succeeded();
    assert!(!place.names().contains(&"fusebox.lock".into()), "none of these pins anything");
    place.run(&["emitters", "lock"]).succeeded();
    let lock = std::fs::read_to_string(place.path("fusebox.lock")).unwrap();
    assert!(lock.contains("[plugins.mine]\nsha256 = \""), "{lock}");
    place.run(&["run", "m.hlo", "--locked"]).succeeded();
    assert!(place.run(&["emitters", "verify"]).succeeded().contains("mine: as pinned"));

    std::fs::copy(built::hostile(""), place.path("mine.so")).unwrap();
    for command in [&["run", "m.hlo"][..], &["run", "m.hlo", "--locked"], &["emitters"]] {
        place.run(command).failed(1, &["plugin `mine`: found mine.so with SHA-256 ", "fusebox.lock wants ", mend]);
    }
    let verified = place.run(&["emitters", "verify", "--json"]);
    assert_eq!(verified.code, Some(1));
    assert!(
        json(&verified.out)[0]["state"].as_str().unwrap().starts_with("changed: found mine.so"),
        "{}",
        verified.out
    );
    assert_eq!(lock, std::fs::read_to_string(place.path("fusebox.lock")).unwrap());
    assert!(place.run(&["emitters", "lock"]).succeeded().contains("1 plugins are pinned in fusebox.lock"));
    assert!(place.run(&["emitters", "--locked"]).succeeded().contains("hostile"));
    // If a choice names a library file, this library is also a plugin.
    place.write("fusebox.toml", b"[emitters]\nloop = \"./mine.so\"\n");
    place.run(&["emitters", "--locked"]).failed(1, &["fusebox.toml:2:8: error: plugin `./mine.so`: found", mend]);
    // The lock file drops plugins that `fusebox.toml` no longer names.
    place.write("fusebox.toml", b"");
    place.run(&["emitters", "lock"]).succeeded();
    assert!(!std::fs::read_to_string(place.path("fusebox.lock")).unwrap().contains("mine"));
}

#[test]
fn verifying_names_what_is_missing_broken_and_there_twice() {
    let place = place();
    let settings = "[plugins.mine]\npath = \"mine.so\"\n[plugins.again]\npath = \"again.so\"\n\
                    [plugins.lost]\npath = \"lost.so\"\n[plugins.cut]\npath = \"cut.so\"\n";
    place.write("fusebox.toml", &settings.as_bytes()[..settings.find("[plugins.lost]").unwrap()]);
    let whole = std::fs::read(place.path("mine.so")).unwrap();
    place.write("again.so", &[&whole[..], b"\0"].concat());
    place.write("cut.so", &whole[..whole.len() / 2]);
    let twice = "simple-loop 0.1.0 is offered twice: by plugin `mine` and by plugin `again`";
    place.run(&["emitters", "lock"]).failed(1, &["fusebox.toml:4:8: error: plugin `again`: ", twice]);
    place.run(&["run", "m.hlo"]).failed(1, &["plugin `again`: ", "is offered twice"]);
    place.write("fusebox.toml", settings.as_bytes());
    let verified = place.run(&["emitters", "verify"]);
    for words in ["lost: refused: emitter library lost.so", "cut: refused: emitter library cut.so: not a complete"] {
        assert!(verified.out.contains(words), "{words}: {}", verified.out);
    }
    verified.failed(1, &["4 of 4 plugins"]);
    place.write("fusebox.toml", b"[plugins.lost]\npath = \"lost.so\"\n");
    place.run(&["emitters", "lock"]).failed(1, &["fusebox.toml:2:8: error: plugin `lost`: emitter library lost.so"]);
    Workplace::new().run(&["emitters", "verify"]).failed(1, &["there is no fusebox.toml here or above"]);
}

#[test]
fn a_broken_lock_is_an_error_and_so_is_one_that_cannot_be_written() {
    let place = place();
    place.write("fusebox.lock", b"version = 1\nplugin = 2\n");
    place.run(&["run", "m.hlo"]).failed(1, &["fusebox.lock:2:1: error: unknown key `plugin`; did you mean `plugins`?"]);
    std::fs::remove_file(place.path("fusebox.lock")).unwrap();
    std::os::unix::fs::symlink("/proc/fusebox.lock", place.path("fusebox.lock")).unwrap();
    place.run(&["run", "m.hlo"]).succeeded();
    place.run(&["emitters", "lock"]).failed(1, &["fusebox.lock"]);
}

#[test]
fn the_examples_of_the_document_are_right() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md")).unwrap();
    let blocks: Vec<&str> = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    for key in ["[plugins.", "path =", "isolate =", "memory =", "time =", "[emitters]", "[fusions]", "[fingerprints]"] {
        assert!(blocks.iter().any(|block| block.contains(key)), "no example of {key}");
    }
    for block in blocks {
        let place = Workplace::new();
        std::fs::create_dir(place.path("plugins")).unwrap();
        std::fs::copy(built::simple_loop(), place.path("plugins/libsimple_loop.so")).unwrap();
        place.write("fusebox.toml", block.as_bytes());
        place.run(&["emitters"]).succeeded();
    }
}

#[test]
fn shells_and_manuals_know_the_commands() {
    let place = Workplace::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completion", shell]).succeeded();
        assert!(script.contains("explain") && script.contains("inspect"), "{shell}");
    }
    place.run(&["completion", "cmd"]).failed(2, &["bash, elvish, fish, powershell, zsh"]);
    assert!(place.run(&["man"]).succeeded().contains(".TH fusebox 1"));
    assert!(place.run(&["man", "run"]).succeeded().contains("isolate\\-memory"));
    for hidden in ["serve-emitter", "none"] {
        place.run(&["man", hidden]).failed(2, &["there is no command"]);
    }
}

/// Checks that no unpinned library is loaded while another thread exchanges a pinned library for an
/// unpinned one. The exchanges are as fast as the file system allows.
#[test]
fn what_is_not_pinned_is_not_loaded_in_the_moment_between() {
    let place = place();
    place.run(&["emitters", "lock"]).succeeded();
    let pinned = json(&place.run(&["emitters", "inspect", "mine.so", "--json"]).succeeded())["sha256"].clone();
    let [library, mine, next] = ["mine.so", "0.so", "next.so"].map(|name| place.path(name));
    std::fs::copy(&library, &mine).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for other in [built::simple_reduce(), mine.clone()].iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                std::fs::hard_link(other, &next).or_else(|_| std::fs::copy(other, &next).map(drop)).unwrap();
                std::fs::rename(&next, &library).unwrap();
                // If both names are links to the same file, `rename` changes nothing.
                let _ = std::fs::remove_file(&next);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for number in 0..30 {
            let isolate = if number % 3 == 0 { &["--isolate"][..] } else { &[] };
            let ran = place.run(&[&["emitters", "list", "--locked", "--json"][..], isolate].concat());
            if ran.code == Some(1) {
                assert!(ran.err.contains("found mine.so with SHA-256"), "{}", ran.err);
                continue;
            }
            let listed = json(&ran.succeeded());
            let loaded = listed.as_array().unwrap().iter().find(|it| !it["sha256"].is_null()).unwrap();
            assert_eq!((&loaded["name"], &loaded["sha256"]), (&json("\"simple-loop\""), &pinned));
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
