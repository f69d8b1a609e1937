//! Passes on HLO before fusion, one a file. (The lead is writing `passes/` and `fuse/` right now: the rest
//! of this crate calls `passes::run(Module) -> Result<Module, PassError>` and `fuse::fuse(Module) -> Module`.)
