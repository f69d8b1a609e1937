//! Records the number of iterations of a loop that counts up or down from one constant to another.
//!
//! ```text
//! while(2, x: i < 9) { (i + 3, f(x)) }     has 3 iterations: 2, 5, 8
//! ```
//!
//! If the number of iterations is known, a GPU need not wait for the condition of each iteration.
//! The loop keeps its condition. The pass writes the number into the attribute `backend_config`, as
//! XLA does.

use fusebox_core::hlo::{BinaryOp, Comparison, Computation, ElementType, InstrId, Instruction, Module, Op};

use super::constant_folding::constant;
use crate::equal_instructions::depends_on_operands_alone;
use crate::invariance::element_of_state;
use crate::roles::{Role, in_role};

/// The text around the number of iterations, as XLA writes it.
const CONFIG: [&str; 2] = ["{\"known_trip_count\":{\"n\":\"", "\"}}"];

/// Records the number of iterations of each loop for which the pass can determine this number. If
/// the program states a number for a loop, and the pass cannot determine the loop's number, the
/// pass removes the stated number.
pub fn run(module: &mut Module) {
    for id in in_role(module, Role::Sequence) {
        let of_caller = module.computation(id);
        let numbers: Vec<(InstrId, Option<u64>)> = of_caller
            .ids()
            .filter(|&it| matches!(of_caller.instruction(it).op, Op::While { .. }))
            .map(|it| (it, counted(module, of_caller, of_caller.instruction(it))))
            .collect();
        for (at, number) in numbers {
            let instruction = &mut module.computations[id.index()].instructions[at.index()];
            let config = number.map(|number| format!("{}{number}{}", CONFIG[0], CONFIG[1]));
            match (config, &mut instruction.extra) {
                (None, None) => {}
                (config, extra) => extra.get_or_insert_default().backend_config = config,
            }
        }
    }
}

/// Returns the number of iterations that the pass has recorded for a loop. Returns `None` if the
/// loop has no recorded number.
pub fn stated(instruction: &Instruction) -> Option<u64> {
    let config = instruction.extra.as_ref()?.backend_config.as_ref()?;
    config.strip_prefix(CONFIG[0])?.strip_suffix(CONFIG[1])?.parse().ok()
}

fn counted(module: &Module, caller: &Computation, instruction: &Instruction) -> Option<u64> {
    let Op::While { condition, body } = instruction.op else { return None };
    let state = caller.instruction(instruction.operands[0]);
    let initial: Vec<Option<i64>> = match state.op {
        Op::Tuple => state.operands.iter().map(|&it| integer(caller.instruction(it))).collect(),
        _ => return None,
    };
    let (condition, body) = (module.computation(condition), module.computation(body));
    let is_without_effect = |it: &Instruction| match &it.op {
        Op::Parameter { .. } => true,
        Op::While { .. } | Op::Conditional { .. } => false,
        op => depends_on_operands_alone(op),
    };
    // The condition will not be executed.
    if !condition.instructions.iter().all(is_without_effect) {
        return None;
    }
    let counting = Counting { initial: &initial, body };
    let root = condition.root_instruction();
    let Op::Compare { direction, .. } = &root.op else { return None };
    let [left, right] = root.operands[..] else { return None };
    let by = |counter, limit, direction| {
        let (element, start, step) = counting.counter(condition, counter)?;
        iterations(start, step, direction, counting.constant(condition, limit)?, element)
    };
    by(left, right, *direction).or_else(|| by(right, left, exchanged(*direction)))
}

/// A loop whose state counts iterations.
struct Counting<'m> {
    /// The values of the state's elements before the loop, if they are constants.
    initial: &'m [Option<i64>],
    body: &'m Computation,
}

impl Counting<'_> {
    /// Returns the type, the initial value and the step of an element of the state to which every
    /// iteration adds a constant.
    fn counter(&self, reader: &Computation, id: InstrId) -> Option<(ElementType, i64, i64)> {
        let number = element_of_state(reader, id)?;
        let element = reader.instruction(id).shape.as_array()?.element_type;
        let start = self.initial(number)?;
        let next = self.body.instruction(self.next(number)?);
        let Op::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract)) = next.op else { return None };
        let [left, right] = next.operands[..] else { return None };
        let is_counter = |id| element_of_state(self.body, id) == Some(number);
        let step = match op {
            BinaryOp::Add if is_counter(right) => self.constant(self.body, left),
            _ if is_counter(left) => self.constant(self.body, right),
            _ => None,
        }?;
        Some((element, start, if op == BinaryOp::Add { step } else { step.checked_neg()? }))
    }

    /// Returns the value of an instruction that has the same value in every iteration.
    fn constant(&self, reader: &Computation, id: InstrId) -> Option<i64> {
        match element_of_state(reader, id) {
            Some(number) if element_of_state(self.body, self.next(number)?) == Some(number) => self.initial(number),
            Some(_) => None,
            None => integer(reader.instruction(id)),
        }
    }

    /// Returns the instruction of the body that computes the next value of an element of the state.
    fn next(&self, number: i64) -> Option<InstrId> {
        let root = self.body.root_instruction();
        let index = usize::try_from(number).ok().filter(|_| matches!(root.op, Op::Tuple))?;
        root.operands.get(index).copied()
    }

    fn initial(&self, number: i64) -> Option<i64> {
        *self.initial.get(usize::try_from(number).ok()?)?
    }
}

/// Returns the value of a constant scalar. Returns `None` if the value is `i64::MAX` or larger.
fn integer(instruction: &Instruction) -> Option<i64> {
    constant(instruction)?.as_array()?.as_integer().filter(|&value| value != i64::MAX)
}

/// The direction of a comparison whose operands are exchanged.
fn exchanged(direction: Comparison) -> Comparison {
    match direction {
        Comparison::Ge => Comparison::Le,
        Comparison::Gt => Comparison::Lt,
        Comparison::Le => Comparison::Ge,
        Comparison::Lt => Comparison::Gt,
        Comparison::Eq | Comparison::Ne => direction,
    }
}

/// Returns the number of iterations of a loop. The loop's counter begins at `start` and grows by
/// `step`. The loop ends when the counter reaches a value that does not satisfy the condition.
/// Returns `None` if the loop never ends, or if the counter would leave the range of its type
/// before the loop ends.
fn iterations(start: i64, step: i64, direction: Comparison, limit: i64, element: ElementType) -> Option<u64> {
    let (start, step, limit) = (i128::from(start), i128::from(step), i128::from(limit));
    // How far the counter goes before the first value that does not satisfy the condition.
    let way = match direction {
        Comparison::Lt => limit - start,
        Comparison::Le => limit - start + 1,
        Comparison::Gt => start - limit,
        Comparison::Ge => start - limit + 1,
        Comparison::Ne if step > 0 => limit - start,
        Comparison::Ne => start - limit,
        Comparison::Eq if start == limit && step != 0 => return fits(start + step, element).then_some(1),
        Comparison::Eq => return (start != limit).then_some(0),
    };
    let towards = match direction {
        Comparison::Lt | Comparison::Le => step,
        Comparison::Gt | Comparison::Ge => -step,
        Comparison::Ne | Comparison::Eq => step.abs(),
    };
    let is_missed = direction == Comparison::Ne && towards != 0 && way % towards != 0;
    match way {
        0 => Some(0),
        ..0 if direction == Comparison::Ne => None,
        ..0 => Some(0),
        _ if towards <= 0 || is_missed => None,
        way => {
            let number = (way + towards - 1) / towards;
            fits(start + number * step, element).then_some(u64::try_from(number).ok()).flatten()
        }
    }
}

/// Whether a number is in the range of an integer type.
fn fits(value: i128, element: ElementType) -> bool {
    let bits = element.bits();
    let most = if element.is_signed_integer() { bits - 1 } else { bits };
    let least = if element.is_signed_integer() { -(1i128 << most) } else { 0 };
    (least..1i128 << most).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_counted_as_the_loop_does() {
        use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
        let of = |start, step, direction, limit| iterations(start, step, direction, limit, ElementType::S8);
        for (start, step, direction, limit) in [
            (2, 3, Lt, 9),
            (2, 3, Le, 8),
            (0, 1, Lt, 0),
            (5, 1, Lt, 0),
            (9, -2, Gt, 1),
            (9, -2, Ge, 1),
            (0, 4, Ne, 20),
            (20, -5, Ne, 0),
            (3, 1, Eq, 3),
            (3, 1, Eq, 4),
        ] {
            let mut counter: i64 = start;
            let mut expected = 0;
            let goes_on = |counter: i64| match direction {
                Lt => counter < limit,
                Le => counter <= limit,
                Gt => counter > limit,
                Ge => counter >= limit,
                Eq => counter == limit,
                Ne => counter != limit,
            };
            while goes_on(counter) {
                (counter, expected) = (counter + step, expected + 1);
            }
            assert_eq!(of(start, step, direction, limit), Some(expected), "{start} {step} {direction:?} {limit}");
        }
    }

    #[test]
    fn loops_that_do_not_end_or_overflow_are_not_counted() {
        use Comparison::{Eq, Ge, Lt, Ne};
        let of = |start, step, direction, limit| iterations(start, step, direction, limit, ElementType::S8);
        assert_eq!([of(0, 0, Lt, 3), of(0, -1, Lt, 3), of(0, 3, Ne, 4), of(0, -1, Ne, 4)], [None; 4]);
        assert_eq!([of(0, 100, Lt, 127), of(3, 0, Eq, 3), of(0, -50, Ge, -120)], [None; 3]);
        assert_eq!(iterations(3, -1, Ge, 0, ElementType::U8), None);
        assert_eq!(iterations(i64::MIN, i64::MAX, Lt, 0, ElementType::S64), Some(2));
    }
}
