//! The two lowerings that translate the kernel IR's last stage to LLVM IR.

use crate::error::LoweringError;

/// The code that turns a kernel's last stage into LLVM IR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lowering {
    /// fusebox's own writer of LLVM IR.
    #[default]
    Fusebox,
    /// MLIR's conversions to its dialect `llvm`, and its translation of this dialect to LLVM IR.
    /// The lowering `mlir` is only for kernels of the cpu.
    Mlir,
}

impl Lowering {
    /// All lowerings.
    pub const ALL: [Lowering; 2] = [Lowering::Fusebox, Lowering::Mlir];

    /// Returns the lowering's name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Lowering::Fusebox => "fusebox",
            Lowering::Mlir => "mlir",
        }
    }

    /// Returns the lowering with this name.
    ///
    /// # Errors
    /// If there is no lowering with this name.
    pub fn parse(name: &str) -> Result<Lowering, LoweringError> {
        Lowering::ALL.into_iter().find(|it| it.name() == name).ok_or_else(|| {
            let names = Lowering::ALL.map(Lowering::name).join(", ");
            LoweringError::Stage(format!("there is no lowering `{name}`; the lowerings are {names}"))
        })
    }
}
