//! `scf`: structured control flow becomes blocks and phis.

use fusebox_core::indexing::Interval;

use super::function::{Done, Function};
use super::slot::{Shape, Slot};
use super::splitting::Splittable;
use crate::error::Unsupported;
use crate::indices::Ix;
use crate::llvm::{Bb, IntPredicate, Op, Unrolling, Val};
use crate::mlir::{Block, Operation, Type, Value};

/// Most turns of a loop that is unrolled; `optimize` names the number too.
const MOST_TURNS: i64 = 4;

/// Values that come out of a block, and the block they come from.
struct Exit {
    from: Bb,
    slots: Vec<Slot>,
    values: Vec<Val>,
}

impl Function<'_, '_, '_> {
    pub(super) fn control(&mut self, op: Operation) -> Done {
        match op.name() {
            "scf.if" => self.if_else(op),
            "scf.for" => self.for_loop(op),
            "scf.while" => self.while_loop(op),
            "scf.index_switch" => self.index_switch(op),
            _ => Unsupported::because("only if, for, while and index_switch are part of the kernel IR"),
        }
    }

    fn bind_all(&mut self, values: impl Iterator<Item = Value>, slots: Vec<Slot>) {
        values.zip(slots).for_each(|(value, slot)| self.bind(value, slot));
    }

    /// Translates a region of one block; gives what it yields.
    pub(super) fn region(&mut self, block: Option<Block>) -> Done<Vec<Slot>> {
        let Some(block) = block else { return Ok(Vec::new()) };
        self.operations(block)?;
        self.terminator(block)
    }

    fn if_else(&mut self, op: Operation) -> Done {
        let condition = self.plain(op.operand(0))?;
        let types: Vec<Type> = op.results().map(|result| result.ty()).collect();
        let otherwise = if op.region_count() > 1 { op.block(1) } else { None };
        let slots = self.choose(condition, |this| this.region(op.block(0)), |this| this.region(otherwise), &types)?;
        self.bind_all(op.results(), slots);
        Ok(())
    }

    /// What one of two branches gives, depending on the condition. A condition that is known leaves one branch.
    pub(super) fn choose(
        &mut self,
        condition: Val,
        then: impl FnOnce(&mut Self) -> Done<Vec<Slot>>,
        otherwise: impl FnOnce(&mut Self) -> Done<Vec<Slot>>,
        types: &[Type],
    ) -> Done<Vec<Slot>> {
        match self.llvm().known_bool(condition) {
            Some(true) => return then(self),
            Some(false) => return otherwise(self),
            None => {}
        }
        let shapes = types.iter().map(|ty| self.shape_of(ty)).collect::<Done<Vec<Shape>>>()?;
        let (then_block, else_block, after) = (self.new_block(), self.new_block(), self.new_block());
        self.llvm().branch_if(condition, then_block, else_block);
        let first = self.branch_to(then_block, after, then)?;
        let second = self.branch_to(else_block, after, otherwise)?;
        self.llvm().position_at_end(after);
        self.merge(&shapes, &[first, second])
    }

    fn branch_to(&mut self, block: Bb, after: Bb, inside: impl FnOnce(&mut Self) -> Done<Vec<Slot>>) -> Done<Exit> {
        self.llvm().position_at_end(block);
        self.scoped(|this| {
            let slots = inside(this)?;
            let values = this.flattened(&slots)?;
            let from = this.llvm().current_block();
            this.llvm().branch(after);
            Ok(Exit { from, slots, values })
        })
    }

    /// Phis for values that come from several blocks; none for those that are the same from everywhere.
    fn merge(&mut self, shapes: &[Shape], exits: &[Exit]) -> Done<Vec<Slot>> {
        let Some(first) = exits.first() else { return Ok(Vec::new()) };
        if exits.iter().any(|exit| exit.slots.len() != shapes.len()) {
            return Unsupported::because("its branches yield other values than its results");
        }
        let types = self.types_of(shapes);
        let mut merged = Vec::with_capacity(types.len());
        for (position, &ty) in types.iter().enumerate() {
            let value = first.values[position];
            if exits.iter().all(|exit| exit.values[position] == value) {
                merged.push(value);
                continue;
            }
            if exits.iter().any(|exit| self.llvm().type_of(exit.values[position]) != ty) {
                return Unsupported::because("its branches give tensors of different memories");
            }
            let phi = self.llvm().phi(ty);
            exits.iter().for_each(|exit| self.llvm().add_incoming(phi, exit.values[position], exit.from));
            merged.push(phi);
        }
        let of_result = |at: usize| exits.iter().map(|exit| &exit.slots[at]).collect::<Vec<&Slot>>();
        let likes: Vec<Slot> = (0..shapes.len()).filter_map(|at| weakest(&of_result(at))).collect();
        let mut slots = self.slots_of(shapes, &merged, &likes);
        for (at, slot) in slots.iter_mut().enumerate() {
            if let Some(same) = self.same_index(&of_result(at)) {
                *slot = Slot::Index(same);
            }
        }
        Ok(slots)
    }

    /// The index that all of these are, if it can be written here.
    fn same_index(&self, slots: &[&Slot]) -> Option<Ix> {
        let Slot::Index(first) = slots.first()? else { return None };
        let same = slots.iter().all(|slot| matches!(slot, Slot::Index(ix) if ix == first));
        (same && self.indices.depth(*first) <= self.depth()).then_some(*first)
    }

    fn slots_of(&mut self, shapes: &[Shape], values: &[Val], likes: &[Slot]) -> Vec<Slot> {
        let mut rest = values;
        let mut slots = Vec::with_capacity(shapes.len());
        for (shape, like) in shapes.iter().zip(likes) {
            let (mine, others) = rest.split_at(shape.width());
            rest = others;
            slots.push(self.slot_of(shape, mine, Some(like)));
        }
        slots
    }

    pub(super) fn new_block(&self) -> Bb {
        self.llvm().add_block_after_current()
    }

    fn for_loop(&mut self, op: Operation) -> Done {
        let Some(body) = op.block(0) else { return Unsupported::because("it has no body") };
        let inits = op.operands().skip(3).map(|init| self.slot(init)).collect::<Done<Vec<Slot>>>()?;
        let types: Vec<Type> = op.results().map(|result| result.ty()).collect();
        let results = if op.operand(0).ty() == Type::Index {
            let [lower, upper, step] = [0, 1, 2].map(|at| self.index(op.operand(at)));
            let (lower, upper, step) = (lower?, upper?, step?);
            let Some(step) = self.indices.as_constant(step).filter(|&step| step > 0) else {
                return Unsupported::because("its step is not a positive constant");
            };
            let write = |this: &mut Function<'_, '_, '_>, ix, state| {
                this.bind(body.argument(0), Slot::Index(ix));
                this.bind_all(body.arguments().skip(1), state);
                this.region(Some(body))
            };
            match u64::try_from(step).unwrap_or(1) {
                1 => {
                    let splittable =
                        Splittable { body, types: &types, arguments: &|_, ix| Ok(vec![ix]), write: &write };
                    self.counted_in_parts(lower, upper, inits, &splittable)?
                }
                step => self.counted(Bounds { lower, upper, step }, inits, &types, write)?,
            }
        } else {
            let iterate = |this: &mut Self, variable: Slot, state: Vec<Slot>| {
                this.bind(body.argument(0), variable);
                this.bind_all(body.arguments().skip(1), state);
                this.region(Some(body))
            };
            self.for_integers(op, inits, &types, iterate)?
        };
        self.bind_all(op.results(), results);
        Ok(())
    }

    /// A loop whose variable is an integer, not an index.
    fn for_integers(
        &mut self,
        op: Operation,
        inits: Vec<Slot>,
        types: &[Type],
        body: impl FnOnce(&mut Self, Slot, Vec<Slot>) -> Done<Vec<Slot>>,
    ) -> Done<Vec<Slot>> {
        let (lower, upper) = (self.plain(op.operand(0))?, self.plain(op.operand(1))?);
        let step = self.plain(op.operand(2))?;
        let ty = self.llvm().type_of(lower);
        let head = Head {
            ty,
            start: lower,
            predicate: IntPredicate::LLVMIntSLT,
            end: upper,
            step,
            turns: None,
            always_turns: false,
        };
        self.loop_blocks(head, inits, types, |this, variable, state| body(this, Slot::Plain(variable), state))
    }

    /// `for ix in (lower..upper).step_by(step)`; `body` takes the state and gives the next. A loop whose bounds are a
    /// constant apart counts from zero: LLVM then knows how often it turns and writes no loops for a remainder.
    pub(super) fn counted(
        &mut self,
        bounds: Bounds,
        inits: Vec<Slot>,
        types: &[Type],
        body: impl FnOnce(&mut Self, Ix, Vec<Slot>) -> Done<Vec<Slot>>,
    ) -> Done<Vec<Slot>> {
        let (base, bounds) = self.counting_from_zero(bounds);
        let (low, high) = (self.indices.range(bounds.lower), self.indices.range(bounds.upper));
        if high.upper <= low.lower {
            return Ok(inits);
        }
        let range = Interval::new(low.lower, high.upper.saturating_sub(1));
        let step = i64::try_from(bounds.step).unwrap_or(i64::MAX);
        if low.as_point().is_some()
            && range.upper.checked_sub(range.lower).is_some_and(|span| span < step)
            && high.lower > low.upper
        {
            let ix = self.indices.add(base, bounds.lower);
            return body(self, ix, inits);
        }
        // The variable is compared with the bound after it has gone one step too far.
        let far = Interval::new(range.lower, range.upper.saturating_add(step));
        let small = Interval::new(i32::MIN.into(), i32::MAX.into()).contains_interval(far);
        let bits = if small { self.translation.traits.index_bits } else { 64 };
        let ty = self.llvm().int(bits);
        let head = Head {
            ty,
            start: self.index_value(bounds.lower, bits),
            predicate: IntPredicate::LLVMIntSLT,
            end: self.index_value(bounds.upper, bits),
            step: self.llvm().const_int(ty, step),
            turns: Some((range.upper.saturating_sub(range.lower) / step.max(1)).saturating_add(1)),
            always_turns: low.as_point().is_some() && high.as_point().is_some(),
        };
        self.loop_blocks(head, inits, types, |this, variable, state| {
            let turn = this.leaf(variable, range);
            let ix = this.indices.add(base, turn);
            body(this, ix, state)
        })
    }

    /// Bounds that are a constant apart as a base and bounds from zero.
    fn counting_from_zero(&mut self, bounds: Bounds) -> (Ix, Bounds) {
        let zero = self.indices.constant(0);
        let distance = self.indices.sub(bounds.upper, bounds.lower);
        match self.indices.as_constant(distance) {
            Some(_) => (bounds.lower, Bounds { lower: zero, upper: distance, ..bounds }),
            None => (zero, bounds),
        }
    }

    fn loop_blocks(
        &mut self,
        head: Head,
        inits: Vec<Slot>,
        types: &[Type],
        body: impl FnOnce(&mut Self, Val, Vec<Slot>) -> Done<Vec<Slot>>,
    ) -> Done<Vec<Slot>> {
        let shapes = types.iter().map(|ty| self.shape_of(ty)).collect::<Done<Vec<Shape>>>()?;
        let start = self.flattened(&inits)?;
        let before = self.llvm().current_block();
        let (header, inside, after) = (self.new_block(), self.new_block(), self.new_block());
        self.llvm().branch(header);
        self.llvm().position_at_end(header);
        let variable = self.llvm().phi(head.ty);
        self.llvm().add_incoming(variable, head.start, before);
        let state = self.state_phis(&shapes, &start, before, &inits);
        let goes_on = self.llvm().compare_int(head.predicate, variable, head.end);
        self.llvm().branch_if(goes_on, inside, after);
        self.llvm().position_at_end(inside);
        let copies = self.copies;
        let unrolled = head.turns.map(|turns| (turns, turns.saturating_mul(copies)));
        let unrolls = unrolled
            .is_some_and(|(turns, product)| turns <= MOST_TURNS && product <= self.translation.traits.most_copies);
        let unrolling = match head.turns {
            // How often it turns is decided when it runs: LLVM could not do what it was told to, and would say so.
            _ if unrolls && !head.always_turns => Unrolling::Open,
            _ if unrolls => Unrolling::Full,
            Some(..=MOST_TURNS) => Unrolling::Never,
            _ => self.translation.traits.long_loops,
        };
        self.copies = unrolled.filter(|_| unrolls).map_or(copies, |(_, product)| product);
        if head.turns.is_none_or(|turns| turns > MOST_TURNS) {
            self.report_turn();
        }
        self.scoped(|this| {
            let slots = this.slots_of(&shapes, &state, &inits);
            let next = body(this, variable, slots)?;
            this.close_loop(&shapes, &state, &inits, &next)?;
            let stepped = this.llvm().binary_nsw(Op::LLVMAdd, variable, head.step);
            let from = this.llvm().current_block();
            this.llvm().add_incoming(variable, stepped, from);
            this.llvm().branch_back(header, unrolling);
            Ok(())
        })?;
        self.copies = copies;
        self.llvm().position_at_end(after);
        Ok(self.slots_of(&shapes, &state, &inits))
    }

    /// Phis for the state of a loop. Tensors need none: they stay where they are.
    fn state_phis(&mut self, shapes: &[Shape], start: &[Val], before: Bb, inits: &[Slot]) -> Vec<Val> {
        let mut phis = Vec::with_capacity(start.len());
        for (shape, _) in shapes.iter().zip(inits) {
            for ty in self.types_of(std::slice::from_ref(shape)) {
                let value = start[phis.len()];
                if *shape == Shape::Tensor {
                    phis.push(value);
                    continue;
                }
                let phi = self.llvm().phi(ty);
                self.llvm().add_incoming(phi, value, before);
                phis.push(phi);
            }
        }
        phis
    }

    /// Hands the next state to the phis, from the current block.
    fn close_loop(&mut self, shapes: &[Shape], phis: &[Val], inits: &[Slot], next: &[Slot]) -> Done {
        if next.len() != inits.len() {
            return Unsupported::because("its body yields other values than its results");
        }
        let values = self.flattened(next)?;
        let from = self.llvm().current_block();
        let mut position = 0;
        for shape in shapes {
            for _ in 0..shape.width() {
                let (phi, value) = (phis[position], values[position]);
                if *shape != Shape::Tensor {
                    self.llvm().add_incoming(phi, value, from);
                } else if phi != value {
                    return Unsupported::because("a tensor changes its place in a loop");
                }
                position += 1;
            }
        }
        Ok(())
    }

    fn while_loop(&mut self, op: Operation) -> Done {
        let (Some(condition), Some(body)) = (op.block(0), op.block(1)) else {
            return Unsupported::because("it has no condition or no body");
        };
        let inits = op.operands().map(|init| self.slot(init)).collect::<Done<Vec<Slot>>>()?;
        let shapes = op.operands().map(|init| self.shape_of(&init.ty())).collect::<Done<Vec<Shape>>>()?;
        let start = self.flattened(&inits)?;
        let before = self.llvm().current_block();
        let (header, inside, after) = (self.new_block(), self.new_block(), self.new_block());
        self.llvm().branch(header);
        self.llvm().position_at_end(header);
        let state = self.state_phis(&shapes, &start, before, &inits);
        // Results are what the condition hands on; its block comes before both body and end.
        let handed = self.scoped(|this| {
            let slots = this.slots_of(&shapes, &state, &inits);
            this.bind_all(condition.arguments(), slots);
            this.operations(condition)?;
            let mut handed = this.terminator(condition)?;
            if handed.is_empty() {
                return Unsupported::because("its condition hands on nothing");
            }
            let Slot::Plain(goes_on) = handed.remove(0) else {
                return Unsupported::because("its condition is no i1");
            };
            // Written here, so that they are there in both blocks.
            this.flattened(&handed)?;
            this.llvm().branch_if(goes_on, inside, after);
            this.llvm().position_at_end(inside);
            this.report_turn();
            this.scoped(|this| {
                this.bind_all(body.arguments(), handed.clone());
                let next = this.region(Some(body))?;
                this.close_loop(&shapes, &state, &inits, &next)?;
                this.llvm().branch(header);
                Ok(handed)
            })
        })?;
        self.llvm().position_at_end(after);
        let handed = self.pinned(handed)?;
        self.bind_all(op.results(), handed);
        Ok(())
    }

    /// Index expressions replaced by what was written of them: their leaves end with their scope.
    fn pinned(&mut self, slots: Vec<Slot>) -> Done<Vec<Slot>> {
        let pin = |this: &mut Self, slot| match slot {
            Slot::Index(ix) => match this.written.get(&(ix, 64)).map(|&(value, _)| value) {
                Some(value) => Slot::Index(this.leaf(value, Interval::ALL)),
                None => Slot::Index(ix),
            },
            other => other,
        };
        Ok(slots.into_iter().map(|slot| pin(self, slot)).collect())
    }

    fn index_switch(&mut self, op: Operation) -> Done {
        let selector = self.index(op.operand(0))?;
        let types: Vec<Type> = op.results().map(|result| result.ty()).collect();
        let Some(cases) = op.attribute("cases").and_then(|cases| cases.integers()) else {
            return Unsupported::because("its cases are not readable");
        };
        let shapes = types.iter().map(|ty| self.shape_of(ty)).collect::<Done<Vec<Shape>>>()?;
        let selector = self.index_value(selector, 64);
        let blocks: Vec<Bb> = (0..=cases.len()).map(|_| self.new_block()).collect();
        let after = self.new_block();
        let llvm = self.llvm();
        let numbered: Vec<(Val, Bb)> =
            cases.iter().zip(&blocks[1..]).map(|(&case, &block)| (llvm.const_int(llvm.int(64), case), block)).collect();
        llvm.switch(selector, &numbered, blocks[0]);
        let mut exits = Vec::with_capacity(blocks.len());
        for (region, &block) in blocks.iter().enumerate() {
            exits.push(self.branch_to(block, after, |this| this.region(op.block(region)))?);
        }
        self.llvm().position_at_end(after);
        let slots = self.merge(&shapes, &exits)?;
        self.bind_all(op.results(), slots);
        Ok(())
    }
}

/// Bounds of a counted loop.
pub(super) struct Bounds {
    pub(super) lower: Ix,
    pub(super) upper: Ix,
    pub(super) step: u64,
}

/// How a loop starts, goes on and ends.
struct Head {
    ty: crate::llvm::Ty,
    start: Val,
    predicate: IntPredicate,
    end: Val,
    step: Val,
    /// Most turns, if they are known.
    turns: Option<i64>,
    /// Whether these are its turns in any case.
    always_turns: bool,
}

/// The first slot; of a tensor, with what is guaranteed of all.
fn weakest(slots: &[&Slot]) -> Option<Slot> {
    let (first, rest) = slots.split_first()?;
    let Slot::Tensor(mut tensor) = (*first).clone() else { return Some((*first).clone()) };
    for slot in rest {
        if let Slot::Tensor(other) = slot {
            tensor.known.alignment = tensor.known.alignment.min(other.known.alignment);
            tensor.known.invariant &= other.known.invariant;
            tensor.known.reported |= other.known.reported;
            tensor.known.reach = tensor.known.reach.max(other.known.reach);
        }
    }
    Some(Slot::Tensor(tensor))
}
