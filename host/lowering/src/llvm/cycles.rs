//! Finds the loops of an LLVM function whose iterations LLVM might turn into vectors.

use std::collections::{HashMap, HashSet};

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use super::Val;

/// The blocks of a function as numbers.
struct Blocks {
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    /// Whether the block contains vectors or tile registers, or copies or fills memory. LLVM turns
    /// no loop with such a block into vectors.
    holds_vectors: Vec<bool>,
}

/// Whether all innermost loops of a function compute with vectors already, or copy or fill memory
/// in every iteration. Returns `false` for a function without loops.
pub(crate) fn are_loops_vectorised(function: Val) -> bool {
    let blocks = Blocks::of(function);
    let back = blocks.back_edges();
    let headers: HashSet<usize> = back.iter().map(|&(_, header)| header).collect();
    let mut innermost = back.iter().filter_map(|&(last, header)| blocks.innermost(last, header, &headers));
    !back.is_empty() && innermost.all(|of_loop| of_loop.iter().any(|&block| blocks.holds_vectors[block]))
}

impl Blocks {
    fn of(function: Val) -> Blocks {
        let mut all: Vec<LLVMBasicBlockRef> = Vec::new();
        // SAFETY: the function is alive and does not change during this call; null ends the list.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function.0);
            while !block.is_null() {
                all.push(block);
                block = LLVMGetNextBasicBlock(block);
            }
        }
        let numbers: HashMap<LLVMBasicBlockRef, usize> =
            all.iter().enumerate().map(|(number, &block)| (block, number)).collect();
        let mut predecessors = vec![Vec::new(); all.len()];
        let mut successors = Vec::with_capacity(all.len());
        for (number, &block) in all.iter().enumerate() {
            let next: Vec<usize> = successors_of(block).iter().filter_map(|next| numbers.get(next).copied()).collect();
            next.iter().for_each(|&next| predecessors[next].push(number));
            successors.push(next);
        }
        let holds_vectors = all.iter().map(|&block| holds_vectors(block)).collect();
        Blocks { successors, predecessors, holds_vectors }
    }

    /// Returns the edges from the last block of a loop to its first block: the edges to a block
    /// on the path from the function's first block.
    fn back_edges(&self) -> Vec<(usize, usize)> {
        let mut edges = Vec::new();
        let mut is_visited = vec![false; self.successors.len()];
        let mut is_on_path = is_visited.clone();
        // A block of the path, and the number of its successors that were visited.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if let Some(first) = is_visited.first_mut() {
            *first = true;
            is_on_path[0] = true;
            path.push((0, 0));
        }
        while let Some((block, visited)) = path.last_mut() {
            let block = *block;
            let Some(&next) = self.successors[block].get(*visited) else {
                is_on_path[block] = false;
                path.pop();
                continue;
            };
            *visited += 1;
            if is_on_path[next] {
                edges.push((block, next));
            } else if !is_visited[next] {
                is_visited[next] = true;
                is_on_path[next] = true;
                path.push((next, 0));
            }
        }
        edges
    }

    /// Returns the blocks of the loop with this first and last block. `None` if the loop contains
    /// another loop.
    fn innermost(&self, last: usize, header: usize, headers: &HashSet<usize>) -> Option<HashSet<usize>> {
        let mut found = HashSet::from([header]);
        let mut waiting = vec![last];
        while let Some(block) = waiting.pop() {
            if block != header && headers.contains(&block) {
                return None;
            }
            if !found.insert(block) {
                continue;
            }
            waiting.extend(&self.predecessors[block]);
        }
        Some(found)
    }
}

fn successors_of(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the block is alive. A block under construction may lack a terminator.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block);
        if end.is_null() {
            return Vec::new();
        }
        (0..LLVMGetNumSuccessors(end)).map(|number| LLVMGetSuccessor(end, number)).collect()
    }
}

fn holds_vectors(block: LLVMBasicBlockRef) -> bool {
    // SAFETY: the block is alive and does not change during this call; null ends the list. A store
    // has two operands.
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(block);
        while !instruction.is_null() {
            let is_store = LLVMGetInstructionOpcode(instruction) == LLVMOpcode::LLVMStore;
            let value = if is_store { LLVMGetOperand(instruction, 0) } else { instruction };
            let kind = LLVMGetTypeKind(LLVMTypeOf(value));
            let is_wide = matches!(kind, LLVMTypeKind::LLVMVectorTypeKind | LLVMTypeKind::LLVMX86_AMXTypeKind);
            if is_wide || !LLVMIsAMemIntrinsic(instruction).is_null() {
                return true;
            }
            instruction = LLVMGetNextInstruction(instruction);
        }
        false
    }
}
