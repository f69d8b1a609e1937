//! Writes the structured control flow of `scf` as blocks and phis.

use fusebox_core::ir::{OpKind, Operation, Region, Value};

use super::function::Body;
use crate::error::{Done, Required, Unsupported};
use crate::hints::{LoopWish, wish};
use crate::llvm::{Bb, IntPredicate, Op, Val};
use crate::stages::moves_memory;

/// The end of a branch: its last block, and the values that the branch yields.
struct Exit {
    from: Bb,
    values: Vec<Val>,
}

impl<'s> Body<'_, '_, 's> {
    fn new_block(&self) -> Bb {
        self.llvm().add_block_after_current()
    }

    pub(super) fn if_else(&mut self, op: &'s Operation) -> Done {
        let condition = self.value(op.operands[0])?;
        let (then_block, else_block, after) = (self.new_block(), self.new_block(), self.new_block());
        self.llvm().branch_if(condition, then_block, else_block);
        let exits = [(then_block, op.regions.first()), (else_block, op.regions.get(1))];
        let exits = exits.map(|(block, region)| self.branch_to(block, after, region));
        let [first, second] = exits;
        self.llvm().position_at_end(after);
        self.merge(&op.results, &[first?, second?])
    }

    fn branch_to(&mut self, block: Bb, after: Bb, region: Option<&'s Region>) -> Done<Exit> {
        self.llvm().position_at_end(block);
        let values = region.map_or(Ok(Vec::new()), |region| self.region(region))?;
        let from = self.llvm().current_block();
        self.llvm().branch(after);
        Ok(Exit { from, values })
    }

    fn merge(&mut self, results: &[Value], exits: &[Exit]) -> Done {
        for (position, &result) in results.iter().enumerate() {
            let ty = self.type_of(result)?;
            let phi = self.llvm().phi(ty);
            for exit in exits {
                let &value = exit.values.get(position).required("its branches yield other values than its results")?;
                self.llvm().add_incoming(phi, value, exit.from);
            }
            self.bind(result, phi);
        }
        Ok(())
    }

    pub(super) fn for_loop(&mut self, op: &'s Operation) -> Done {
        let operands = self.operands(op)?;
        let ([lower, upper, step], Some(body)) = ([operands[0], operands[1], operands[2]], op.regions.first()) else {
            return Unsupported::because("it has no body");
        };
        let is_move = |facts| moves_memory(op, &self.source.types, facts);
        if self.surroundings.as_ref().is_some_and(is_move) {
            return self.move_of_memory([lower, upper], body);
        }
        let before = self.llvm().current_block();
        let (header, inside, after) = (self.new_block(), self.new_block(), self.new_block());
        self.llvm().branch(header);
        self.llvm().position_at_end(header);
        let phis = self.phis(&body.arguments, &[&[lower], &operands[3..]].concat(), before)?;
        let goes_on = self.llvm().compare_int(IntPredicate::LLVMIntSLT, phis[0], upper);
        self.llvm().branch_if(goes_on, inside, after);
        self.llvm().position_at_end(inside);
        let next = self.region(body)?;
        let stepped = self.llvm().binary_nsw(Op::LLVMAdd, phis[0], step);
        self.close(&phis, &[&[stepped], next.as_slice()].concat());
        let number = |value| self.value(value).ok().and_then(|value| self.llvm().as_constant(value));
        match wish(op, body, self.source, &number, self.translation.target) {
            LoopWish::None => self.llvm().branch(header),
            LoopWish::OneCopy => self.llvm().branch_back_in_one_copy(header),
            LoopWish::InOrder => self.llvm().branch_back_in_order(header),
            LoopWish::WholeVectors => self.llvm().branch_back_in_whole_vectors(header),
            LoopWish::NoRemainder => self.llvm().branch_back_without_remainder(header),
            LoopWish::Jammed(count) => self.llvm().branch_back_jammed(header, count),
            LoopWish::Interleaved(count) => self.llvm().branch_back_interleaved(header, count),
        }
        self.llvm().position_at_end(after);
        self.bind_all(&op.results, &phis[1..]);
        Ok(())
    }

    /// Writes a loop that fills or copies memory as one operation on the memory of all iterations.
    fn move_of_memory(&mut self, [lower, upper]: [Val; 2], body: &'s Region) -> Done {
        let (inside, after) = (self.new_block(), self.new_block());
        let has_turns = self.llvm().compare_int(IntPredicate::LLVMIntSLT, lower, upper);
        self.llvm().branch_if(has_turns, inside, after);
        self.llvm().position_at_end(inside);
        self.bind(body.arguments[0], lower);
        let mut source = None;
        let operations = body.operations.split_last().map_or(&[][..], |(_, operations)| operations);
        for op in operations {
            match op.kind {
                OpKind::Load => source = Some(self.address(op, 0, op.result())?),
                OpKind::Store => {
                    let target = self.address(op, 1, op.operands[0])?;
                    let size = self.source.type_of(op.operands[0]).element().byte_size();
                    let llvm = self.llvm();
                    let turns = llvm.binary_nsw(Op::LLVMSub, upper, lower);
                    let bytes = llvm.binary_nsw(Op::LLVMMul, turns, llvm.const_int(llvm.int(64), size as i64));
                    match &source {
                        Some(source) => llvm.copy_memory(
                            (target.pointer, target.alignment),
                            (source.pointer, source.alignment),
                            bytes,
                        ),
                        None => llvm.fill_with_zeros((target.pointer, target.alignment), bytes),
                    }
                }
                _ => self.operation(op)?,
            }
        }
        self.llvm().branch(after);
        self.llvm().position_at_end(after);
        Ok(())
    }

    /// Writes phis for the arguments of a loop's region.
    fn phis(&mut self, arguments: &[Value], start: &[Val], before: Bb) -> Done<Vec<Val>> {
        let mut phis = Vec::with_capacity(arguments.len());
        for (&argument, &value) in arguments.iter().zip(start) {
            let ty = self.type_of(argument)?;
            let phi = self.llvm().phi(ty);
            self.llvm().add_incoming(phi, value, before);
            self.bind(argument, phi);
            phis.push(phi);
        }
        Ok(phis)
    }

    /// Adds the values of the next iteration to the loop's phis, with the current block as their
    /// predecessor.
    fn close(&mut self, phis: &[Val], next: &[Val]) {
        let from = self.llvm().current_block();
        phis.iter().zip(next).for_each(|(&phi, &value)| self.llvm().add_incoming(phi, value, from));
    }

    pub(super) fn while_loop(&mut self, op: &'s Operation) -> Done {
        let [condition, body] = op.regions.as_slice() else {
            return Unsupported::because("it has no condition or no body");
        };
        let start = self.operands(op)?;
        let before = self.llvm().current_block();
        let (header, inside, after) = (self.new_block(), self.new_block(), self.new_block());
        self.llvm().branch(header);
        self.llvm().position_at_end(header);
        let phis = self.phis(&condition.arguments, &start, before)?;
        let handed = self.region(condition)?;
        let (&goes_on, handed) = handed.split_first().required("its condition region passes on no values")?;
        self.llvm().branch_if(goes_on, inside, after);
        self.llvm().position_at_end(inside);
        self.bind_all(&body.arguments, handed);
        let next = self.region(body)?;
        self.close(&phis, &next);
        self.llvm().branch(header);
        self.llvm().position_at_end(after);
        // The results are the values that the condition passes on. The block of the condition
        // dominates the loop's body and the block after the loop.
        self.bind_all(&op.results, handed);
        Ok(())
    }

    pub(super) fn index_switch(&mut self, op: &'s Operation) -> Done {
        let selector = self.value(op.operands[0])?;
        let Some(cases) = op.integers("cases") else { return Unsupported::because("its cases are not readable") };
        let blocks: Vec<Bb> = (0..=cases.len()).map(|_| self.new_block()).collect();
        let after = self.new_block();
        let llvm = self.llvm();
        let ty = llvm.type_of(selector);
        let numbered: Vec<(Val, Bb)> =
            cases.iter().zip(&blocks[1..]).map(|(&case, &block)| (llvm.const_int(ty, case), block)).collect();
        llvm.switch(selector, &numbered, blocks[0]);
        let mut exits = Vec::with_capacity(blocks.len());
        for (region, &block) in op.regions.iter().zip(&blocks) {
            exits.push(self.branch_to(block, after, Some(region))?);
        }
        self.llvm().position_at_end(after);
        self.merge(&op.results, &exits)
    }
}
