//! Helpers for the tests of routines: random numbers, and threads that divide parts among
//! themselves.

use fusebox_core::hlo::{parse_module, verify};
use fusebox_routines::{Context, SharedGenerator, Workers, routine_for};

/// Pseudorandom numbers. They are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number that is uniformly distributed between -1 and 1.
    pub fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Workers that start this many threads for each call of `run_parts`. Thread `t` executes every
/// part whose number is `t` modulo the number of threads.
pub struct Threads(pub usize);

impl Workers for Threads {
    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        if self.0 <= 1 {
            return (0..parts).for_each(task);
        }
        std::thread::scope(|scope| {
            for thread in 0..self.0 {
                scope.spawn(move || (thread..parts).step_by(self.0).for_each(task));
            }
        });
    }
}

/// Executes the only operation of a module.
pub fn execute(text: &str, arguments: &[&[u8]], results: &mut [&mut [u8]], threads: usize) {
    let module = parse_module(text, "test").unwrap_or_else(|faults| panic!("{text}{faults:?}"));
    verify(&module).unwrap_or_else(|faults| panic!("{text}{faults:?}"));
    let routine = routine_for(&module).unwrap_or_else(|e| panic!("{text}{e}"));
    let context = Context { workers: &Threads(threads), generator: &SharedGenerator::default(), collectives: None };
    routine.run(arguments, results, &context).unwrap_or_else(|e| panic!("{text}{e}"));
}
