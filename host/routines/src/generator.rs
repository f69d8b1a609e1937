//! The generator of random numbers that all operations of an execution share.

use std::sync::Mutex;

use fusebox_core::random::SplitMix64;

/// A generator of random numbers. Every new generator produces the same numbers.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The source of the numbers of `rng`.
    pub(crate) random: SplitMix64,
    /// The state that the next `rng-get-and-update-state` returns.
    pub(crate) counter: u128,
}

impl Default for Generator {
    fn default() -> Self {
        Generator { random: SplitMix64(0x5eed_f00d_cafe_0001), counter: 0x7012_9543_2a3f_0c51 }
    }
}

/// The generator that all operations of an execution share. Each execution has its own generator,
/// so that several threads can execute a program at the same time.
pub type SharedGenerator = Mutex<Generator>;
