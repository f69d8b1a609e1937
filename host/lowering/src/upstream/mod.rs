//! The lowering `mlir`. MLIR's own conversions turn a kernel's last stage into LLVM IR.
//!
//! ```text
//! entry.rs    signatures, attributes, the loop over blocks  \
//! body.rs     operations that MLIR converts                  } text -> mlir.rs: conversions,
//! memory.rs   accesses, allocations, atomic updates         /          translation to LLVM IR
//! machine.rs  tile registers, products of words            /
//! ```
//!
//! MLIR has no conversion for the operations of `xla_gpu`. This folder writes them as operations of
//! the dialect `llvm`. All other operations stay as they are.
//!
//! The lowering shares with `write` only hints for LLVM (`hints.rs`) and the choice between copied
//! and called math functions (`math_versions.rs`). So a fault in one of the two lowerings shows as
//! a difference between their results.

mod body;
mod entry;
mod machine;
mod memory;

use std::collections::BTreeSet;

use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Type};

use crate::error::{LoweringError, Unsupported};
use crate::llvm::{Module, Val};
use crate::math_versions::{Definitions, LANES, LIBRARY, VARIANTS, name_of, name_of_lanes, straight, variants};
use crate::mlir::Conversions;
use crate::stages::{Facts, KernelFunctions};
use crate::targets::TargetInfo;
use body::Kernel;

/// Attributes of functions of the math library that kernels call.
const PURE: [&str; 3] = [r#""nounwind""#, r#""willreturn""#, r#"["memory", "0"]"#];
const CALLED: [&str; 4] = [r#""noinline""#, PURE[0], PURE[1], PURE[2]];
/// Attributes of functions of the math library that kernels copy.
const COPIED: [&str; 2] = [r#""alwaysinline""#, r#""nounwind""#];

/// The kernels of a batch that this lowering has written so far.
pub(crate) struct Upstream<'t> {
    conversions: Conversions,
    target: &'t TargetInfo,
    definitions: Definitions<'t>,
    /// Functions of the math library that kernels use, and whether they are called or copied.
    math: BTreeSet<(&'static str, bool)>,
    /// Declared vector versions of math functions, with the scalar function that is computed in
    /// each lane.
    vector_math: Vec<(String, Function)>,
    /// Text of the functions in the dialect `llvm`, if it is wanted.
    pub(crate) text: Option<String>,
}

/// Facts about a kernel that composites need.
pub(crate) struct Added {
    /// A function whose parameters are the buffers, the id of a block and the id of a thread.
    pub(crate) body: Val,
    /// Whether the kernel has non-temporal stores, for which callers must wait.
    pub(crate) past_caches: bool,
}

impl<'t> Upstream<'t> {
    pub(crate) fn new(target: &'t TargetInfo, wants_text: bool) -> Self {
        Upstream {
            conversions: Conversions::new(),
            target,
            definitions: Definitions::new(target),
            math: BTreeSet::new(),
            vector_math: Vec::new(),
            text: wants_text.then(String::new),
        }
    }

    /// Adds a kernel to a module. The kernel can be launched only if `is_visible` is true.
    pub(crate) fn add_kernel(
        &mut self,
        llvm: &Module,
        source: &KernelFunctions,
        facts: &Facts<'_>,
        is_visible: bool,
    ) -> Result<Added, LoweringError> {
        let is_called = self.definitions.are_called(source)?;
        let mut kernel = Kernel::new(facts.name, self.target, is_called);
        kernel.write(source, facts, is_visible).map_err(|(op, reason)| not_converted(facts.name, op, reason))?;
        for &symbol in &kernel.math {
            let definition = self.definitions.get(symbol)?;
            entry::declaration(&mut kernel.text, &name_of(symbol, is_called), definition, &[]).map_err(of_library)?;
            self.math.insert((symbol, is_called));
        }
        let past_caches = kernel.past_caches;
        self.convert(kernel, llvm)?;
        let body = llvm.function(&entry::name_of_body(facts.name));
        let body = body.ok_or_else(|| LoweringError::Llvm(format!("the body of {} is missing", facts.name)))?;
        llvm.hide(body);
        Ok(Added { body, past_caches })
    }

    /// Adds the math functions that kernels use.
    pub(crate) fn add_math(&mut self, llvm: &Module) -> Result<(), LoweringError> {
        let wanted = std::mem::take(&mut self.math);
        let mut library = Kernel::new(LIBRARY.name, self.target, false);
        let mut called = Vec::new();
        for &(symbol, is_called) in &wanted {
            let definition = self.definitions.get(symbol)?.clone();
            // Copied functions are inlined, so that the vectoriser sees the whole body of a loop.
            let attributes: &[&str] = if is_called { &CALLED } else { &COPIED };
            let mut attributes: Vec<String> = attributes.iter().map(|&it| it.to_owned()).collect();
            if let (true, Some(straight)) = (is_called, straight(&definition, body::is_copied)) {
                let variants = variants(symbol, definition.body.arguments.len());
                attributes.push(format!("[\"{VARIANTS}\", {}]", Attribute::str(variants)));
                called.push((symbol, straight));
            }
            let name = name_of(symbol, is_called);
            library.define(&name, &definition, &attributes).map_err(|(_, reason)| of_library(reason))?;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.convert(library, llvm)?;
        let functions = wanted.iter().filter_map(|&(symbol, is_called)| llvm.function(&name_of(symbol, is_called)));
        functions.for_each(|function| llvm.hide(function));
        called.iter().for_each(|(symbol, straight)| self.declare_vectors(llvm, symbol, straight));
        Ok(())
    }

    /// Defines the vector versions of math functions that the vectoriser has chosen, and returns
    /// them.
    pub(crate) fn add_vector_math(&mut self, llvm: &Module) -> Result<Vec<Val>, LoweringError> {
        let declared = std::mem::take(&mut self.vector_math);
        let chosen: Vec<_> = declared.into_iter().filter(|(name, _)| llvm.used_function(name).is_some()).collect();
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let mut library = Kernel::new(LIBRARY.name, self.target, false);
        for (name, function) in &chosen {
            let written = library.define(name, function, &PURE.map(str::to_owned));
            written.map_err(|(_, reason)| of_library(reason))?;
        }
        self.convert(library, llvm)?;
        let defined: Vec<Val> = chosen.iter().filter_map(|(name, _)| llvm.function(name)).collect();
        defined.iter().for_each(|&function| llvm.hide(function));
        Ok(defined)
    }

    /// Declares a vector function for each number of lanes. The declarations do not come from MLIR,
    /// because LLVM drops unused declarations when it links modules.
    fn declare_vectors(&mut self, llvm: &Module, symbol: &str, straight: &Function) {
        let Some(scalar) = llvm.function(&name_of(symbol, true)) else { return };
        let element = llvm.type_of(llvm.parameter(scalar, 0));
        for lanes in LANES {
            let (name, vector) = (name_of_lanes(symbol, lanes), llvm.vector(element, lanes));
            let parameters = vec![vector; straight.body.arguments.len()];
            let function = llvm.add_function(&name, llvm.signature(vector, &parameters), true);
            for attribute in ["nounwind", "willreturn", "memory"] {
                llvm.add_attribute(function, u32::MAX, attribute, 0);
            }
            self.vector_math.push((name, of_lanes(straight, lanes)));
        }
    }

    fn convert(&mut self, kernel: Kernel<'_>, llvm: &Module) -> Result<(), LoweringError> {
        let (name, functions) = (kernel.name, kernel.text + &kernel.globals);
        let failed = |diagnostics| LoweringError::Conversions { kernel: name.into(), diagnostics };
        let module = self.conversions.to_llvm_dialect(name, &functions, llvm).map_err(failed)?;
        if let Some(text) = &mut self.text {
            text.push_str(&module.text());
        }
        module.link_into(llvm).map_err(failed)
    }
}

fn not_converted(kernel: &str, op: Option<&Operation>, Unsupported(reason): Unsupported) -> LoweringError {
    LoweringError::NotConverted {
        kernel: kernel.into(),
        operation: op.map_or("func.func", |op| op.kind.name()).into(),
        location: op.map(|op| op.place.to_string()).unwrap_or_default(),
        reason,
    }
}

fn of_library(reason: Unsupported) -> LoweringError {
    not_converted(LIBRARY.name, None, reason)
}

/// Returns a copy of a function of scalars that computes vectors of this many lanes.
fn of_lanes(scalar: &Function, lanes: u32) -> Function {
    let vector = |ty: &Type| match ty {
        Type::Scalar(element) => Type::Vector([i64::from(lanes)].into(), *element),
        other => other.clone(),
    };
    let mut function = scalar.clone();
    function.types = function.types.iter().map(vector).collect();
    function.results = function.results.iter().map(vector).collect();
    for op in &mut function.body.operations {
        if op.kind == OpKind::Constant {
            let ty = vector(&scalar.types[op.result().number()]);
            op.attributes.iter_mut().for_each(|(_, value)| *value = splat(value, ty.clone()));
        }
    }
    function
}

/// Returns the constant vector whose lanes all have this value.
fn splat(value: &Attribute, ty: Type) -> Attribute {
    let bits = match value {
        Attribute::Float(bits, _) => *bits,
        other => other.as_integer().unwrap_or_default() as u64,
    };
    Attribute::Dense(ty.clone(), bits.to_le_bytes()[..ty.element().byte_size()].into())
}
