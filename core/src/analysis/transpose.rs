//! The normal form of transposes, and the fusions that have transposes as heroes.

use super::epilogue::{moves_elements, users_stay_elementwise};
use super::hero::nearest;
use crate::emitter::{Decline, Fusion};
use crate::hlo::{Computation, InstrId, Instruction, Op};

/// A transpose in its normal form. The normal form drops dimensions of size 1, and merges
/// dimensions that the transpose keeps adjacent.
///
/// `f32[4,1,8,16]` with `dimensions={2,3,0,1}` has the normal form `[4,128]` with `{1,0}`. Each
/// element of the operand and of the result has the same row-major position in a transpose and in
/// its normal form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NormalTranspose {
    /// Dimensions of the operand.
    pub dims: Vec<i64>,
    /// Dimension `k` of the result is dimension `permutation[k]` of the operand.
    pub permutation: Vec<usize>,
}

/// A fusion whose heroes are transposes with a common normal form. One kernel can compute a
/// transpose fusion tile by tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransposeFusion {
    /// The normal form of all heroes.
    pub form: NormalTranspose,
    /// The transposes that are heroes, in instruction order. The kernel reads the operands of the
    /// heroes.
    pub heroes: Vec<InstrId>,
    /// One entry per root of the fusion, in order. Each entry states when the kernel writes the
    /// root.
    pub roots: Vec<RootPlace>,
    /// Why this is a transpose fusion, in words for `explain`.
    pub reason: String,
}

/// When an element of a root is computed and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootPlace {
    /// The kernel writes the element after the transposition, at an index of the transposes'
    /// results.
    Result,
    /// The kernel writes the element while it reads the transposes' operands, at an index of these
    /// operands. A root with this [`RootPlace`] is a side output.
    Operand,
}

impl NormalTranspose {
    /// Returns the normal form of a transpose whose operand has the dimensions `dims`. Dimension
    /// `k` of the result is dimension `permutation[k]` of the operand.
    pub fn new(dims: &[i64], permutation: &[i64]) -> Self {
        let real: Vec<usize> = (0..dims.len()).filter(|&d| dims[d] != 1).collect();
        // The dimensions of the result that are larger than 1. Each dimension is represented by its
        // position in `real`.
        let order = permutation.iter().filter_map(|&p| real.iter().position(|&d| d as i64 == p));
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for dim in order {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|&last| last + 1 == dim) => run.push(dim),
                _ => runs.push(vec![dim]),
            }
        }
        let mut firsts: Vec<usize> = runs.iter().map(|run| run[0]).collect();
        let permutation = runs.iter().map(|run| firsts.iter().filter(|&&first| first < run[0]).count()).collect();
        firsts.sort_unstable();
        let size = |first: &usize| {
            let run = runs.iter().find(|run| run[0] == *first);
            run.map_or(1, |run| run.iter().map(|&dim| dims[real[dim]]).product())
        };
        NormalTranspose { dims: firsts.iter().map(size).collect(), permutation }
    }

    /// Returns the normal form of an instruction, if it is a transpose of an array.
    pub fn of(computation: &Computation, transpose: &Instruction) -> Option<Self> {
        let Op::Transpose { permutation } = &transpose.op else { return None };
        let operand = computation.instruction(*transpose.operands.first()?).shape.as_array()?;
        Some(NormalTranspose::new(&operand.dims, permutation))
    }

    /// Dimensions of the result.
    pub fn result_dims(&self) -> Vec<i64> {
        self.permutation.iter().map(|&dim| self.dims[dim]).collect()
    }

    /// Whether every element keeps its row-major position.
    pub fn is_identity(&self) -> bool {
        self.permutation.is_sorted()
    }

    /// Whether the minor dimension of the operand is also the minor dimension of the result. A
    /// transpose that keeps the minor dimension moves whole rows.
    pub fn keeps_minor(&self) -> bool {
        self.permutation.last().is_none_or(|&last| last + 1 == self.dims.len())
    }

    /// Number of elements.
    pub fn element_count(&self) -> i64 {
        self.dims.iter().fold(1i64, |n, &d| n.saturating_mul(d))
    }
}

impl std::fmt::Display for NormalTranspose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |items: Vec<String>| items.join(",");
        let dims = list(self.dims.iter().map(i64::to_string).collect());
        let permutation = list(self.permutation.iter().map(usize::to_string).collect());
        write!(f, "[{dims}] by {{{permutation}}}")
    }
}

impl TransposeFusion {
    /// Finds the transposes that decide a fusion's kernel.
    ///
    /// # Errors
    /// The error says why there are no heroes, or why one kernel cannot compute all heroes. The
    /// error also names the instruction that is the obstacle.
    pub fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let mut heroes: Vec<InstrId> = Vec::new();
        let mut with_hero = Vec::new();
        for &root in &fusion.roots {
            let found = heroes_above(computation, root)?;
            with_hero.push(!found.is_empty());
            heroes.extend(found);
        }
        heroes.sort_unstable();
        heroes.dedup();
        let form = common_form(computation, &heroes)?;
        let mut places = Vec::new();
        for (&root, with_hero) in fusion.roots.iter().zip(with_hero) {
            places.push(if with_hero { RootPlace::Result } else { place(computation, root, &heroes)? });
        }
        let reason = reason(computation, &form, &heroes, &places);
        Ok(TransposeFusion { form, heroes, roots: places, reason })
    }
}

/// Returns the transposes that are nearest to a root among its producers, if only elementwise
/// operations follow these transposes.
fn heroes_above(computation: &Computation, root: InstrId) -> Result<Vec<InstrId>, Decline> {
    let is_transpose = |id: InstrId| moves_elements(computation.instruction(id));
    let is_other = |id: InstrId| matches!(computation.instruction(id).op, Op::Reduce { .. } | Op::Concatenate { .. });
    let found = nearest(computation, root, |id| is_transpose(id) || is_other(id));
    let (transposes, others): (Vec<InstrId>, Vec<InstrId>) = found.into_iter().partition(|&id| is_transpose(id));
    if transposes.is_empty() {
        return Ok(transposes);
    }
    if let Some(&other) = others.first() {
        let other = computation.instruction(other);
        return Err(Decline::at(other, format!("a result depends both on a transpose and on this {}", other.opcode())));
    }
    match transposes.iter().find(|&&hero| !users_stay_elementwise(computation, hero, root)) {
        Some(&hero) => Err(Decline::at(
            computation.instruction(hero),
            "operations that are not elementwise also read the transpose",
        )),
        None => Ok(transposes),
    }
}

fn common_form(computation: &Computation, heroes: &[InstrId]) -> Result<NormalTranspose, Decline> {
    let form_of = |hero: InstrId| NormalTranspose::of(computation, computation.instruction(hero));
    let Some(form) = heroes.first().and_then(|&first| form_of(first)) else {
        return Err(Decline::new("no result is a transpose followed by elementwise operations"));
    };
    match heroes.iter().find(|&&hero| form_of(hero).as_ref() != Some(&form)) {
        Some(&hero) => Err(Decline::at(computation.instruction(hero), format!("it is not the transpose {form}"))),
        None => Ok(form),
    }
}

/// Returns when a root without a transpose is written. A root with the dimensions of a transpose's
/// operand is a side output. A root with the dimensions of a transpose's result is written with the
/// results.
fn place(computation: &Computation, root: InstrId, heroes: &[InstrId]) -> Result<RootPlace, Decline> {
    let dims = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| &array.dims);
    let operand = |hero: &InstrId| computation.instruction(*hero).operands.first().copied();
    let own = dims(root);
    if own.is_some() && heroes.iter().filter_map(operand).any(|id| dims(id) == own) {
        return Ok(RootPlace::Operand);
    }
    if own.is_some() && heroes.iter().any(|&hero| dims(hero) == own) {
        return Ok(RootPlace::Result);
    }
    Err(Decline::at(
        computation.instruction(root),
        "the result has neither the dimensions of the transpose nor those of its operand",
    ))
}

fn reason(computation: &Computation, form: &NormalTranspose, heroes: &[InstrId], places: &[RootPlace]) -> String {
    let names: Vec<&str> = heroes.iter().map(|&hero| computation.instruction(hero).name.as_str()).collect();
    let verb = if names.len() > 1 { "all move" } else { "moves" };
    let side = places.iter().filter(|&&place| place == RootPlace::Operand).count();
    let beside = match side {
        0 => String::new(),
        1 => "; one result is written while reading".into(),
        n => format!("; {n} results are written while reading"),
    };
    format!("{} {verb} {form}, and only elementwise operations follow{beside}", names.join(", "))
}
