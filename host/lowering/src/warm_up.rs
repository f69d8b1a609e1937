//! Code generation before there is a kernel: much of the time that a small first kernel takes goes into LLVM's tables
//! and the pages of its code, and these can be had while the module is still being read.

use std::thread::JoinHandle;

use crate::Target;
use crate::llvm::{FileKind, Machine, Module};

/// LLVM's code generator for the cpu being warmed up on a thread of its own.
#[derive(Debug)]
#[must_use = "dropping it waits for the thread"]
pub struct WarmUp(Option<JoinHandle<()>>);

impl WarmUp {
    /// Begins. Compiling does not wait for it; the process must not end before it is dropped.
    pub fn begin() -> WarmUp {
        let thread = std::thread::Builder::new().name("warm-up".into());
        // Without a thread, or when something fails on it, the first kernel takes longer and that is all.
        WarmUp(thread.spawn(|| _ = generate()).ok())
    }
}

impl Drop for WarmUp {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            _ = thread.join();
        }
    }
}

fn generate() -> Result<(), String> {
    let machine = Machine::new(&Target::Cpu)?;
    let module = Module::parse("warm-up", include_str!("warm_up.ll"))?;
    machine.prepare(&module);
    machine.emit(&module, FileKind::Object).map(drop)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sample_compiles() {
        assert_eq!(super::generate(), Ok(()));
    }
}
