//! `vector`, of one dimension.

use super::function::{Done, Function};
use super::memory::static_tensor;
use super::simt::AccessKind;
use super::slot::float_format;
use crate::Target;
use crate::error::Unsupported;
use crate::llvm::Val;
use crate::mlir::{Operation, Type};

impl Function<'_, '_, '_> {
    pub(super) fn vector_operation(&mut self, op: Operation) -> Done {
        let value = match op.name() {
            "vector.transfer_write" => return self.write_row(op),
            "vector.transfer_read" => self.read_row(op)?,
            "vector.from_elements" => self.vector_of_elements(op)?,
            "vector.broadcast" => {
                let element = self.plain(op.operand(0))?;
                let Type::Vector { lanes, .. } = op.result(0).ty() else {
                    return Unsupported::because("its result is no vector of one dimension");
                };
                self.gathered(&vec![element; lanes as usize])
            }
            "vector.extract" => {
                let vector = self.plain(op.operand(0))?;
                let position = self.position(op, 1)?;
                self.llvm().lane(vector, position)
            }
            "vector.insert" => {
                let (value, vector) = (self.plain(op.operand(0))?, self.plain(op.operand(1))?);
                let position = self.position(op, 2)?;
                self.llvm().with_lane(vector, value, position)
            }
            "vector.shuffle" => {
                let (first, second) = (self.plain(op.operand(0))?, self.plain(op.operand(1))?);
                let lanes = op.attribute("mask").and_then(|it| it.integers()).unwrap_or_default();
                // A lane that nothing is promised about would be -1.
                if lanes.is_empty() || lanes.iter().any(|&lane| lane < 0) {
                    return Unsupported::because("its lanes are not all given");
                }
                self.llvm().shuffled(first, second, &lanes)
            }
            "vector.fma" => {
                let operands = op.operands().map(|operand| self.plain(operand)).collect::<Done<Vec<Val>>>()?;
                let ty = self.llvm().type_of(operands[0]);
                self.llvm().call_intrinsic("llvm.fma", &[ty], &operands)
            }
            "vector.reduction" => self.reduction(op)?,
            _ => return Unsupported::because("the operation is not part of the kernel IR"),
        };
        self.bind_plain(op, value);
        Ok(())
    }

    /// Elements that are next to each other in the last dimension.
    fn read_row(&mut self, op: Operation) -> Done<Val> {
        let lanes = row_lanes(op, &op.result(0).ty(), 2)?;
        let (_, element) = static_tensor(&op.operand(0).ty())?;
        let place = self.place(op, op.operand(0), 1)?;
        self.report(op, &place, &element, lanes, AccessKind::Read);
        self.read_plain(&place, &op.result(0).ty())
    }

    fn write_row(&mut self, op: Operation) -> Done {
        let lanes = row_lanes(op, &op.operand(0).ty(), 2)?;
        let (_, element) = static_tensor(&op.operand(1).ty())?;
        let place = self.place(op, op.operand(1), 2)?;
        if place.tensor.known.invariant {
            return Unsupported::because("it writes a tensor that is read-only");
        }
        self.report(op, &place, &element, lanes, AccessKind::Write);
        let vector = self.plain(op.operand(0))?;
        let store = self.write_plain(&place, vector, &op.operand(0).ty())?;
        // On a GPU the caches hold what threads share, and on the simulator nothing is gained.
        if self.translation.target == Target::Cpu && op.attribute("fusebox.past_caches").is_some() {
            self.llvm().mark_past_caches(store);
            self.translation.past_caches = true;
        }
        let tensor = self.slot(op.operand(1))?;
        self.bind(op.result(0), tensor);
        Ok(())
    }

    fn vector_of_elements(&mut self, op: Operation) -> Done<Val> {
        let elements = op.operands().map(|operand| self.plain(operand)).collect::<Done<Vec<Val>>>()?;
        if elements.is_empty() {
            return Unsupported::because("it makes a vector of nothing");
        }
        Ok(self.gathered(&elements))
    }

    fn gathered(&self, elements: &[Val]) -> Val {
        let llvm = self.llvm();
        let ty = llvm.vector(llvm.type_of(elements[0]), elements.len() as u32);
        elements.iter().enumerate().fold(llvm.undefined(ty), |all, (lane, &element)| {
            llvm.with_lane(all, element, llvm.const_int(llvm.int(32), lane as i64))
        })
    }

    /// The one position of an extract or insert: a number in the attribute, or the operand after the others.
    fn position(&mut self, op: Operation, others: usize) -> Done<Val> {
        if op.operand_count() > others {
            let ix = self.index(op.operand(others))?;
            return Ok(self.index_value(ix, 64));
        }
        match op.attribute("static_position").and_then(|it| it.integers()).as_deref() {
            Some([lane]) => Ok(self.llvm().const_int(self.llvm().int(64), *lane)),
            _ => Unsupported::because("it has other than one position"),
        }
    }

    fn reduction(&mut self, op: Operation) -> Done<Val> {
        let vector = self.plain(op.operand(0))?;
        let flags = self.fast_math(op);
        let kind = op.attribute("kind").map(|kind| kind.text()).unwrap_or_default();
        let kind = kind.split_once('<').map_or(kind.as_str(), |(_, kind)| kind.trim_end_matches('>'));
        let ty = self.llvm().type_of(vector);
        let float = float_format(&op.operand(0).ty()).is_some();
        let start = if op.operand_count() > 1 { Some(self.plain(op.operand(1))?) } else { None };
        let name = match kind {
            "add" if float => return Ok(self.ordered_reduction("llvm.vector.reduce.fadd", -0.0, vector, start, flags)),
            "mul" if float => return Ok(self.ordered_reduction("llvm.vector.reduce.fmul", 1.0, vector, start, flags)),
            _ if start.is_some() => return Unsupported::because("only sums and products take a start value"),
            "add" => "llvm.vector.reduce.add",
            "mul" => "llvm.vector.reduce.mul",
            "and" => "llvm.vector.reduce.and",
            "or" => "llvm.vector.reduce.or",
            "xor" => "llvm.vector.reduce.xor",
            "minsi" => "llvm.vector.reduce.smin",
            "maxsi" => "llvm.vector.reduce.smax",
            "minui" => "llvm.vector.reduce.umin",
            "maxui" => "llvm.vector.reduce.umax",
            "minimumf" => "llvm.vector.reduce.fminimum",
            "maximumf" => "llvm.vector.reduce.fmaximum",
            "minnumf" => "llvm.vector.reduce.fmin",
            "maxnumf" => "llvm.vector.reduce.fmax",
            _ => return Unsupported::because(format!("reductions by {kind} are not handled")),
        };
        let llvm = self.llvm();
        Ok(llvm.with_flags(llvm.call_intrinsic(name, &[ty], &[vector]), flags))
    }

    fn ordered_reduction(
        &self,
        name: &str,
        neutral: f64,
        vector: Val,
        start: Option<Val>,
        flags: crate::llvm::FastMath,
    ) -> Val {
        let llvm = self.llvm();
        let ty = llvm.type_of(vector);
        let start = start.unwrap_or_else(|| llvm.const_float(llvm.scalar_type(ty), neutral));
        llvm.with_flags(llvm.call_intrinsic(name, &[ty], &[start, vector]), flags)
    }
}

/// Lanes of a transfer, if it is one of elements in a row and has but `others` operands beside the indices.
fn row_lanes(op: Operation, vector: &Type, others: usize) -> Done<u32> {
    let tensor = op.operands().map(|operand| operand.ty()).find(|ty| matches!(ty, Type::Tensor { .. }));
    let rank = tensor.as_ref().map(static_tensor).transpose()?.map_or(0, |(shape, _)| shape.len());
    let along = op.attribute("permutation_map").map(|map| map.text()).unwrap_or_default();
    let bounds = op.attribute("in_bounds").map(|bounds| bounds.text()).unwrap_or_default();
    let Type::Vector { lanes, .. } = vector else { return Unsupported::because("it moves no vector of one dimension") };
    if rank == 0 || op.operand_count() != rank + others || !along.contains(&format!("-> (d{})>", rank - 1)) {
        return Unsupported::because("only elements along the last dimension are moved, and without a mask");
    }
    if bounds != "[true]" {
        return Unsupported::because("elements that are moved must be in bounds");
    }
    Ok(*lanes)
}
