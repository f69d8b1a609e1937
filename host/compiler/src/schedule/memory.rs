//! What a program needs of memory, and for which values.

use fusebox_core::hlo::{ComputationId, InstrId, Module};
use serde::Serialize;

use super::donation::Shared;
use super::placement::{Occupancy, Request};

/// The memory of a program, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Inputs.
    pub arguments: u64,
    /// Constants that are kept in memory of their own.
    pub constants: u64,
    /// Results that stand neither in inputs nor in constants.
    pub outputs: u64,
    /// What else steps write.
    pub temporaries: u64,
    /// All of this.
    pub total: u64,
    /// Most bytes of outputs and temporaries that are alive at once.
    pub peak: u64,
    /// What the places of outputs and temporaries take beyond that, because of gaps.
    pub waste: u64,
    /// The first step with that much.
    pub peak_step: u32,
    /// Who is alive then, the largest first.
    pub alive: Vec<Alive>,
    /// Results in buffers of donated inputs.
    pub shared: Vec<Shared>,
}

/// A buffer that is alive at the peak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alive {
    /// The instruction that first leaves a value there; later ones may update it in place.
    pub instruction: String,
    /// Its size, up to the next one.
    pub bytes: u64,
    /// The first step that touches it. Steps are counted through the program, those of loops and branches included.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

/// Who makes a buffer.
pub type Maker = (ComputationId, InstrId);

impl Memory {
    /// Bytes of what steps write, inputs aside.
    pub fn written(&self) -> u64 {
        self.outputs + self.temporaries
    }

    /// Those alive at the peak; the rest is not known yet. `makers`: of each request.
    pub fn at_peak(module: &Module, requests: &[Request], makers: &[Option<Maker>], arena: u64) -> Memory {
        let Occupancy { peak, step } = Occupancy::of(requests);
        let name = |maker: &Option<Maker>| match maker {
            Some((computation, id)) => module.computation(*computation).instruction(*id).name.clone(),
            None => String::new(),
        };
        let mut alive: Vec<Alive> = requests
            .iter()
            .zip(makers)
            .filter(|(request, _)| request.life.contains(&step))
            .map(|(request, maker)| Alive {
                instruction: name(maker),
                bytes: request.bytes,
                first: *request.life.start(),
                last: *request.life.end(),
            })
            .collect();
        alive.sort_by_key(|it| (std::cmp::Reverse(it.bytes), it.first));
        Memory { peak, waste: arena.saturating_sub(peak), peak_step: step, alive, ..Memory::default() }
    }
}
