//! Modules that are loaded into a context, and their functions.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fusebox_ptx::{Kernel, LoadErrorKind};

use crate::space::Space;
use crate::status::{Answer, Status};

/// A module that is loaded into a context.
#[derive(Debug)]
pub struct Module {
    space: Arc<Space>,
    /// The code. `None` after the module was unloaded.
    code: Mutex<Option<fusebox_ptx::Module>>,
    functions: Vec<Arc<Function>>,
    is_loaded: Arc<AtomicBool>,
}

/// A kernel that can be launched.
#[derive(Debug)]
pub struct Function {
    pub kernel: Kernel,
    /// Largest number of bytes of dynamic shared memory that a launch may request.
    dynamic_shared: AtomicU32,
    is_loaded: Arc<AtomicBool>,
}

/// Why a module cannot be loaded: the result of the call, and the messages of the assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: Status,
    pub log: String,
}

impl Module {
    /// Assembles PTX for the device of a context and loads the result.
    ///
    /// # Errors
    /// If the device cannot execute the code, or the PTX breaks the rules.
    pub fn load(space: &Arc<Space>, text: &str) -> Result<Module, Refusal> {
        let code = fusebox_ptx::Module::load(text, &space.device.kind, &space.memory).map_err(|error| {
            let mut log = String::new();
            // Writing to a string cannot fail.
            _ = writeln!(log, "{error}");
            let status = match error.kind {
                LoadErrorKind::Invalid => Status::INVALID_PTX,
                LoadErrorKind::TooNew => Status::UNSUPPORTED_PTX_VERSION,
                LoadErrorKind::OtherDevice => Status::NO_BINARY_FOR_GPU,
            };
            Refusal { status, log }
        })?;
        let is_loaded = Arc::new(AtomicBool::new(true));
        let functions = code.kernels().iter().map(|kernel| Arc::new(Function::new(kernel.clone(), space, &is_loaded)));
        Ok(Module { functions: functions.collect(), space: space.clone(), code: Mutex::new(Some(code)), is_loaded })
    }

    /// Returns a function by its name.
    pub fn function(&self, name: &str) -> Answer<Arc<Function>> {
        let found = self.functions.iter().find(|function| &*function.kernel.name == name);
        found.cloned().ok_or(Status::NOT_FOUND)
    }

    pub fn functions(&self) -> &[Arc<Function>] {
        &self.functions
    }

    /// Returns the address and the size of a variable.
    pub fn variable(&self, name: &str) -> Answer<(u64, u64)> {
        let code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        code.as_ref().and_then(|code| code.global(name)).ok_or(Status::NOT_FOUND)
    }

    /// Unloads the module. The functions of an unloaded module cannot be launched.
    pub fn unload(&self) {
        self.is_loaded.store(false, Ordering::Release);
        if let Some(code) = self.code.lock().unwrap_or_else(PoisonError::into_inner).take() {
            code.unload(&self.space.memory);
        }
    }

    /// Whether the module belongs to a context.
    pub fn is_of(&self, space: &Arc<Space>) -> bool {
        Arc::ptr_eq(&self.space, space)
    }
}

impl Function {
    fn new(kernel: Kernel, space: &Space, is_loaded: &Arc<AtomicBool>) -> Function {
        let usual = space.device.kind.shared_bytes_per_block.saturating_sub(kernel.shared_bytes);
        Function { kernel, dynamic_shared: AtomicU32::new(usual), is_loaded: is_loaded.clone() }
    }

    /// Whether the function's module is still loaded.
    pub fn is_loaded(&self) -> bool {
        self.is_loaded.load(Ordering::Acquire)
    }

    /// Returns the largest number of bytes of dynamic shared memory that a launch may request.
    pub fn dynamic_shared(&self) -> u32 {
        self.dynamic_shared.load(Ordering::Relaxed)
    }

    /// Sets the largest number of bytes of dynamic shared memory that a launch may request.
    pub fn set_dynamic_shared(&self, bytes: i32, space: &Space) -> Answer {
        let bytes = u32::try_from(bytes).map_err(|_| Status::INVALID_VALUE)?;
        let total = bytes.checked_add(self.kernel.shared_bytes).ok_or(Status::INVALID_VALUE)?;
        if total > space.device.kind.shared_bytes_opt_in {
            return Err(Status::INVALID_VALUE);
        }
        self.dynamic_shared.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the value of the attribute that has this number in the C interface.
    pub fn attribute(&self, number: i32, space: &Space) -> Answer<i32> {
        let kernel = &self.kernel;
        let kind = &space.device.kind;
        Ok(match number {
            0 => kernel.max_threads.min(kind.max_threads_per_block).cast_signed(),
            1 => kernel.shared_bytes.cast_signed(),
            // Bytes of constants that the user declares, mode of the cache.
            2 | 7 => 0,
            3 => kernel.local_bytes.cast_signed(),
            // The number of registers is the assembler's choice, which the software driver lacks.
            4 => return Err(Status::NOT_SUPPORTED),
            5 | 6 => kind.capability.cast_signed(),
            8 => self.dynamic_shared().cast_signed(),
            9 => -1,
            _ => return Err(Status::INVALID_VALUE),
        })
    }
}
