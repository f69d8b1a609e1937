//! Writes functions of the math library. Kernels inline these functions. If inlining would make a
//! kernel too long, the kernel calls the functions instead, and the vector versions of the
//! functions.
//!
//! An attribute lists the names of the vector functions for LLVM's vectoriser. The vectoriser
//! chooses the number of lanes. Before the vectoriser runs, vector functions are only declared.
//! Afterwards the bodies of the chosen vector functions are written.

use std::collections::BTreeSet;

use fusebox_core::ir::Function;

use super::arith::is_by_element;
use super::{Declared, Translation};
use crate::error::LoweringError;
use crate::llvm::{Ty, Val};
use crate::math_versions::{LANES, LIBRARY, VARIANTS, name_of, name_of_lanes, straight, variants};
use crate::stages::StageError;

/// LLVM's number of the attribute for functions that neither read nor write memory.
const NO_MEMORY: u64 = 0;

/// A declared vector version of a math function.
pub(super) struct VectorFunction {
    name: String,
    lanes: u32,
    /// The scalar function that is computed in each lane.
    scalar: Function,
}

impl Translation<'_> {
    /// Returns the LLVM function for a symbol of the math library. The current kernel decides
    /// between the called and the inlined version. Declares the function if necessary.
    pub(super) fn math_function(&mut self, symbol: &'static str, parameters: &[Ty], results: &[Ty]) -> Declared {
        let is_called = self.is_math_called;
        if let Some(known) = self.math.get(&(symbol, is_called)) {
            return known.clone();
        }
        let declared = self.declared(&name_of(symbol, is_called), parameters, results);
        let function = |name, value| self.llvm.add_attribute(declared.function, u32::MAX, name, value);
        if is_called {
            function("noinline", 0);
            self.mark_pure(declared.function);
        } else {
            // This definition is inlined, so that the vectoriser sees the whole body of a loop.
            function("alwaysinline", 0);
        }
        self.math.insert((symbol, is_called), declared.clone());
        declared
    }

    /// Defines the math functions that kernels use.
    pub(crate) fn add_math(&mut self) -> Result<(), LoweringError> {
        let wanted: BTreeSet<_> = self.math.keys().copied().collect();
        for (symbol, is_called) in wanted {
            let Some(declared) = self.math.get(&(symbol, is_called)).cloned() else { continue };
            let lowered = self.definitions.get(symbol)?.clone();
            self.define_math(&lowered, &declared, None)?;
            if let (true, Some(straight)) = (is_called, straight(&lowered, is_by_element)) {
                self.declare_vectors(&straight, symbol, &declared);
            }
        }
        Ok(())
    }

    /// Defines the vector versions of math functions that the vectoriser has chosen, and returns
    /// them.
    pub(crate) fn add_vector_math(&mut self) -> Result<Vec<Val>, LoweringError> {
        let mut defined = Vec::new();
        for VectorFunction { name, lanes, scalar } in std::mem::take(&mut self.vector_math) {
            let Some(function) = self.llvm.used_function(&name) else { continue };
            self.llvm.hide(function);
            let declared = Declared { function, signature: self.llvm.void(), results: 1 };
            self.define_math(&scalar, &declared, Some(lanes))?;
            defined.push(function);
        }
        Ok(defined)
    }

    /// Declares a vector function for each number of lanes. Attaches the names of these functions
    /// to the scalar function for the vectoriser.
    fn declare_vectors(&mut self, scalar: &Function, symbol: &str, declared: &Declared) {
        let llvm = &self.llvm;
        let element = llvm.type_of(llvm.parameter(declared.function, 0));
        for lanes in LANES {
            let vector = llvm.vector(element, lanes);
            let parameters = vec![vector; scalar.body.arguments.len()];
            let name = name_of_lanes(symbol, lanes);
            let function = llvm.add_function(&name, llvm.signature(vector, &parameters), true);
            self.mark_pure(function);
            self.vector_math.push(VectorFunction { name, lanes, scalar: scalar.clone() });
        }
        let variants = variants(symbol, scalar.body.arguments.len());
        llvm.add_string_attribute(declared.function, VARIANTS, &variants);
    }

    fn mark_pure(&self, function: Val) {
        let flags = [("nounwind", 0), ("willreturn", 0), ("memory", NO_MEMORY)];
        flags.iter().for_each(|&(name, value)| self.llvm.add_attribute(function, u32::MAX, name, value));
    }

    fn define_math(
        &mut self,
        function: &Function,
        declared: &Declared,
        lanes: Option<u32>,
    ) -> Result<(), LoweringError> {
        let target = self.target;
        self.define(function, declared, lanes)
            .map_err(|(op, reason)| StageError::new(op, reason).in_kernel(&LIBRARY, target))
    }
}
