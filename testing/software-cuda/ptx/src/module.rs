//! Modules of PTX that are loaded into a context, and their kernels.

use std::sync::Arc;

use crate::device::DeviceKind;
use crate::error::LoadError;
use crate::memory::Memory;

/// A module whose variables have addresses in a device's memory.
#[derive(Debug)]
pub struct Module {
    kernels: Vec<Kernel>,
}

/// A kernel of a loaded module. Clones share the code.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: Arc<str>,
    pub parameters: Arc<[Parameter]>,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// The most threads of a block that `.maxntid` or `.reqntid` allows.
    pub max_threads: u32,
    /// Threads of a block in each direction, if `.reqntid` states them.
    pub required_threads: Option<[u32; 3]>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Position among the bytes of all parameters.
    pub offset: u32,
    pub bytes: u32,
    pub alignment: u32,
}

impl Module {
    /// Reads and checks the text of a module, and writes the initial values of its variables to new
    /// allocations.
    pub fn load(text: &str, device: &DeviceKind, memory: &Memory) -> Result<Module, LoadError> {
        _ = (text, device, memory);
        Err(LoadError { line: 1, message: "modules cannot be loaded yet".into() })
    }

    /// Frees the module's variables.
    pub fn unload(self, memory: &Memory) {
        _ = memory;
    }

    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| &*kernel.name == name)
    }

    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Returns the address and the size of a variable.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        _ = name;
        None
    }
}

impl Kernel {
    /// Returns the number of bytes of all parameters.
    pub fn parameter_bytes(&self) -> u32 {
        self.parameters.last().map_or(0, |last| last.offset + last.bytes)
    }
}
