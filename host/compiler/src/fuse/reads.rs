//! Computes how often and at which index an instruction reads an operand.

use fusebox_core::cost::first_array;
use fusebox_core::hlo::{ArrayShape, Computation, Instruction};
use fusebox_core::indexing::{Access, Expr, ExprKind, OperandRead, Reading, access};

/// The elements of one operand that one evaluation of an instruction reads.
#[derive(Clone, Debug, PartialEq)]
pub struct OperandReads {
    /// Number of elements of the operand that are read per element of the instruction's result.
    pub factor: f64,
    /// Index of the elements that are read.
    pub index: ReadIndex,
}

/// Index at which an instruction reads an operand. If two users are computed at equal indices and
/// their reads have equal values of this type, both users read the same element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReadIndex {
    /// The element at the instruction's own index.
    Own,
    /// The element at the index that this map computes.
    At(Reading),
    /// Elements at an unknown index. The reading instruction's name and the operand's number
    /// identify the read, because no other read is known to have the same index.
    Elsewhere(String, usize),
}

impl ReadIndex {
    /// Whether computing the index needs divisions, as most reshapes do.
    pub fn divides(&self) -> bool {
        matches!(self, ReadIndex::At(reading) if reading.map.results.iter().any(divides))
    }
}

/// Whether an expression contains a quotient or a remainder.
fn divides(expr: &Expr) -> bool {
    match expr.kind() {
        ExprKind::FloorDiv(..) | ExprKind::Mod(..) => true,
        ExprKind::Add(a, b) | ExprKind::Mul(a, b) | ExprKind::Min(a, b) | ExprKind::Max(a, b) => {
            divides(a) || divides(b)
        }
        ExprKind::Constant(_) | ExprKind::Dim(_) | ExprKind::Range(_) | ExprKind::Runtime(_) => false,
    }
}

/// Returns how `instruction` reads operand number `position`.
pub fn read(computation: &Computation, instruction: &Instruction, position: usize) -> OperandReads {
    let operand = computation.instruction(instruction.operands[position]);
    let (Some(from), Some(to)) = (operand.shape.as_array(), first_array(instruction)) else {
        return elsewhere(instruction, position, 1.0);
    };
    match access(computation, instruction) {
        Ok(access) => match access.reads.iter().find(|read| read.operand == position) {
            Some(read) => of_value(&access, read, from, to, || elsewhere(instruction, position, 1.0)),
            None => elsewhere(instruction, position, indices_read(&access, instruction, position)),
        },
        Err(_) => elsewhere(instruction, position, 1.0),
    }
}

/// Returns how an instruction reads an operand's value. For each element of its result, the
/// instruction reads one element at a known index, or one element per loop iteration. If only a
/// part of the result comes from this operand, the instruction reads at most one element of the
/// operand.
fn of_value(
    access: &Access,
    read: &OperandRead,
    from: &ArrayShape,
    to: &ArrayShape,
    elsewhere: impl FnOnce() -> OperandReads,
) -> OperandReads {
    let map = &read.reading.map;
    let exprs = map.results.iter().chain(map.constraints.iter().map(|constraint| &constraint.expr));
    let nests = exprs.map(|expr| access.loops_around(expr)).max().unwrap_or(0);
    match (nests, map.constraints.is_empty()) {
        (0, true) if map.is_identity() => OperandReads { factor: 1.0, index: ReadIndex::Own },
        (0, true) => OperandReads { factor: 1.0, index: ReadIndex::At(read.reading.clone()) },
        (0, false) => OperandReads { factor: ratio(from, to).min(1.0), ..elsewhere() },
        _ => {
            // A constraint on a remainder modulo `n` holds in only one of `n` iterations, for
            // example if elements are read with a stride.
            let apart: f64 = map.constraints.iter().filter_map(|c| Some(c.expr.as_remainder()?.1 as f64)).product();
            OperandReads { factor: access.turns(nests) as f64 / apart, ..elsewhere() }
        }
    }
}

/// Counts the elements of an operand that the instruction uses as indices to read other operands.
/// Returns 1 if the operand has no such elements.
fn indices_read(access: &Access, instruction: &Instruction, position: usize) -> f64 {
    let operand = instruction.operands[position];
    let values = access.reads.iter().flat_map(|read| &read.reading.runtime);
    values.filter(|value| value.instruction == operand).count().max(1) as f64
}

/// Returns a read of a known number of elements at unknown indices.
pub fn elsewhere(instruction: &Instruction, position: usize, factor: f64) -> OperandReads {
    OperandReads { factor, index: ReadIndex::Elsewhere(instruction.name.clone(), position) }
}

fn ratio(from: &ArrayShape, to: &ArrayShape) -> f64 {
    from.element_count() as f64 / to.element_count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::parse_module;

    use super::*;

    /// Returns how the root of a computation reads an operand.
    fn of_root(body: &str, position: usize) -> OperandReads {
        let pick =
            "pick { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT c = pred[] compare(x, y), direction=GE }\n";
        let add = "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n";
        let module = parse_module(&format!("HloModule m\n{pick}{add}ENTRY e {{ {body} }}"), "m.hlo").unwrap();
        let computation = module.entry_computation().unwrap();
        read(computation, computation.root_instruction(), position)
    }

    #[test]
    fn equal_maps_are_equal_reads_whatever_the_operation() {
        let reshape = of_root("p = f32[4,6] parameter(0)\n ROOT r = f32[24] reshape(p)", 0);
        let bitcast = of_root("p = f32[4,6] parameter(0)\n ROOT r = f32[24] bitcast(p)", 0);
        assert!(matches!(reshape.index, ReadIndex::At(_)) && reshape == bitcast);
        let slice = of_root("p = f32[9] parameter(0)\n ROOT r = f32[4] slice(p), slice={[0:4]}", 0);
        assert_eq!(slice, OperandReads { factor: 1.0, index: ReadIndex::Own });
        let later = of_root("p = f32[9] parameter(0)\n ROOT r = f32[4] slice(p), slice={[1:5]}", 0);
        assert_ne!(slice.index, later.index);
    }

    #[test]
    fn elements_are_counted_by_the_turns_that_meet_them() {
        let factor = |body, position| of_root(body, position).factor;
        let pad = "p = f32[6] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[24] pad(p, q), padding=9_9";
        assert_eq!((factor(pad, 0), factor(pad, 1)), (0.25, 1.0));
        let scattered = "p = f32[8,8] parameter(0)\n s = f32[3,3] parameter(1)\n z = f32[] parameter(2)\n \
             ROOT r = f32[8,8] select-and-scatter(p, s, z), window={size=4x4 stride=2x2}, select=pick, scatter=add";
        // An element is in 4 by 4 windows at stride 1, but with stride 2 only every second window
        // in each dimension exists.
        assert_eq!((factor(scattered, 1), factor(scattered, 0), factor(scattered, 2)), (4.0, 64.0, 1.0));
        let gather = "p = f32[9,6] parameter(0)\n i = s32[5,2] parameter(1)\n ROOT r = f32[5] gather(p, i), offset_dims={}, \
             collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}";
        assert_eq!((factor(gather, 0), factor(gather, 1)), (1.0, 2.0));
    }
}
