//! The lowering `mlir`. MLIR's own conversions turn a kernel's last stage into LLVM IR.
//!
//! ```text
//! entry.rs    signatures, attributes, the loop over blocks  \
//! body.rs     operations that MLIR converts                  } text -> mlir.rs: conversions,
//! memory.rs   accesses, allocations, atomic updates         /          translation to LLVM IR
//! machine.rs  tile registers, products of words            /
//! ```
//!
//! MLIR has no conversion for the operations of `xla_gpu`, so the files of this folder write them
//! as operations of the dialect `llvm`. Operations of all other dialects stay as they are.
//!
//! The lowering `mlir` shares only a few files with the lowering `fusebox` (`write`): the hints for
//! LLVM (`hints.rs`), the choice between copied and called math functions (`math_versions.rs`), the
//! kernel IR of the functions' vector versions (`math_lanes.rs`), and the choice of instructions
//! for products of words (`word_products.rs`). A fault in only one of the two lowerings therefore
//! shows as a difference between their results.

mod body;
mod entry;
mod machine;
mod memory;

use std::collections::BTreeSet;

use fusebox_core::ir::{Attribute, Operation};

use crate::error::{LoweringError, Unsupported};
use crate::llvm::{Module, Val};
use crate::math_lanes::Lanewise;
use crate::math_versions::{Definitions, LANES, LIBRARY, VARIANTS, name_of, name_of_lanes, variants};
use crate::mlir::Conversions;
use crate::stages::{Facts, KernelFunctions};
use crate::targets::TargetInfo;
use body::Kernel;

/// Attributes of the math library's functions, if kernels call the functions.
const PURE: [&str; 3] = [r#""nounwind""#, r#""willreturn""#, r#"["memory", "0"]"#];
const CALLED: [&str; 4] = [r#""noinline""#, PURE[0], PURE[1], PURE[2]];
/// Attributes of the math library's functions, if kernels copy the functions.
const COPIED: [&str; 2] = [r#""alwaysinline""#, r#""nounwind""#];

/// The kernels of a batch that this lowering has written so far.
pub(crate) struct Upstream<'t> {
    conversions: Conversions,
    target: &'t TargetInfo,
    definitions: Definitions<'t>,
    /// Functions of the math library that kernels use, and whether they are called or copied.
    math: BTreeSet<(&'static str, bool)>,
    /// Math functions that kernels call and whose vector versions are declared.
    vector_math: Vec<(&'static str, Lanewise)>,
    /// Text of the functions in the dialect `llvm`, if it is wanted.
    pub(crate) text: Option<String>,
}

/// Facts about a kernel that composites need.
pub(crate) struct Added {
    /// A function whose parameters are the buffers, the id of a block and the id of a thread.
    pub(crate) body: Val,
    /// Whether the kernel has non-temporal stores, so that callers must wait until other threads
    /// see the stores.
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
        let called = self.definitions.called(source)?;
        let mut kernel = Kernel::new(facts.name, self.target, called.clone());
        kernel.write(source, facts, is_visible).map_err(|(op, reason)| not_converted(facts.name, op, reason))?;
        for &symbol in &kernel.math {
            let (definition, is_called) = (self.definitions.get(symbol)?, called.contains(symbol));
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
        let mut library = Kernel::new(LIBRARY.name, self.target, BTreeSet::new());
        for &(symbol, is_called) in &wanted {
            let definition = self.definitions.get(symbol)?.clone();
            // Copied functions are inlined, so that the vectoriser sees the whole body of a loop.
            let attributes: &[&str] = if is_called { &CALLED } else { &COPIED };
            let mut attributes: Vec<String> = attributes.iter().map(|&it| it.to_owned()).collect();
            if let (true, Some(versions)) = (is_called, Lanewise::of(&definition, body::is_copied)) {
                let variants = variants(symbol, definition.body.arguments.len());
                attributes.push(format!("[\"{VARIANTS}\", {}]", Attribute::str(variants)));
                self.vector_math.push((symbol, versions));
            }
            let name = name_of(symbol, is_called);
            library.define(&name, &definition, &attributes).map_err(|(_, reason)| of_library(reason))?;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.convert(library, llvm)?;
        for &(symbol, is_called) in &wanted {
            let Some(function) = llvm.function(&name_of(symbol, is_called)) else { continue };
            if self.vector_math.iter().any(|(called, _)| is_called && *called == symbol) {
                // Stays visible, so that LLVM keeps the function for vector versions.
                declare_vectors(llvm, symbol, function, self.definitions.get(symbol)?.body.arguments.len());
            } else {
                llvm.hide(function);
            }
        }
        Ok(())
    }

    /// Defines those vector versions of math functions that the vectoriser has chosen, and returns
    /// these versions.
    pub(crate) fn add_vector_math(&mut self, llvm: &Module) -> Result<Vec<Val>, LoweringError> {
        let vector_math = std::mem::take(&mut self.vector_math);
        let called: BTreeSet<_> = vector_math.iter().map(|(symbol, _)| *symbol).collect();
        let mut library = Kernel::new(LIBRARY.name, self.target, called);
        let mut names = Vec::new();
        for (symbol, versions) in &vector_math {
            for lanes in LANES {
                let name = name_of_lanes(symbol, lanes);
                if llvm.used_function(&name).is_some() {
                    let function = versions.in_lanes(symbol, lanes);
                    let written = library.define(&name, &function, &PURE.map(str::to_owned));
                    written.map_err(|(_, reason)| of_library(reason))?;
                    names.push(name);
                }
            }
        }
        for symbol in std::mem::take(&mut library.math) {
            let definition = self.definitions.get(symbol)?;
            entry::declaration(&mut library.text, &name_of(symbol, true), definition, &[]).map_err(of_library)?;
        }
        if !names.is_empty() {
            self.convert(library, llvm)?;
        }
        for function in vector_math.iter().filter_map(|(symbol, _)| llvm.function(&name_of(symbol, true))) {
            llvm.hide(function);
            llvm.remove_unused(function);
        }
        let defined: Vec<Val> = names.iter().filter_map(|name| llvm.function(name)).collect();
        defined.iter().for_each(|&function| llvm.hide(function));
        Ok(defined)
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

/// Declares a vector function for each number of lanes. The code adds the declarations directly to
/// the LLVM module, and not to a module that is linked into the LLVM module, because LLVM drops
/// unused declarations when it links modules.
fn declare_vectors(llvm: &Module, symbol: &str, scalar: Val, arguments: usize) {
    let element = llvm.type_of(llvm.parameter(scalar, 0));
    for lanes in LANES {
        let vector = llvm.vector(element, lanes);
        let signature = llvm.signature(vector, &vec![vector; arguments]);
        let function = llvm.add_function(&name_of_lanes(symbol, lanes), signature, true);
        for attribute in ["nounwind", "willreturn", "memory"] {
            llvm.add_attribute(function, u32::MAX, attribute, 0);
        }
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
