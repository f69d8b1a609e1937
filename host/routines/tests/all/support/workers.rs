//! Workers that execute the parts of a task in different orders.

use fusebox_routines::Workers;

/// The workers of comparisons with the interpreter.
pub const WORKERS: [&dyn Workers; 3] = [&Threads(1), &Backwards, &Threads(2)];

/// Workers that start this many threads for each call of `run_parts`. Thread `t` executes every
/// part whose number is `t` modulo the number of threads.
pub struct Threads(pub usize);

impl Workers for Threads {
    fn threads(&self) -> usize {
        self.0
    }

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

/// Workers that execute the parts on the calling thread, from the last part to the first.
struct Backwards;

impl Workers for Backwards {
    fn threads(&self) -> usize {
        1
    }

    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..parts).rev().for_each(task);
    }
}
