//! Checks which files the program reads, and how it writes files.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::program::{Ran, Workplace};

const MODULE: &str = "HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  ROOT a = f32[4] add(x, x)
}
";

/// Runs the program. Kills it with exit code 124 if it hangs.
fn in_time(place: &Workplace, arguments: &[&str]) -> Ran {
    place.shell("timeout 60 \"$@\"", arguments)
}

fn make_fifo(place: &Workplace, name: &str) {
    assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let place = Workplace::with_module(MODULE);
    make_fifo(&place, "fifo");
    symlink("fifo", place.path("link.hlo")).unwrap();
    for (file, kind) in [
        ("fifo", "a FIFO"),
        ("link.hlo", "a FIFO"),
        ("/dev/zero", "a character device"),
        ("/dev/stdin", "a character device"),
        (".", "a directory"),
    ] {
        for arguments in [
            &["run", file][..],
            &["run", "--interpreter", file],
            &["bench", file],
            &["compile", file],
            &["explain", file],
            &["indexing", file],
            &["run", "m.hlo", "--inputs", file],
        ] {
            in_time(&place, arguments).failed(1, &[file, kind]);
        }
    }
}

#[test]
fn modules_larger_than_the_limit_are_refused_and_the_flag_lifts_it() {
    let place = Workplace::with_module(MODULE);
    place.run(&["run", "m.hlo", "--file-limit", "64"]).failed(1, &["m.hlo", "larger than 64 bytes", "--file-limit"]);
    place.run_with_input(&["run", "-", "--file-limit", "64"], MODULE).failed(1, &["standard input", "--file-limit"]);
    place.run(&["run", "m.hlo", "--file-limit", "1K"]).succeeded();
    place.run(&["indexing", "m.hlo", "--file-limit", "64"]).failed(1, &["--file-limit"]);
    place.run(&["run", "m.hlo", "--file-limit", "much"]).failed(2, &["--file-limit", "512M"]);
    // The file is sparse: it takes no disk space.
    std::fs::File::create(place.path("large.hlo")).unwrap().set_len((2 << 30) + 1).unwrap();
    in_time(&place, &["run", "large.hlo"]).failed(1, &["large.hlo", "larger than 2147483648 bytes"]);
    let endless = place.shell("timeout 60 \"$@\" < /dev/zero", &["run", "-", "--file-limit", "1M"]);
    endless.failed(1, &["standard input", "larger than 1048576 bytes"]);
}

#[test]
fn an_input_named_as_output_is_refused_whatever_it_is_called() {
    let place = Workplace::with_module(MODULE);
    let input = "HloModule i\nENTRY main { ROOT c = f32[4] constant({1,2,3,4}) }\n";
    place.write("i.hlo", input.as_bytes());
    place.run(&["run", "i.hlo", "--outputs", "in.npz"]).succeeded();
    for (name, of) in [("m.hlo", "m"), ("in.npz", "in")] {
        symlink(name, place.path(&format!("{of}.link"))).unwrap();
        std::fs::hard_link(place.path(name), place.path(&format!("{of}.hard"))).unwrap();
    }
    let before = (std::fs::read(place.path("m.hlo")).unwrap(), std::fs::read(place.path("in.npz")).unwrap());
    for output in ["m.hlo", "./m.hlo", "m.link", "m.hard", "in.npz", "in.link", "in.hard"] {
        let ran = place.run(&["run", "m.hlo", "--inputs", "in.npz", "--outputs", output]);
        ran.failed(2, &[output, "the same file as the input"]);
    }
    for output in ["m.hlo", "m.link", "m.hard"] {
        place.run(&["compile", "m.hlo", "-o", output]).failed(2, &[output, "the same file as the input m.hlo"]);
    }
    place.write("01-parsed.hlo", MODULE.as_bytes());
    place.run(&["run", "01-parsed.hlo", "--dump-to", "."]).failed(2, &["the same file as the input 01-parsed.hlo"]);
    place.run(&["indexing", "01-parsed.hlo", "--dump-to", "."]).failed(2, &["the same file as the input"]);
    place.shell("\"$@\" < m.hlo", &["compile", "-", "-o", "m.hlo"]).failed(2, &["the same file as the input -"]);
    assert_eq!(before, (std::fs::read(place.path("m.hlo")).unwrap(), std::fs::read(place.path("in.npz")).unwrap()));
}

#[test]
fn a_run_that_fails_leaves_the_old_results() {
    let place = Workplace::with_module(MODULE);
    place.write("out.npz", b"precious");
    place.run(&["run", "m.hlo", "--inputs", "none.npz", "--outputs", "out.npz"]).failed(1, &["none.npz"]);
    assert_eq!(std::fs::read(place.path("out.npz")).unwrap(), b"precious");
}

#[test]
fn results_go_through_links_and_into_fifos_and_devices() {
    let place = Workplace::with_module(MODULE);
    place.run(&["run", "m.hlo", "--outputs", "plain.npz"]).succeeded();
    let plain = std::fs::read(place.path("plain.npz")).unwrap();
    symlink("new.npz", place.path("link.npz")).unwrap();
    place.run(&["run", "m.hlo", "--outputs", "link.npz"]).succeeded();
    assert!(place.path("link.npz").is_symlink());
    assert_eq!(std::fs::read(place.path("new.npz")).unwrap(), plain);
    make_fifo(&place, "fifo");
    let reader = {
        let fifo = place.path("fifo");
        std::thread::spawn(move || std::fs::read(fifo).unwrap())
    };
    in_time(&place, &["run", "m.hlo", "--outputs", "fifo"]).succeeded();
    assert_eq!(reader.join().unwrap(), plain);
    place.run(&["run", "m.hlo", "--outputs", "/dev/null"]).succeeded();
    place.run(&["run", "m.hlo", "--outputs", "/dev/full"]).failed(1, &["/dev/full", "a character device", "No space"]);
    place.run(&["compile", "m.hlo", "-o", "/dev/full"]).failed(1, &["/dev/full", "No space"]);
    place.run(&["run", "m.hlo", "--outputs", "."]).failed(1, &["directory"]);
    place.run(&["run", "m.hlo", "--outputs", "none/out.npz"]).failed(1, &["none/out.npz", "No such file"]);
    place.run(&["run", "m.hlo", "--dump-to", "m.hlo"]).failed(1, &["m.hlo", "directory"]);
    assert_eq!(place.names(), ["fifo", "link.npz", "m.hlo", "new.npz", "plain.npz"]);
}
