//! The immutable state of a loaded program, and the arenas that its executions reuse.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::interface::Interface;
use super::policy::is_cheap;
use crate::code::{LoadedHostOp, check_steps};
use crate::machine::{DeviceMemory, Frame, LoadedCode};
use crate::processor::missing;
use crate::{AllocationKind, Device, Executable, LoadError, RunError};

/// Maximum number of arenas that a program keeps for later executions.
const MOST_ARENAS: usize = 8;

/// A loaded program. Executions change only the list of arenas.
#[derive(Debug)]
pub struct Program {
    /// The description of the program.
    pub executable: Executable,
    /// The device that executes the program.
    pub device: Device,
    /// The linked code.
    pub code: LoadedCode,
    /// The array leaves of parameters and result.
    pub interface: Interface,
    /// For each allocation, its memory if the allocation is a constant.
    pub constants: Vec<Option<Arc<DeviceMemory>>>,
    /// Whether an execution takes no longer than its transfer to another thread.
    pub is_cheap: bool,
    /// Arenas that no execution uses.
    arenas: Mutex<Vec<Arena>>,
}

/// The state of one execution: its temporary memory, and the addresses of all allocations.
/// Executions use an arena one after the other.
#[derive(Debug)]
pub struct Arena {
    /// The addresses. The addresses of constants and of temporary memory are set when the arena is
    /// created.
    pub frame: Frame,
    /// The temporary memory, which must live as long as the addresses are used.
    _temporaries: Vec<DeviceMemory>,
}

impl Program {
    /// Links the code and allocates the constants.
    pub fn load(device: &Device, executable: Executable) -> Result<Program, LoadError> {
        executable.check().map_err(LoadError::Object)?;
        let missing = missing(&executable.instruction_sets);
        if !missing.is_empty() {
            return Err(LoadError::Processor { missing });
        }
        let host_ops = executable.host_ops.iter().map(LoadedHostOp::new).collect::<Result<Vec<_>, _>>()?;
        check_steps(&executable.thunks, &host_ops)?;
        let per_device = executable.host_ops.iter().filter_map(|op| op.per_device.as_ref());
        per_device.into_iter().try_for_each(|code| check_steps(&code.thunks, &host_ops))?;
        let is_cheap = is_cheap(&executable, &host_ops);
        let code = device.hardware().load(&executable, host_ops, device.options())?;
        let constant = |kind: &AllocationKind| match kind {
            AllocationKind::Constant(data) => device.hardware().holding(data).map(|memory| Some(Arc::new(memory))),
            _ => Ok(None),
        };
        let constants = executable.allocations.iter().map(|it| constant(&it.kind)).collect::<Result<_, _>>();
        Ok(Program {
            interface: Interface::of(&executable),
            constants: constants.map_err(load_error)?,
            is_cheap,
            device: device.clone(),
            code,
            executable,
            arenas: Mutex::default(),
        })
    }

    /// Returns an arena for an execution. Fails if memory is short.
    pub fn arena(&self) -> Result<Arena, RunError> {
        let kept = self.arenas().pop();
        match kept {
            Some(mut arena) => {
                arena.frame.restart();
                Ok(arena)
            }
            None => self.new_arena(),
        }
    }

    /// Puts an arena back into the list after an execution, unless the list is full.
    pub fn keep(&self, arena: Arena) {
        let mut arenas = self.arenas();
        if arenas.len() < MOST_ARENAS {
            arenas.push(arena);
        }
    }

    /// Returns a frame in which only the addresses of constants are set.
    pub fn frame(&self) -> Frame {
        let launches = self.device.options().watchdog.as_ref().map(|watchdog| watchdog.observe());
        let mut frame = Frame::new(self.executable.allocations.len(), launches);
        for (number, constant) in (0..).zip(&self.constants) {
            if let Some(memory) = constant {
                frame.set(number, memory.address());
            }
        }
        frame
    }

    fn new_arena(&self) -> Result<Arena, RunError> {
        let mut frame = self.frame();
        let mut temporaries = Vec::new();
        let is_input = |number: u32| self.interface.inputs.iter().any(|input| input.allocation == number);
        for (number, allocation) in (0..).zip(&self.executable.allocations) {
            let is_temporary = match allocation.kind {
                AllocationKind::Temporary => true,
                // The actual size of a dynamic dimension, or memory that nothing uses.
                AllocationKind::Parameter | AllocationKind::Donated => !is_input(number),
                AllocationKind::Constant(_) | AllocationKind::Result => false,
            };
            if is_temporary {
                let memory = self.device.hardware().for_temporary(allocation.bytes)?;
                frame.set(number, memory.address());
                temporaries.push(memory);
            }
        }
        Ok(Arena { frame, _temporaries: temporaries })
    }

    fn arenas(&self) -> MutexGuard<'_, Vec<Arena>> {
        self.arenas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts an error that occurred while memory was allocated or filled.
fn load_error(error: RunError) -> LoadError {
    match error {
        RunError::Memory { bytes } => LoadError::Memory { bytes },
        other => LoadError::Device(other.to_string()),
    }
}
