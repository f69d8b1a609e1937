//! Kills the program at random moments. The named result file must always be complete.
//!
//! `FUSEBOX_KILLS` sets the number of kills. `FUSEBOX_PROGRAM` sets the program to kill, by default
//! the one just built.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fusebox_core::random::SplitMix64;
use rustix::process::{Pid, Signal, kill_process};

use crate::program::Workplace;

/// Returns a module whose result consists of 8 MiB, in which each byte is `value`.
fn module(value: u8) -> String {
    format!(
        "HloModule m\nENTRY main {{\n  z = u8[] constant({value})\n  ROOT r = u8[8388608] broadcast(z), dimensions={{}}\n}}\n"
    )
}

struct KilledRuns {
    place: Workplace,
    program: Option<std::ffi::OsString>,
}

impl KilledRuns {
    fn command(&self, module: &str, output: &str) -> Command {
        let arguments = ["run", module, "--threads", "1", "--outputs", output];
        let mut command = match &self.program {
            Some(program) => Command::new(program),
            None => self.place.command(&[]),
        };
        command.args(arguments).current_dir(self.place.folder()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Runs the program to its end. Returns the bytes of the result and the time of the run.
    fn whole(&self, module: &str) -> (Vec<u8>, Duration) {
        let begin = Instant::now();
        assert!(self.command(module, "whole.npz").status().unwrap().success());
        (std::fs::read(self.place.path("whole.npz")).unwrap(), begin.elapsed())
    }
}

#[test]
fn results_are_whole_whenever_the_program_is_killed() {
    let kills = std::env::var("FUSEBOX_KILLS").map_or(40, |text| text.parse().expect("FUSEBOX_KILLS is a number"));
    let runs = KilledRuns { place: Workplace::new(), program: std::env::var_os("FUSEBOX_PROGRAM") };
    runs.place.write("a.hlo", module(1).as_bytes());
    runs.place.write("b.hlo", module(2).as_bytes());
    let ((a, _), (b, mut time)) = (runs.whole("a.hlo"), runs.whole("b.hlo"));
    let mut random = SplitMix64(1);
    // `ended` counts runs that ended before the kill, and `killed` counts killed runs. `found`
    // counts what is found after a run: no result, the result of `a`, or the result of `b`.
    // `litter` counts drafts that are left behind.
    let (mut ended, mut killed, mut found, mut litter) = (0, 0, [0, 0, 0], 0);
    for turn in 0.. {
        if killed == kills {
            break;
        }
        assert!(turn < 100 + 10 * kills, "{killed} killed in {turn} runs");
        let name = if turn % 2 == 0 { "a.hlo" } else { "b.hlo" };
        let signal = [Signal::KILL, Signal::TERM, Signal::INT][turn % 3];
        let mut child = runs.command(name, "out.npz").spawn().unwrap();
        std::thread::sleep(Duration::from_nanos(random.bits() % time.as_nanos() as u64));
        kill_process(Pid::from_child(&child), signal).unwrap();
        match child.wait().unwrap().code() {
            Some(code) => {
                assert_eq!(code, 0);
                ended += 1;
                time = time * 19 / 20;
            }
            // The time of a run depends on the machine's load. Adapt the time of the kill so that a
            // few runs end before the kill.
            None => {
                killed += 1;
                time = time * 101 / 100;
            }
        }
        match std::fs::read(runs.place.path("out.npz")) {
            Err(_) => {
                assert_eq!(found[1] + found[2], 0, "turn {turn}: the result is gone");
                found[0] += 1;
            }
            Ok(bytes) if bytes == a => found[1] += 1,
            Ok(bytes) if bytes == b => found[2] += 1,
            Ok(bytes) => panic!("turn {turn}, {signal:?}: {} bytes that are neither result", bytes.len()),
        }
        for name in runs.place.names().into_iter().filter(|name| name.contains("partial")) {
            // The program was killed after it had named its draft and before it replaced the old
            // file. At that moment the draft must be complete.
            let bytes = std::fs::read(runs.place.path(&name)).unwrap();
            assert!(bytes == a || bytes == b, "{name} has {} bytes", bytes.len());
            std::fs::remove_file(runs.place.path(&name)).unwrap();
            litter += 1;
        }
    }
    println!(
        "{killed} killed, {ended} ended before; then no result {}, a whole one {}; {litter} complete drafts left",
        found[0],
        found[1] + found[2]
    );
    assert!(litter <= 1 + kills / 100, "{litter} left behind");
}
