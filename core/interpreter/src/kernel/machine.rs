//! Execution of functions, regions and control flow by one thread of a block.

use std::ops::ControlFlow;

use fusebox_core::indexing::{IndexingMap, Interval, Variable};
use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Region, Scalar, Type, Value as Name};

use super::KernelFault;
use super::buffer::Buffer;
use super::together::Block;
use super::value::Value;
use super::word;

pub(super) type Done<T> = Result<T, KernelFault>;

/// Number of executed operations between two checks of the time limit.
const PATIENCE: u32 = 1 << 14;

/// A thread of a block.
pub(super) struct Machine<'k> {
    functions: &'k [Function],
    pub(super) block: &'k Block,
    pub(super) thread: u32,
    executed: u32,
}

/// The state of a function call.
pub(super) struct Frame<'k> {
    pub(super) function: &'k Function,
    /// The values of the function, by number.
    values: Vec<Value>,
}

impl<'k> Frame<'k> {
    pub(super) fn get(&self, name: Name) -> &Value {
        &self.values[name.number()]
    }

    pub(super) fn all(&self, names: &[Name]) -> Vec<Value> {
        names.iter().map(|&name| self.get(name).clone()).collect()
    }

    pub(super) fn indices(&self, names: &[Name]) -> Vec<i64> {
        names.iter().map(|&name| self.get(name).index()).collect()
    }

    pub(super) fn element(&self, name: Name) -> Scalar {
        self.function.type_of(name).element()
    }

    fn bind(&mut self, names: &[Name], values: Vec<Value>) {
        names.iter().zip(values).for_each(|(name, value)| self.values[name.number()] = value);
    }
}

/// Returns a fault for an operation with undefined behaviour.
pub(super) fn undefined(op: &Operation, message: impl Into<String>) -> KernelFault {
    KernelFault::Undefined { operation: op.kind.name(), place: op.place.to_string(), message: message.into() }
}

impl<'k> Machine<'k> {
    pub(super) fn new(functions: &'k [Function], block: &'k Block, thread: u32) -> Machine<'k> {
        Machine { functions, block, thread, executed: 0 }
    }

    pub(super) fn entry(&mut self, entry: &'k Function, arguments: &[Buffer]) -> Done<()> {
        self.call(entry, arguments.iter().cloned().map(Value::Memory).collect()).map(drop)
    }

    fn call(&mut self, function: &'k Function, arguments: Vec<Value>) -> Done<Vec<Value>> {
        let mut frame = Frame { function, values: vec![Value::Word(0); function.types.len()] };
        self.region(&mut frame, &function.body, arguments)
    }

    pub(super) fn call_by_name(&mut self, op: &Operation, arguments: Vec<Value>) -> Done<Vec<Value>> {
        let callee = self.functions.iter().find(|function| op.callee() == Some(&function.name));
        self.call(callee.ok_or_else(|| undefined(op, "there is no such function"))?, arguments)
    }

    /// Executes a region. Returns the operands of the region's terminator.
    pub(super) fn region(&mut self, frame: &mut Frame<'k>, region: &'k Region, given: Vec<Value>) -> Done<Vec<Value>> {
        frame.bind(&region.arguments, given);
        // Also counts empty regions, because an empty region may be the body of an endless loop.
        self.count()?;
        let Some((_, operations)) = region.operations.split_last() else { return Ok(Vec::new()) };
        for op in operations {
            self.count()?;
            let results = self.operation(frame, op)?;
            frame.bind(&op.results, results);
        }
        Ok(frame.all(region.yielded()))
    }

    /// Counts an executed operation, and checks the time limit from time to time.
    fn count(&mut self) -> Done<()> {
        self.executed += 1;
        if self.executed < PATIENCE {
            return Ok(());
        }
        self.executed = 0;
        self.block.on_time()
    }

    fn operation(&mut self, frame: &mut Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        use OpKind::*;
        let one = |value: Value| Ok(vec![value]);
        match op.kind {
            For => self.for_loop(frame, op),
            If => {
                let chosen = usize::from(frame.get(op.operands[0]).word() == 0);
                self.region(frame, &op.regions[chosen], Vec::new())
            }
            While => self.while_loop(frame, op),
            IndexSwitch => {
                let index = frame.get(op.operands[0]).index();
                let case = op.integers("cases").unwrap_or_default().iter().position(|&case| case == index);
                self.region(frame, &op.regions[case.map_or(0, |case| case + 1)], Vec::new())
            }
            Loop => self.indexed_loop(frame, op),
            ApplyIndexing => {
                let map = map(op)?;
                let indices = frame.indices(&op.operands);
                let (dims, rest) = indices.split_at(map.dims.len());
                let (ranges, runtime) = rest.split_at(map.ranges.len());
                Ok(map.evaluate(dims, ranges, runtime).into_iter().map(Value::of_index).collect())
            }
            Call | PureCall => self.call_by_name(op, frame.all(&op.operands)),
            ThreadId | BlockId => {
                let is_counted = op.attribute("dimension").is_some_and(|it| it.to_string().contains("dim x"));
                let number = if op.kind == ThreadId { i64::from(self.thread) } else { self.block.number as i64 };
                one(Value::of_index(if is_counted { number } else { 0 }))
            }
            SyncThreads => self.block.meet(self.thread).map(|()| frame.all(&op.operands)),
            Barrier => self.block.meet(self.thread).map(|()| Vec::new()),
            ShuffleReduce => self.reduce_over_lanes(frame, op),
            ShuffleDown => {
                let distance = op.integer("distance").and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
                self.of_lane(frame.all(&op.operands), distance)
            }
            Extract | Insert | PredicatedExtract | PredicatedInsert | TransferRead | TransferWrite | Empty
            | AllocateShared | ReadTile | WriteTile | AtomicRmw | Load | Store | AtomicStore | AtomicCombine
            | StackMemory | SharedMemory | ConstantMemory => self.access(frame, op),
            ReportIndex => {
                let (index, size) = (frame.get(op.operands[1]).index(), op.integer("size").unwrap_or(0));
                let is_inside = (0..size).contains(&index);
                if is_inside { Ok(Vec::new()) } else { Err(undefined(op, format!("index {index} of {size}"))) }
            }
            ReportDivision => Err(undefined(op, "divides by zero, or the lowest number by -1")),
            ReportAccess | ReportTurn => Ok(Vec::new()),
            Constant => one(constant(frame, op)?),
            _ => self.computed(frame, op),
        }
    }

    fn for_loop(&mut self, frame: &mut Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        let width = frame.element(op.operands[0]).bits();
        let [mut at, upper, step] =
            [0, 1, 2].map(|operand| word::signed(frame.get(op.operands[operand]).word(), width));
        if step <= 0 {
            return Err(undefined(op, format!("has a step of {step}, which is not positive")));
        }
        let mut state = frame.all(&op.operands[3..]);
        while at < upper {
            let index = Value::Word(word::unsigned(at as u128, width));
            state = self.region(frame, &op.regions[0], [vec![index], state].concat())?;
            at += step;
        }
        Ok(state)
    }

    fn while_loop(&mut self, frame: &mut Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        let mut state = frame.all(&op.operands);
        loop {
            let mut passed = self.region(frame, &op.regions[0], state)?;
            let goes_on = passed.remove(0).word() != 0;
            if !goes_on {
                return Ok(passed);
            }
            state = self.region(frame, &op.regions[1], passed)?;
        }
    }

    /// Executes the body at all points that the map's constraints allow. The loop varies the map's
    /// range variables; the operands fix all other variables.
    fn indexed_loop(&mut self, frame: &mut Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        let map = map(op)?;
        let (indices, state) = op.operands.split_at(map.dims.len() + map.runtime.len());
        let given = frame.indices(indices);
        let fixed = |&value: &i64| Variable::from(Interval { lower: value, upper: value });
        let (dims, runtime) = given.split_at(map.dims.len());
        let here = IndexingMap {
            dims: dims.iter().map(fixed).collect(),
            runtime: runtime.iter().map(fixed).collect(),
            ..map.clone()
        };
        let mut state = Ok(frame.all(state));
        let _ = here.for_each_point(|point| {
            let indices = point.ranges.iter().chain(point.results).map(|&index| Value::of_index(index));
            let before = std::mem::replace(&mut state, Ok(Vec::new())).unwrap_or_default();
            state = self.region(frame, &op.regions[0], indices.chain(before).collect());
            if state.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        state
    }

    /// Combines this thread's values with the values of a higher lane. Repeats the combination with
    /// smaller distances between the two lanes. The first distance is `max_distance`; each further
    /// distance is half of the previous one, down to 1.
    fn reduce_over_lanes(&mut self, frame: &mut Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        let mut values = frame.all(&op.operands);
        let mut distance = op.integer("max_distance").and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
        // A single thread has the result already.
        while distance > 0 && self.block.threads() > 1 {
            let others = self.of_lane(values.clone(), distance)?;
            values = self.call_by_name(op, [values, others].concat())?;
            distance /= 2;
        }
        Ok(values)
    }

    /// Returns the values of the lane that is `distance` lanes above the thread's own lane. If the
    /// higher lane does not exist, returns the thread's own values.
    fn of_lane(&self, values: Vec<Value>, distance: usize) -> Done<Vec<Value>> {
        let (brought, lane) = self.block.exchange(self.thread, values)?;
        Ok(brought.get(lane + distance).filter(|it| !it.is_empty()).unwrap_or(&brought[lane]).clone())
    }

    /// Evaluates an operation whose results depend only on its operands.
    fn computed(&self, frame: &Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        use OpKind::*;
        let of = |operand: usize| frame.get(op.operands[operand]);
        let words = match op.kind {
            ComplexConstant => match op.attribute("value") {
                Some(Attribute::Array(parts)) => parts.iter().map(bits_of).collect(),
                _ => Vec::new(),
            },
            ComplexCreate | FromElements => op.operands.iter().map(|&name| frame.get(name).word()).collect(),
            ComplexRe | ComplexIm => vec![of(0).words()[usize::from(op.kind == ComplexIm)]],
            Select if matches!(of(1), Value::Memory(_)) || of(0).words().len() == 1 => {
                return Ok(vec![of(if of(0).word() != 0 { 1 } else { 2 }).clone()]);
            }
            Broadcast | TileZero => {
                let word = op.operands.first().map_or(0, |&name| frame.get(name).word());
                vec![word; frame.function.type_of(op.result()).element_count().unwrap_or(0)]
            }
            VectorExtract => vec![of(0).words()[lane(frame, op, 1)?]],
            VectorInsert => {
                let mut words = of(1).words().to_vec();
                words[lane(frame, op, 2)?] = of(0).word();
                words
            }
            Shuffle => {
                let both = [of(0).words(), of(1).words()].concat();
                let mask = op.integers("mask").unwrap_or_default().iter();
                mask.map(|&lane| usize::try_from(lane).ok().and_then(|lane| both.get(lane).copied()).unwrap_or(0))
                    .collect()
            }
            Reduction => vec![reduced(frame, op)?],
            WordMulF | WordMulI => super::accesses::word_product(frame, op),
            TileMulF | TileMulI => super::accesses::tile_product(frame, op),
            MulSIExtended | MulUIExtended => return long_product(frame, op),
            _ => self.elementwise(frame, op)?,
        };
        let is_scalar = matches!(
            frame.function.type_of(op.result()),
            Type::Scalar(Scalar::Index | Scalar::Int(_) | Scalar::Float(_))
        );
        Ok(vec![Value::of_words(words, is_scalar)])
    }

    /// Applies an operation to each lane.
    fn elementwise(&self, frame: &Frame<'k>, op: &'k Operation) -> Done<Vec<u128>> {
        let unsupported = || KernelFault::Unsupported(op.kind.name());
        let (Some(&last), Some(&result)) = (op.operands.last(), op.results.first()) else { return Err(unsupported()) };
        let (from, to) = (frame.element(last), frame.element(result));
        let operands: Vec<&[u128]> = op.operands.iter().map(|&name| frame.get(name).words()).collect();
        let lanes = operands.iter().map(|words| words.len()).min().unwrap_or(0);
        let of_lane = |lane: usize| {
            let words: Vec<u128> = operands.iter().map(|words| words[lane]).collect();
            if self.block.launch.keeps_promises && word::overflows(op, from.bits(), &words) {
                return Err(undefined(op, "overflows, which it promises not to"));
            }
            word::apply(op, from, to, &words).ok_or_else(unsupported)?.map_err(|reason| undefined(op, reason))
        };
        (0..lanes).map(of_lane).collect()
    }
}

fn map(op: &Operation) -> Done<&IndexingMap> {
    match op.attribute("map") {
        Some(Attribute::Map(map)) => Ok(map),
        _ => Err(undefined(op, "it has no map")),
    }
}

/// Returns the number of the accessed lane, which is an operand or an attribute.
fn lane(frame: &Frame<'_>, op: &Operation, position: usize) -> Done<usize> {
    let given = op.operands.get(position).map(|&name| frame.get(name).index());
    let number = given.or_else(|| op.integers("static_position")?.first().copied()).unwrap_or(0);
    let lanes = frame.get(op.operands[position - 1]).words().len();
    let lane = usize::try_from(number).ok().filter(|&lane| lane < lanes);
    lane.ok_or_else(|| undefined(op, format!("lane {number} of {lanes}")))
}

fn reduced(frame: &Frame<'_>, op: &Operation) -> Done<u128> {
    let Some(Attribute::Combination(by)) = op.attribute("kind") else {
        return Err(undefined(op, "its combining operation is unknown"));
    };
    let element = frame.element(op.result());
    let combined = Operation::new(word::combination(*by, matches!(element, Scalar::Float(_))), Vec::new(), Vec::new());
    let start = op.operands.get(1).map(|&name| frame.get(name).word());
    let words = start.into_iter().chain(frame.get(op.operands[0]).words().iter().copied());
    let both = |a, b| match word::apply(&combined, element, element, &[a, b]) {
        Some(result) => result.map_err(|reason| undefined(op, reason)),
        None => Err(KernelFault::Unsupported(op.kind.name())),
    };
    let mut words = words;
    let first = words.next().unwrap_or(0);
    words.try_fold(first, both)
}

fn long_product(frame: &Frame<'_>, op: &Operation) -> Done<Vec<Value>> {
    let width = frame.element(op.operands[0]).bits();
    let [a, b] = [0, 1].map(|operand| frame.get(op.operands[operand]).words());
    let products = a.iter().zip(b).map(|(&a, &b)| word::long_product(op.kind == OpKind::MulSIExtended, width, a, b));
    let products: Vec<[u128; 2]> = products.collect::<Option<_>>().ok_or(KernelFault::Unsupported(op.kind.name()))?;
    let is_scalar = frame.function.type_of(op.operands[0]).as_scalar().is_some();
    Ok([0, 1].map(|half| Value::of_words(products.iter().map(|product| product[half]).collect(), is_scalar)).to_vec())
}

fn constant(frame: &Frame<'_>, op: &Operation) -> Done<Value> {
    let ty = frame.function.type_of(op.result());
    match op.attribute("value") {
        Some(Attribute::Dense(ty, bytes)) => {
            let (count, size) = (ty.element_count().unwrap_or(0), ty.element().byte_size().max(1));
            let all = if bytes.len() == size { bytes.repeat(count) } else { bytes.to_vec() };
            let memory = Buffer::of(all);
            match ty {
                Type::Tensor(..) => Ok(Value::Memory(memory)),
                _ => memory.read(0, ty.element(), count).map(Value::Words).map_err(|reason| undefined(op, reason)),
            }
        }
        Some(value) => Ok(Value::Word(word::unsigned(bits_of(value), ty.element().bits()))),
        None => Err(undefined(op, "it has no value")),
    }
}

/// Returns the bits of a number.
fn bits_of(value: &Attribute) -> u128 {
    match value {
        Attribute::Float(bits, _) => u128::from(*bits),
        other => i128::from(other.as_integer().unwrap_or(0)) as u128,
    }
}
