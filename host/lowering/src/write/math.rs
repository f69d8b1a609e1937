//! Writes functions of the math library, which kernels inline or call.
//!
//! An attribute of each called scalar function lists the names of its vector versions for LLVM's
//! vectoriser. The vectoriser chooses the number of lanes. Before the vectoriser runs, this file
//! only declares the vector versions. After the vectoriser has run, this file writes the bodies of
//! the vector versions that the vectoriser has chosen.

use std::collections::BTreeSet;

use fusebox_core::ir::Function;

use super::arith::is_by_element;
use super::{Declared, Translation};
use crate::error::LoweringError;
use crate::llvm::{Ty, Val};
use crate::math_lanes::Lanewise;
use crate::math_versions::{LANES, LIBRARY, VARIANTS, name_of, name_of_lanes, variants};
use crate::stages::StageError;

/// Value of LLVM's attribute `memory` for functions that neither read nor write memory.
const NO_MEMORY: u64 = 0;

/// A math function that kernels call, with declared vector versions.
pub(super) struct VectorFunction {
    symbol: &'static str,
    scalar: Val,
    versions: Lanewise,
}

impl Translation<'_> {
    /// Returns the LLVM function for a symbol of the math library. The current kernel calls or
    /// inlines this LLVM function. Declares the function if necessary.
    pub(super) fn math_function(&mut self, symbol: &'static str, parameters: &[Ty], results: &[Ty]) -> Declared {
        let is_called = self.called.contains(symbol);
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
            self.define_math(&lowered, &declared)?;
            if let (true, Some(versions)) = (is_called, Lanewise::of(&lowered, is_by_element)) {
                self.declare_vectors(symbol, &declared, lowered.body.arguments.len());
                // Keeps the scalar function for vector versions, if they are defined later.
                self.llvm.show(declared.function);
                self.vector_math.push(VectorFunction { symbol, scalar: declared.function, versions });
            }
        }
        Ok(())
    }

    /// Defines each vector version of a math function that LLVM's vectoriser has chosen, and
    /// returns the defined functions.
    pub(crate) fn add_vector_math(&mut self) -> Result<Vec<Val>, LoweringError> {
        let mut defined = Vec::new();
        for VectorFunction { symbol, scalar, versions } in std::mem::take(&mut self.vector_math) {
            self.called = BTreeSet::from([symbol]);
            for lanes in LANES {
                let Some(function) = self.llvm.used_function(&name_of_lanes(symbol, lanes)) else { continue };
                self.llvm.hide(function);
                let declared = Declared { function, signature: self.llvm.void(), results: 1 };
                self.define_math(&versions.in_lanes(symbol, lanes), &declared)?;
                defined.push(function);
            }
            self.llvm.hide(scalar);
            self.llvm.remove_unused(scalar);
        }
        Ok(defined)
    }

    /// Declares a vector function for each number of lanes. Attaches the names of the vector
    /// functions to the scalar function, as an attribute that LLVM's vectoriser reads.
    fn declare_vectors(&mut self, symbol: &str, declared: &Declared, arguments: usize) {
        let llvm = &self.llvm;
        let element = llvm.type_of(llvm.parameter(declared.function, 0));
        for lanes in LANES {
            let vector = llvm.vector(element, lanes);
            let signature = llvm.signature(vector, &vec![vector; arguments]);
            self.mark_pure(llvm.add_function(&name_of_lanes(symbol, lanes), signature, true));
        }
        llvm.add_string_attribute(declared.function, VARIANTS, &variants(symbol, arguments));
    }

    fn mark_pure(&self, function: Val) {
        let flags = [("nounwind", 0), ("willreturn", 0), ("memory", NO_MEMORY)];
        flags.iter().for_each(|&(name, value)| self.llvm.add_attribute(function, u32::MAX, name, value));
    }

    fn define_math(&mut self, function: &Function, declared: &Declared) -> Result<(), LoweringError> {
        let target = self.target;
        self.define(function, declared).map_err(|(op, reason)| StageError::new(op, reason).in_kernel(&LIBRARY, target))
    }
}
