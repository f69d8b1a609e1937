//! The options of a compilation.

use fusebox_core::device::DeviceDescription;
use fusebox_files::Store;
use fusebox_lowering::{Stage, Target};

use crate::emitters::Emitters;
use crate::progress::Progress;
use crate::{Assembler, Cache, Departures, Dump, Phase};

/// Options of a compilation.
#[derive(Clone)]
pub struct Options {
    /// Target of the machine code.
    pub target: Target,
    /// Description of the machine for emitters.
    pub device: DeviceDescription,
    /// Emitters to choose from.
    pub emitters: Emitters,
    /// Number of threads that compile.
    pub threads: usize,
    /// The last phase to run.
    pub until: Phase,
    /// Stages of lowering whose text to collect.
    pub stages: Vec<Stage>,
    /// Folder for the results of each phase.
    pub dump: Dump,
    /// Deviations from the usual compilation, for example passes to skip.
    pub departures: Departures,
    /// Largest number of bytes of outputs and temporaries. If the program exceeds this limit, the
    /// scheduler rematerialises values.
    pub memory_limit: Option<u64>,
    /// Receiver of progress.
    pub progress: Progress,
    /// Cache of earlier compilations.
    pub cache: Cache,
    /// Assembler that makes machine code from PTX. `None` if the GPU's driver assembles the PTX
    /// when it loads the program.
    pub assembler: Option<Assembler>,
}

impl Options {
    /// Returns options that compile with one thread. The options set no dumps, no departures, no
    /// memory limit, no cache and no assembler.
    pub fn new(target: Target, device: DeviceDescription, emitters: impl Into<Emitters>, until: Phase) -> Options {
        Options {
            target,
            device,
            emitters: emitters.into(),
            threads: 1,
            until,
            stages: Vec::new(),
            dump: Dump::default(),
            departures: Departures::default(),
            memory_limit: None,
            progress: Progress::default(),
            cache: Cache::default(),
            assembler: None,
        }
    }

    /// Returns the store of the cache. Returns `None` if the compilation writes dumps, collects
    /// texts of stages, checks the module after each pass, or changes the code by departures,
    /// because cache entries lack these results.
    pub(crate) fn store(&self) -> Option<&Store> {
        let wants_texts = self.dump.is_active() || !self.stages.is_empty();
        let departures = &self.departures;
        self.cache.0.as_ref().filter(|_| !departures.change_code() && !departures.verify_each && !wants_texts)
    }
}
