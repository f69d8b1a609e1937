//! The verifier. Other code relies on certain properties of a module; the verifier checks all these
//! properties.
//!
//! The verifier reports all faults, each with the location of its instruction. The most important
//! properties of a valid module are these: ids are in range, operands come before users, and
//! callees come before callers. The byte size of each shape fits into `i64`. Layouts are
//! permutations. Parameters are numbered from 0. Every result has the shape that [`infer_shape`]
//! returns.
//!
//! [`infer_shape`]: super::infer_shape

use std::collections::HashSet;

use super::infer::{Extent, Signature, Site, extents, infer};
use super::span::shown_line;
use super::{Computation, ComputationId, Diagnostic, InstrId, Instruction, Layout, Module, Op, Shape, Span};

/// Largest number of faults that the verifier reports.
const MAX_DIAGNOSTICS: usize = 1000;

/// Checks a module.
///
/// # Errors
/// Returns the faults in the order in which the verifier finds them, at most `MAX_DIAGNOSTICS`.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let mut verifier = Verifier {
        module,
        signatures: module.computations.iter().map(Computation::signature).collect(),
        lines: module.source_text.lines().collect(),
        diagnostics: Vec::new(),
    };
    verifier.module();
    if verifier.diagnostics.is_empty() { Ok(()) } else { Err(verifier.diagnostics) }
}

struct Verifier<'m> {
    module: &'m Module,
    signatures: Vec<Option<Signature<'m>>>,
    lines: Vec<&'m str>,
    diagnostics: Vec<Diagnostic>,
}

impl<'m> Verifier<'m> {
    fn report(&mut self, span: Span, subject: &str, message: String) {
        self.report_in(self.module.source_file.clone(), span, subject, message);
    }

    fn report_in(&mut self, file: String, span: Span, subject: &str, message: String) {
        if self.diagnostics.len() >= MAX_DIAGNOSTICS {
            return;
        }
        let source_line = (span.line as usize).checked_sub(1).and_then(|line| self.lines.get(line));
        self.diagnostics.push(Diagnostic {
            file,
            span,
            subject: Some(subject.to_owned()).filter(|subject| !subject.is_empty()),
            message,
            source_line: shown_line(source_line.copied().unwrap_or_default(), span.column),
        });
    }

    fn report_at(&mut self, instruction: &Instruction, message: String) {
        self.report_in(self.module.place_of(instruction), instruction.span, &instruction.name, message);
    }

    fn module(&mut self) {
        let module = self.module;
        let mut names = HashSet::new();
        for (index, computation) in module.computations.iter().enumerate() {
            if !names.insert(computation.name.as_str()) {
                let message = format!("a second computation is named `{}`", computation.name);
                self.report(computation.span, &computation.name, message);
            }
            self.computation(index, computation);
        }
        match module.entry_computation() {
            Some(entry) => self.entry(entry),
            None => self.report(Span::default(), &module.name, "the module has no entry computation".to_owned()),
        }
    }

    fn computation(&mut self, index: usize, computation: &'m Computation) {
        if computation.root.index() >= computation.instructions.len() {
            let message = format!("the computation `{}` has no root instruction", computation.name);
            self.report(computation.span, &computation.name, message);
        }
        let mut names = HashSet::new();
        for (position, instruction) in computation.instructions.iter().enumerate() {
            if !names.insert(instruction.name.as_str()) {
                self.report_at(instruction, format!("a second instruction is named `{}`", instruction.name));
            }
            if let Err(message) = self.instruction(index, computation, position, instruction) {
                self.report_at(instruction, message);
            }
        }
        self.parameters(computation);
    }

    /// Checks that parameters are numbered 0, 1, … without gaps.
    fn parameters(&mut self, computation: &Computation) {
        for (expected, id) in computation.parameters().into_iter().enumerate() {
            let instruction = computation.instruction(id);
            let Op::Parameter { number } = instruction.op else { continue };
            // Another check reports negative numbers.
            if number >= 0 && number != expected as i64 {
                let message = if number < expected as i64 {
                    format!("a second parameter has number {number}")
                } else {
                    format!("parameter {number} is there, but parameter {expected} is not")
                };
                self.report_at(instruction, message);
                return;
            }
        }
    }

    fn instruction(
        &self,
        computation_index: usize,
        computation: &'m Computation,
        position: usize,
        instruction: &'m Instruction,
    ) -> Result<(), String> {
        check_shape(&instruction.shape)?;
        let earlier = |what: &str, id: InstrId| {
            if id.index() < position {
                Ok(())
            } else {
                Err(format!("{what} {} does not come before the instruction; is there a cycle?", id.index()))
            }
        };
        for &operand in &instruction.operands {
            earlier("operand", operand)?;
        }
        for &predecessor in instruction.extra.iter().flat_map(|extra| &extra.control_predecessors) {
            earlier("control predecessor", predecessor)?;
        }
        for callee in instruction.op.called() {
            let fits = callee.index() < computation_index;
            ensure!(fits, "the callee {} does not come before its caller; is there a cycle?", callee.index());
        }
        if let Op::CustomCall(attrs) = &instruction.op {
            attrs.operand_layouts.iter().flatten().try_for_each(check_shape)?;
        }
        let operands: Vec<&Shape> = instruction.operands.iter().map(|&id| &computation.instruction(id).shape).collect();
        let callee = |id: ComputationId| self.signatures.get(id.index()).cloned().flatten();
        let declared = &instruction.shape;
        let site = Site { op: &instruction.op, operands: &operands, declared: Some(declared), callee: &callee };
        let inferred = infer(&site)?;
        if inferred.same_structure(declared) {
            return check_dynamic_dimensions(&site, &inferred, declared);
        }
        Err(format!("{} gives {inferred} here, but is declared as {declared}", instruction.opcode()))
    }

    fn entry(&mut self, entry: &'m Computation) {
        let Some(signature) = entry.signature() else { return };
        if let Err(message) = self.entry_layout(&signature) {
            self.report(entry.span, &entry.name, message);
        }
        for alias in &self.module.input_output_alias {
            let checks = [
                check_path("the output of an alias", signature.result, &alias.output),
                check_parameter_path("an alias", &signature, alias.parameter, &alias.parameter_index),
            ];
            for message in checks.into_iter().filter_map(Result::err) {
                self.report(entry.span, &entry.name, message);
            }
        }
        for (parameter, path) in &self.module.buffer_donor {
            if let Err(message) = check_parameter_path("a buffer donor", &signature, *parameter, path) {
                self.report(entry.span, &entry.name, message);
            }
        }
    }

    fn entry_layout(&self, signature: &Signature) -> Result<(), String> {
        let Some(layout) = &self.module.entry_layout else { return Ok(()) };
        let (given, needed) = (layout.parameters.len(), signature.parameters.len());
        ensure!(given == needed, "entry_computation_layout has {given} parameters, the entry has {needed}");
        for (number, (given, parameter)) in layout.parameters.iter().zip(&signature.parameters).enumerate() {
            check_shape(given)?;
            let fits = given.same_structure(parameter);
            ensure!(fits, "entry_computation_layout says parameter {number} is {given}, it is {parameter}");
        }
        check_shape(&layout.result)?;
        if layout.result.same_structure(signature.result) {
            Ok(())
        } else {
            Err(format!("entry_computation_layout says the result is {}, it is {}", layout.result, signature.result))
        }
    }
}

fn check_parameter_path(what: &str, signature: &Signature, parameter: i64, path: &[i64]) -> Result<(), String> {
    let found = usize::try_from(parameter).ok().and_then(|number| signature.parameters.get(number));
    let Some(shape) = found else {
        return Err(format!("{what} names parameter {parameter}, which the entry does not have"));
    };
    check_path(&format!("the parameter of {what}"), shape, path)
}

/// Checks that a path through tuples exists in a shape.
fn check_path(what: &str, shape: &Shape, path: &[i64]) -> Result<(), String> {
    let mut inner = shape;
    for &index in path {
        let element = inner.as_tuple().and_then(|elements| elements.get(usize::try_from(index).ok()?));
        inner = element.ok_or_else(|| format!("{what} has the path {path:?}, which {shape} does not have"))?;
    }
    Ok(())
}

/// Checks that a dimension of the result is declared as dynamic if its size depends on dynamic
/// dimensions. A dimension may also be declared as dynamic although its size depends on no dynamic
/// dimension; its size is then the bound.
fn check_dynamic_dimensions(site: &Site, inferred: &Shape, declared: &Shape) -> Result<(), String> {
    let opcode = site.op.opcode();
    let is_dynamic = |shape: &&Shape| shape.has_dynamic_size();
    // `set-dimension-size` makes a dimension static if the new size is the bound.
    if matches!(site.op, Op::SetDimensionSize { .. }) || !site.operands.iter().chain([&inferred]).any(is_dynamic) {
        return Ok(());
    }
    if !inferred.flows_into(declared) {
        return Err(format!("{opcode} gives {inferred} here, but is declared as {declared}"));
    }
    let arrays = declared.leaves().into_iter().filter_map(Shape::as_array);
    for (array, extents) in arrays.zip(extents(site.op, site.operands, declared)) {
        let is_missing = |(d, extent): (usize, &Extent)| !extent.sources().is_empty() && !array.is_dynamic(d);
        if let Some(d) = extents.iter().enumerate().position(is_missing) {
            return Err(format!(
                "dimension {d} of this {opcode} is as dynamic as its operands, but is declared as {array}"
            ));
        }
    }
    Ok(())
}

/// Checks the dimensions, the size in bytes and the layout of a shape.
fn check_shape(shape: &Shape) -> Result<(), String> {
    let mut total = 0i64;
    for leaf in shape.leaves() {
        let Some(array) = leaf.as_array() else { continue };
        if let Some(size) = array.dims.iter().find(|&&size| size < 0) {
            return Err(format!("the shape {array} has a negative dimension, {size}"));
        }
        let sum = byte_size(&array.dims, array.element_type.byte_size()).and_then(|bytes| total.checked_add(bytes));
        total = sum.ok_or_else(|| format!("the shape {array} is too large: its bytes do not fit a 64-bit integer"))?;
        let rank = array.rank();
        let fits = array.dynamic.is_empty() || array.dynamic.len() == rank;
        ensure!(fits, "the shape {array} marks {} of {rank} dimensions as dynamic", array.dynamic.len());
        if let Some(layout) = &array.layout
            && !is_permutation(layout, rank)
        {
            return Err(format!("the layout {layout} of {array} must name each of its {rank} dimensions once"));
        }
    }
    Ok(())
}

/// Returns the number of bytes of an array, or `None` if the product of its nonzero sizes is too
/// large for `i64`.
fn byte_size(dims: &[i64], element_size: usize) -> Option<i64> {
    let product = dims.iter().filter(|&&size| size != 0).try_fold(element_size as i64, |n, &size| n.checked_mul(size));
    if dims.contains(&0) { product.map(|_| 0) } else { product }
}

fn is_permutation(layout: &Layout, rank: usize) -> bool {
    let mut seen = vec![false; rank];
    let each_once =
        layout.minor_to_major.iter().all(|&dim| seen.get_mut(dim).is_some_and(|place| !std::mem::replace(place, true)));
    each_once && layout.minor_to_major.len() == rank
}
