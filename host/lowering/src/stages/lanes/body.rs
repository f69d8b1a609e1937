//! Decides whether a loop's body can be computed for all lanes at once, and which of its values
//! differ between lanes.

use fusebox_core::ir::{Attribute, Effect, FastMath, OpKind, Operation, Type, Value};
use rustc_hash::FxHashMap;

use super::{Memory, Surroundings};

/// Maximum number of operations of a body, besides accesses and the computation of indices. A body
/// that adds four rows of columns to accumulators has five. With many more operations, the values
/// of a piece, which is a vector of consecutive lanes, would not fit into registers: with 16
/// operations and 9 reads, columns of squared differences took 1.17 of the time on a processor of
/// AMD's Zen 4.
const MOST_OPERATIONS: usize = 6;
/// Maximum number of reads per lane: four rows and an accumulator.
const MOST_READS: usize = 5;

/// A body that computes each lane independently of the others.
pub(super) struct LaneBody<'o> {
    /// The loop variable.
    pub(super) lane: Value,
    /// Operations on values that are equal in all lanes, and on indices.
    pub(super) shared: Vec<&'o Operation>,
    /// Operations on values that differ between lanes.
    pub(super) of_lanes: Vec<&'o Operation>,
    /// For each loop-carried value, the operation that combines it with the value of a lane.
    pub(super) sums: Vec<Sum<'o>>,
    /// Bytes of the widest element.
    pub(super) widest: i64,
    /// Whether the loop accesses the thread's own memory.
    pub(super) is_in_own_memory: bool,
    /// Whether the loop only copies elements, and stores none of them to the thread's own memory.
    pub(super) is_copy_into_argument: bool,
}

/// An operation that combines a loop-carried value with the value of a lane. Lanes can be combined
/// in any order.
pub(super) struct Sum<'o> {
    pub(super) op: &'o Operation,
    /// The operand that differs between lanes.
    pub(super) value: Value,
}

/// A sum of a constant and of values that are the same in all lanes.
#[derive(Clone, PartialEq, Eq, Default)]
struct Linear {
    terms: Vec<Value>,
    constant: i64,
}

/// How a value depends on the lane.
#[derive(Clone)]
enum Role {
    /// The value is the same in all lanes.
    Shared(Linear),
    /// The value is the number of the lane plus this sum.
    Index(Linear),
    /// The value differs between lanes in any other manner.
    Data,
    /// A loop-carried value with this number.
    Carried(usize),
}

/// An access by which consecutive lanes read or write consecutive elements.
struct Access {
    pointer: Value,
    /// Index of the element of lane 0.
    index: Linear,
    bytes: usize,
    is_store: bool,
}

/// State of the analysis of a body.
struct Analysis<'o, 's> {
    op: &'o Operation,
    types: &'s [Type],
    surroundings: &'s Surroundings,
    roles: FxHashMap<Value, Role>,
    /// Values that are the same in all lanes. The key is the kind and the operands of the operation
    /// that computes the value.
    known: FxHashMap<(OpKind, Vec<Value>), Value>,
    accesses: Vec<Access>,
    /// Pointers from which all lanes read the same element.
    read: Vec<Value>,
    sums: Vec<Option<Sum<'o>>>,
    shared: Vec<&'o Operation>,
    of_lanes: Vec<&'o Operation>,
    operations: usize,
}

impl<'o> LaneBody<'o> {
    /// Analyses a loop from 0 to `count`, or to a variable. Returns `None` if an iteration depends
    /// on another iteration, or if an operation has no equivalent on vectors.
    pub(super) fn of(
        op: &'o Operation,
        count: Option<i64>,
        types: &[Type],
        surroundings: &Surroundings,
    ) -> Option<LaneBody<'o>> {
        let [body] = op.regions.as_slice() else { return None };
        let (&lane, carried) = body.arguments.split_first()?;
        let (end, operations) = body.operations.split_last()?;
        if !op.attributes.is_empty() {
            return None;
        }
        let mut analysis = Analysis::new(op, types, surroundings, carried.len());
        analysis.roles.insert(lane, Role::Index(Linear::default()));
        analysis.roles.extend(carried.iter().enumerate().map(|(number, &value)| (value, Role::Carried(number))));
        operations.iter().try_for_each(|op| analysis.operation(op, &end.operands))?;
        analysis.finished(lane, count)
    }
}

impl<'o, 's> Analysis<'o, 's> {
    fn new(op: &'o Operation, types: &'s [Type], surroundings: &'s Surroundings, carried: usize) -> Self {
        Analysis {
            op,
            types,
            surroundings,
            roles: FxHashMap::default(),
            known: FxHashMap::default(),
            accesses: Vec::new(),
            read: Vec::new(),
            sums: (0..carried).map(|_| None).collect(),
            shared: Vec::new(),
            of_lanes: Vec::new(),
            operations: 0,
        }
    }

    fn finished(self, lane: Value, count: Option<i64>) -> Option<LaneBody<'o>> {
        let reads = self.accesses.iter().filter(|access| !access.is_store).count();
        let is_short = self.operations <= MOST_OPERATIONS && reads <= MOST_READS;
        let sums: Option<Vec<Sum<'o>>> = self.sums.into_iter().collect();
        let sums = sums.filter(|_| is_short)?;
        let stores = || self.accesses.iter().filter(|access| access.is_store);
        let surroundings = self.surroundings;
        let are_independent = stores().all(|store| {
            self.read.iter().all(|&read| surroundings.are_apart(store.pointer, read))
                && self.accesses.iter().all(|access| store.is_independent_of(access, count, surroundings))
        });
        if !are_independent || (stores().next().is_none() && sums.is_empty()) {
            return None;
        }
        let differing = self.of_lanes.iter().flat_map(|op| op.results.iter().chain(&op.operands[..vectors_of(op)]));
        let elements = differing.filter_map(|value| self.types[value.number()].as_scalar());
        let widest = elements.map(|element| element.byte_size() as i64).max()?;
        let is_own = |access: &Access| surroundings.memories.get(&access.pointer) == Some(&Memory::Own);
        Some(LaneBody {
            lane,
            is_copy_into_argument: self.operations == 0 && sums.is_empty() && !stores().any(is_own),
            is_in_own_memory: self.accesses.iter().any(is_own),
            shared: self.shared,
            of_lanes: self.of_lanes,
            sums,
            widest: widest.max(4),
        })
    }

    fn role(&self, value: Value) -> Role {
        match (self.roles.get(&value), self.surroundings.constants.get(&value)) {
            (Some(role), _) => role.clone(),
            (None, Some(&constant)) => Role::Shared(Linear { terms: Vec::new(), constant }),
            (None, None) => Role::Shared(Linear { terms: vec![value], constant: 0 }),
        }
    }

    fn operation(&mut self, op: &'o Operation, yielded: &[Value]) -> Option<()> {
        let is_plain = |value: &Value| matches!(self.types[value.number()], Type::Scalar(_) | Type::Pointer(_));
        if !op.regions.is_empty() || !op.operands.iter().chain(&op.results).all(is_plain) {
            return None;
        }
        match op.kind {
            OpKind::Load => self.load(op),
            OpKind::Store => self.store(op),
            _ => self.arithmetic(op, yielded),
        }
    }

    fn load(&mut self, op: &'o Operation) -> Option<()> {
        match self.role(op.operands[1]) {
            Role::Shared(_) => {
                self.read.push(op.operands[0]);
                self.shared.push(op);
                self.roles.insert(op.result(), Role::Shared(Linear { terms: vec![op.result()], constant: 0 }));
                Some(())
            }
            Role::Index(index) => {
                self.access(op, op.operands[0], index, op.result())?;
                self.roles.insert(op.result(), Role::Data);
                Some(())
            }
            Role::Data | Role::Carried(_) => None,
        }
    }

    fn store(&mut self, op: &'o Operation) -> Option<()> {
        let Role::Index(index) = self.role(op.operands[2]) else { return None };
        match self.role(op.operands[0]) {
            Role::Shared(_) | Role::Data => self.access(op, op.operands[1], index, op.operands[0]),
            Role::Index(_) | Role::Carried(_) => None,
        }
    }

    fn access(&mut self, op: &'o Operation, pointer: Value, mut index: Linear, element: Value) -> Option<()> {
        let element = self.types[element.number()].as_scalar()?;
        let is_special = ["complex_part", "past_caches", "stride"].iter().any(|name| op.attribute(name).is_some());
        if is_special || element.bits() < 8 {
            return None;
        }
        index.constant = index.constant.checked_add(op.integer("offset").unwrap_or(0))?;
        let is_store = op.kind == OpKind::Store;
        self.accesses.push(Access { pointer, index, bytes: element.byte_size(), is_store });
        self.of_lanes.push(op);
        Some(())
    }

    fn arithmetic(&mut self, op: &'o Operation, yielded: &[Value]) -> Option<()> {
        let [result] = op.results[..] else { return None };
        let roles: Vec<Role> = op.operands.iter().map(|&operand| self.role(operand)).collect();
        if let Some(place) = roles.iter().position(|role| matches!(role, Role::Carried(_))) {
            return self.sum(op, &roles, place, yielded);
        }
        if roles.iter().all(|role| matches!(role, Role::Shared(_))) {
            self.shared.push(op);
            let sum = self.shared_value(op, &roles)?;
            if !self.surroundings.constants.contains_key(&result) {
                self.roles.insert(result, Role::Shared(sum));
            }
            return Some(());
        }
        if roles.iter().any(|role| matches!(role, Role::Index(_))) {
            self.shared.push(op);
            let index = match (op.kind, roles.as_slice()) {
                (OpKind::AddI, [Role::Index(one), Role::Shared(other)] | [Role::Shared(other), Role::Index(one)]) => {
                    one.plus(other)?
                }
                _ => return None,
            };
            self.roles.insert(result, Role::Index(index));
            return Some(());
        }
        let bits = self.types[result.number()].element().bits();
        if !has_vectors(op.kind, bits) {
            return None;
        }
        self.operations += 1;
        self.of_lanes.push(op);
        self.roles.insert(result, Role::Data);
        Some(())
    }

    /// Represents the result of an operation as a sum. The result must be the same in all lanes.
    /// Equal operations have equal sums.
    fn shared_value(&mut self, op: &'o Operation, roles: &[Role]) -> Option<Linear> {
        if !matches!(op.kind, OpKind::AddI | OpKind::MulI) {
            let is_pure = op.kind.effect() == Effect::None;
            return is_pure.then(|| Linear { terms: vec![op.result()], constant: 0 });
        }
        if let (OpKind::AddI, [Role::Shared(one), Role::Shared(other)]) = (op.kind, roles) {
            return one.plus(other);
        }
        let value = *self.known.entry((op.kind, op.operands.clone())).or_insert(op.result());
        Some(Linear { terms: vec![value], constant: 0 })
    }

    /// Records an operation that combines a loop-carried value, which is operand number `place`,
    /// with another value.
    fn sum(&mut self, op: &'o Operation, roles: &[Role], place: usize, yielded: &[Value]) -> Option<()> {
        let Role::Carried(number) = roles[place] else { return None };
        let [_, _] = roles else { return None };
        let is_yielded = yielded.iter().enumerate().all(|(at, value)| (*value == op.result()) == (at == number));
        let is_data = matches!(roles[1 - place], Role::Data);
        let bits = self.types[op.result().number()].element().bits();
        if !is_yielded || !is_data || !has_any_order(op, bits) || self.sums[number].is_some() {
            return None;
        }
        self.sums[number] = Some(Sum { op, value: op.operands[1 - place] });
        // No other operation may use the loop-carried value or the sum.
        let uses = |value: Value| {
            let body = self.op.regions.iter().flat_map(|region| &region.operations);
            body.flat_map(|op| &op.operands).filter(|&&operand| operand == value).count()
        };
        (uses(op.operands[place]) == 1 && uses(op.result()) == 1).then_some(())
    }
}

impl Access {
    /// Whether this store and another access touch the same element only in the same lane.
    fn is_independent_of(&self, other: &Access, lanes: Option<i64>, surroundings: &Surroundings) -> bool {
        if self.pointer != other.pointer {
            return surroundings.are_apart(self.pointer, other.pointer);
        }
        let distance = self.index.constant.abs_diff(other.index.constant);
        self.bytes == other.bytes
            && self.index.terms == other.index.terms
            && (distance == 0 || lanes.is_some_and(|lanes| distance >= lanes.unsigned_abs()))
    }
}

impl Linear {
    fn plus(&self, other: &Linear) -> Option<Linear> {
        let mut terms = [self.terms.as_slice(), &other.terms].concat();
        terms.sort_unstable_by_key(|term| term.number());
        Some(Linear { terms, constant: self.constant.checked_add(other.constant)? })
    }
}

/// Returns the number of operands that become vectors; these operands come first. The other
/// operands of an access are its pointer and its index.
pub(super) fn vectors_of(op: &Operation) -> usize {
    match op.kind {
        OpKind::Load => 0,
        OpKind::Store => 1,
        _ => op.operands.len(),
    }
}

/// Whether a processor computes one operation on vectors at least as fast as the same scalar
/// operation for each lane.
fn has_vectors(kind: OpKind, bits: u32) -> bool {
    use OpKind::*;
    matches!(
        kind,
        AddF | SubF
            | MulF
            | DivF
            | NegF
            | AbsF
            | MaximumF
            | MinimumF
            | MaxNumF
            | MinNumF
            | Fma
            | Sqrt
            | AddI
            | SubI
            | AndI
            | OrI
            | XorI
            | ShlI
            | ShrSI
            | ShrUI
            | MinSI
            | MaxSI
            | MinUI
            | MaxUI
            | CmpI
            | CmpF
            | Select
            | ExtSI
            | ExtUI
            | TruncI
            | ExtF
            | TruncF
            | Bitcast
    ) || kind == MulI && bits <= 32
}

/// Whether an operation may combine several values in any order.
fn has_any_order(op: &Operation, bits: u32) -> bool {
    use OpKind::*;
    match op.kind {
        AddF | MulF => match op.attribute("fastmath") {
            Some(Attribute::FastMath(flags)) => flags.bits() & FastMath::REASSOC.bits() != 0,
            _ => false,
        },
        AddI | AndI | OrI | XorI | MinSI | MaxSI | MinUI | MaxUI => true,
        MulI => bits <= 32,
        _ => false,
    }
}
