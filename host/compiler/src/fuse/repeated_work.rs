//! Dissolves a fusion of the program text if its kernel would evaluate a value's elements far more
//! often than once each. In a chain, each value that is read at two indices doubles the work for
//! all values before it. The dissolved instructions are fused again, so that values with many reads
//! get a buffer.
//!
//! Evaluations are counted in two ways, because each count alone also reports harmless fusions.
//!
//! ```text
//! for each element of the root      2 if it reads a value at two indices, 25 if it reads overlapping
//!                                   windows of 5 by 5; 1 if windows or rows do not overlap
//! for each element of the value     1000 if a thousand results read one mean
//! ```
//!
//! A value is computed too often if both counts of evaluations exceed the limit. A fusion such as a
//! normalisation, which reads a whole row again for each element of the row, is kept, because some
//! emitters read the row once. A fusion may also evaluate elements again for each window of one
//! scan or convolution, but not for windows of windows.

use std::collections::HashSet;
use std::iter::Sum;

use fusebox_core::hlo::{Computation, InstrId, Module, Op};
use fusebox_edit::EditError;

use super::decide::{elements, is_scalar_constant};
use super::in_place::dissolve;
use super::reads::read;
use super::sites::{EvaluationSite, SiteIndices, add, common};
use crate::roles::{Role, in_role};

/// A kernel may evaluate an element at most `MOST_EVALUATIONS * n` times. In this limit, `n` is the
/// length of the longest row or window that an instruction of the kernel reads.
const MOST_EVALUATIONS: f64 = 256.0;

/// The number of evaluations of a value.
#[derive(Clone, Copy, Debug, Default)]
struct Evaluations {
    /// Number of evaluations per element of the root.
    per_result: f64,
    /// Number of evaluations in total.
    all: f64,
}

impl Sum for Evaluations {
    fn sum<I: Iterator<Item = Self>>(every: I) -> Self {
        every.fold(Evaluations::default(), |sum, it| Evaluations {
            per_result: sum.per_result + it.per_result,
            all: sum.all + it.all,
        })
    }
}

/// Dissolves fusions whose kernels would repeat too much work. Returns warnings that name these
/// fusions.
pub fn dissolve_repeated_work(module: &mut Module) -> Result<Vec<String>, EditError> {
    let mut warnings = Vec::new();
    let mut repeated = HashSet::new();
    for fused in in_role(module, Role::Fused) {
        let computation = module.computation(fused);
        let Some((value, evaluations)) = most_repeated(computation) else { continue };
        let most = MOST_EVALUATIONS * longest_row(computation);
        if evaluations > most {
            let (name, value) = (&computation.name, &computation.instruction(value).name);
            warnings.push(format!(
                "{name}: one kernel would compute each element of {value} {evaluations:.3e} times; the limit is \
                 {most}, so the fusion is split and fused anew"
            ));
            repeated.insert(fused);
        }
    }
    dissolve(module, &repeated)?;
    Ok(warnings)
}

/// Returns the length of the longest row or window. The length is the largest number of elements of
/// one operand that an instruction reads per element of its result.
fn longest_row(computation: &Computation) -> f64 {
    let reads = computation.instructions.iter().flat_map(|instruction| {
        (0..instruction.operands.len()).map(move |position| read(computation, instruction, position).factor)
    });
    reads.fold(1.0, f64::max)
}

/// Returns the value of a fused computation that has the most evaluations per element, and the
/// number of these evaluations. Ignores values that need no computation, such as constants.
fn most_repeated(computation: &Computation) -> Option<(InstrId, f64)> {
    let mut kernel = EvaluationCounter::new(computation);
    let mut most: Option<(InstrId, f64)> = None;
    for id in computation.ids().rev() {
        let reads = kernel.reads(id);
        if reads.is_empty() {
            continue;
        }
        let (site, evaluations) = common(id, &reads);
        kernel.placed[id.index()] = Some((site, evaluations));
        let often = evaluations.per_result.min(evaluations.all / elements(computation, id).max(1.0));
        let op = &computation.instruction(id).op;
        let is_computed = !matches!(op, Op::Parameter { .. } | Op::Iota { .. } | Op::Tuple) && !is_scalar_constant(op);
        if is_computed && most.is_none_or(|(_, most)| often > most) {
            most = Some((id, often));
        }
    }
    most
}

/// Counts how often one kernel evaluates each instruction of a fused computation.
struct EvaluationCounter<'c> {
    computation: &'c Computation,
    users: Vec<Vec<InstrId>>,
    indices: SiteIndices,
    /// For each instruction that is read, its site and how often it is evaluated there.
    placed: Vec<Option<(EvaluationSite, Evaluations)>>,
}

impl<'c> EvaluationCounter<'c> {
    fn new(computation: &'c Computation) -> Self {
        let placed = vec![None; computation.instructions.len()];
        EvaluationCounter { computation, users: computation.users(), indices: SiteIndices::default(), placed }
    }

    /// Returns the sites that read a value, each with its evaluations. The sites of the value's
    /// users must be known already.
    fn reads(&mut self, id: InstrId) -> Vec<(EvaluationSite, Evaluations)> {
        let as_result =
            (EvaluationSite::function_of(id), Evaluations { per_result: 1.0, all: elements(self.computation, id) });
        let mut reads = Vec::new();
        if id == self.computation.root {
            reads.push(as_result);
        }
        for user in std::mem::take(&mut self.users[id.index()]) {
            let Some(place) = self.placed[user.index()] else { continue };
            let instruction = self.computation.instruction(user);
            for position in (0..instruction.operands.len()).filter(|&p| instruction.operands[p] == id) {
                let is_result = matches!(instruction.op, Op::Tuple);
                let read = if is_result { as_result } else { self.read_by(place, user, position) };
                add(&mut reads, read);
            }
        }
        reads
    }

    /// Returns the site at which a user reads an operand, and how often the user evaluates the
    /// operand there.
    fn read_by(
        &mut self,
        (site, evaluations): (EvaluationSite, Evaluations),
        user: InstrId,
        position: usize,
    ) -> (EvaluationSite, Evaluations) {
        let instruction = self.computation.instruction(user);
        let read = read(self.computation, instruction, position);
        let [made, there] = [user, instruction.operands[position]].map(|id| elements(self.computation, id));
        // Iterations that read different elements do not repeat evaluations.
        let overlap = (read.factor * made / there.max(1.0)).max(1.0).min(read.factor);
        let Evaluations { per_result, all } = evaluations;
        let evaluations = Evaluations { per_result: per_result * overlap, all: all * read.factor };
        (self.indices.read(site, &read.index), evaluations)
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::parse_module;

    use super::*;

    /// Builds a module with one fusion that has this body and an operand `f32[64,64]`. Returns the
    /// number of dissolved fusions.
    fn dissolved_count(body: &str) -> usize {
        let add = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n";
        let text = format!(
            "HloModule m\n{add}fused {{ x0 = f32[64,64] parameter(0)\n z = f32[] constant(0)\n {body} }}\n\
             ENTRY e {{ x = f32[64,64] parameter(0)\n ROOT f = f32[64,64] fusion(x), kind=kLoop, calls=fused }}\n"
        );
        let mut module = parse_module(&text, "m.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
        let warnings = dissolve_repeated_work(&mut module).unwrap();
        let is_fusion = |op: &Op| matches!(op, Op::Fusion { .. });
        let left = module.entry_computation().unwrap().instructions.iter().filter(|it| is_fusion(&it.op)).count();
        assert_eq!(left + warnings.len(), 1, "{warnings:?}");
        warnings.len()
    }

    /// Prints the steps of a chain. `%` stands for the number of a step, and `<` for the number of
    /// the previous step.
    fn chain(step: &str, depth: usize) -> String {
        let line = |i: usize| step.replace('%', &i.to_string()).replace('<', &(i - 1).to_string());
        let text: String = (1..=depth).map(|i| line(i) + "\n").collect();
        let last = format!(" x{depth} = ");
        text.replace(&last, &format!(" ROOT{last}"))
    }

    #[test]
    fn a_chain_of_shared_values_is_taken_apart_before_it_multiplies_work() {
        let step = " r% = f32[64,64] reverse(x<), dimensions={0}\n x% = f32[64,64] add(x<, r%)";
        assert_eq!([4, 9, 10, 60, 2000].map(|depth| dissolved_count(&chain(step, depth))), [0, 0, 1, 1, 1]);
        // A few reductions, such as the mean and variance of a layer norm, are allowed. A long
        // chain is not.
        let centred = " s% = f32[64] reduce(x<, z), dimensions={1}, to_apply=add\n \
             b% = f32[64,64] broadcast(s%), dimensions={0}\n x% = f32[64,64] subtract(x<, b%)";
        assert_eq!([1, 3, 6, 30].map(|depth| dissolved_count(&chain(centred, depth))), [0, 0, 0, 1]);
    }

    #[test]
    fn chains_that_read_a_value_at_one_place_stay() {
        for step in [
            " x% = f32[64,64] negate(x<)",
            " x% = f32[64,64] add(x<, x<)",
            " r% = f32[64,64] reverse(x<), dimensions={0}\n n% = f32[64,64] negate(r%)\n x% = f32[64,64] add(n%, r%)",
        ] {
            assert_eq!(dissolved_count(&chain(step, 300)), 0, "{step}");
        }
        let windows = " w% = f32[64,64] reduce-window(x<, z), window={size=5x5 pad=2_2x2_2}, to_apply=add\n \
             x% = f32[64,64] subtract(x<, w%)";
        assert_eq!([2, 3, 4].map(|depth| dissolved_count(&chain(windows, depth))), [0, 0, 1]);
    }
}
