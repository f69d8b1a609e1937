//! Faults that tests plant, so that bisect has something to find. Without the feature
//! `plant-faults`, tests cannot plant faults.

#[cfg(any(test, feature = "plant-faults"))]
pub use here::Planted;
#[cfg(not(any(test, feature = "plant-faults")))]
pub use nowhere::Planted;

#[cfg(any(test, feature = "plant-faults"))]
mod here {
    use std::sync::Arc;

    use fusebox_core::hlo::Module;
    use fusebox_core::ir::Function;
    use fusebox_lowering::Stage;
    use fusebox_runtime::Executable;

    /// A function that changes a module after the named pass, or after `fuse`.
    type ModuleChange = Arc<dyn Fn(&str, &mut Module) + Send + Sync>;
    /// A function that changes a kernel's functions after a stage of lowering.
    type KernelChange = Arc<dyn Fn(Stage, &mut [Function]) + Send + Sync>;
    /// A function that changes the finished executable.
    type ExecutableChange = Arc<dyn Fn(&mut Executable) + Send + Sync>;

    /// Faults that tests plant in order to check that fusebox finds them.
    #[derive(Clone, Default)]
    pub struct Planted {
        /// Changes the module after each pass and after fusion.
        pub module: Option<ModuleChange>,
        /// Changes each kernel after each stage of lowering.
        pub kernel: Option<KernelChange>,
        /// Changes the finished executable.
        pub executable: Option<ExecutableChange>,
    }

    impl Planted {
        pub(crate) fn is_any(&self) -> bool {
            self.module.is_some() || self.kernel.is_some() || self.executable.is_some()
        }

        pub(crate) fn in_module(&self, step: &str, module: &mut Module) {
            self.module.iter().for_each(|plant| plant(step, module));
        }

        pub(crate) fn in_kernel(&self, stage: Stage, functions: &mut [Function]) {
            self.kernel.iter().for_each(|plant| plant(stage, functions));
        }

        pub(crate) fn in_executable(&self, executable: &mut Executable) {
            self.executable.iter().for_each(|plant| plant(executable));
        }
    }
}

#[cfg(not(any(test, feature = "plant-faults")))]
mod nowhere {
    use fusebox_core::hlo::Module;
    use fusebox_core::ir::Function;
    use fusebox_lowering::Stage;
    use fusebox_runtime::Executable;

    /// No faults.
    #[derive(Clone, Copy, Default)]
    pub struct Planted;

    impl Planted {
        pub(crate) fn is_any(self) -> bool {
            false
        }

        pub(crate) fn in_module(self, _: &str, _: &mut Module) {}

        pub(crate) fn in_kernel(self, _: Stage, _: &mut [Function]) {}

        pub(crate) fn in_executable(self, _: &mut Executable) {}
    }
}
