//! Finds out which innermost loops of an LLVM function hold vectors, and which ones LLVM might
//! still vectorise.

use std::collections::{HashMap, HashSet};

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use super::Val;

/// Control-flow graph of a function, with basic blocks as numbers.
struct Blocks {
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    /// Whether the block contains vectors or tile registers, or copies or fills memory. LLVM does
    /// not vectorise a loop that contains vectors, tile registers, copies or fills.
    holds_vectors: Vec<bool>,
}

/// Whether the innermost loops of a function contain vectors or tile registers, or copy or fill
/// memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum VectorLoops {
    /// None of the innermost loops does, or the function has no loops.
    None,
    /// Some of the innermost loops do.
    Some,
    /// All innermost loops do.
    All,
}

impl VectorLoops {
    pub(crate) fn of(function: Val) -> VectorLoops {
        let blocks = Blocks::of(function);
        let back = blocks.back_edges();
        let headers: HashSet<usize> = back.iter().map(|&(_, header)| header).collect();
        let holds_vectors = |of_loop: HashSet<usize>| of_loop.iter().any(|&block| blocks.holds_vectors[block]);
        let innermost = back.iter().filter_map(|&(last, header)| blocks.innermost(last, header, &headers));
        let found: Vec<bool> = innermost.map(holds_vectors).collect();
        match found.iter().filter(|&&holds| holds).count() {
            0 => VectorLoops::None,
            count if count == found.len() => VectorLoops::All,
            _ => VectorLoops::Some,
        }
    }
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

    /// Returns the back edges, which lead from the last block of a loop to its first block. In a
    /// depth-first search from the function's first block, a back edge leads to a block on the
    /// current path.
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

    /// Returns the blocks of the loop that begins with `header` and ends with `last`. Returns
    /// `None` if the loop contains another loop.
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

#[cfg(test)]
mod tests {
    use llvm_sys::ir_reader::LLVMParseIRInContext2;

    use super::super::Module;
    use super::super::module::{c_string, message};
    use super::*;

    /// Parses an LLVM function with this body. The function has a pointer `%p`, two vectors `%v`
    /// and `%w`, and a condition `%c`. Returns the result of [`VectorLoops::of`] for the
    /// function.
    fn judged(body: &str) -> VectorLoops {
        let text = format!(
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n\
             define void @f(ptr %p, <4 x float> %v, <4 x float> %w, i1 %c) {{\n{body}\n}}\n"
        );
        let module = Module::new("test");
        let mut other = std::ptr::null_mut();
        let mut error = std::ptr::null_mut();
        // SAFETY: the text is copied to a buffer, which is disposed of once. The new module has the
        // context of `module`, which takes the new module.
        unsafe {
            let (text, name) = (c_string(&text), c_string("test"));
            let length = text.as_bytes().len();
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text.as_ptr(), length, name.as_ptr());
            let failed = LLVMParseIRInContext2(module.context(), buffer, &mut other, &mut error);
            LLVMDisposeMemoryBuffer(buffer);
            assert!(failed == 0, "{}", message(error));
            module.link(other).unwrap_or_else(|error| panic!("{error}"));
        }
        let function = module.function("f").unwrap_or_else(|| panic!("there is no function f"));
        VectorLoops::of(function)
    }

    /// Returns the body of a function whose only loop executes these instructions.
    fn one_loop(instructions: &str) -> String {
        format!("br label %loop\nloop:\n{instructions}\nbr i1 %c, label %loop, label %end\nend:\nret void")
    }

    #[test]
    fn a_function_without_loops_is_left_to_the_vectoriser() {
        assert_eq!(judged("%x = fadd <4 x float> %v, %w\nret void"), VectorLoops::None);
        let branches = "br i1 %c, label %a, label %b\na:\nbr label %b\nb:\n\
                        %x = fadd <4 x float> %v, %w\nret void";
        assert_eq!(judged(branches), VectorLoops::None, "two ways to a block are no loop");
    }

    #[test]
    fn a_loop_holds_vectors_if_it_computes_stores_or_copies_them() {
        assert_eq!(judged(&one_loop("%x = fadd <4 x float> %v, %w")), VectorLoops::All);
        let store = one_loop("store <4 x float> %v, ptr %p");
        assert_eq!(judged(&store), VectorLoops::All, "a store has no vector as its result");
        let fill = one_loop("call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 64, i1 false)");
        assert_eq!(judged(&fill), VectorLoops::All);
        assert_eq!(judged(&one_loop("store float 0.0, ptr %p")), VectorLoops::None);
    }

    #[test]
    fn vectors_around_a_loop_do_not_count() {
        let before = "%x = fadd <4 x float> %v, %w\nbr label %loop\nloop:\nstore float 0.0, ptr %p\n\
                      br i1 %c, label %loop, label %end\nend:\nstore <4 x float> %x, ptr %p\nret void";
        assert_eq!(judged(before), VectorLoops::None);
    }

    #[test]
    fn any_block_of_a_loop_may_hold_the_vectors() {
        let branch = "br label %loop\nloop:\nbr i1 %c, label %then, label %last\nthen:\n\
                      store <4 x float> %v, ptr %p\nbr label %last\nlast:\n\
                      br i1 %c, label %loop, label %end\nend:\nret void";
        assert_eq!(judged(branch), VectorLoops::All);
    }

    #[test]
    fn loops_with_and_without_vectors_are_some() {
        let two = |second: &str| {
            format!(
                "br label %first\nfirst:\nstore <4 x float> %v, ptr %p\nbr i1 %c, label %first, label %second\n\
                 second:\n{second}\nbr i1 %c, label %second, label %end\nend:\nret void"
            )
        };
        assert_eq!(judged(&two("store <4 x float> %w, ptr %p")), VectorLoops::All);
        assert_eq!(judged(&two("store float 0.0, ptr %p")), VectorLoops::Some);
    }

    #[test]
    fn loops_around_other_loops_need_no_vectors() {
        let nest = |outer: &str, inner: &str| {
            format!(
                "br label %outer\nouter:\n{outer}\nbr label %inner\ninner:\n{inner}\n\
                 br i1 %c, label %inner, label %last\nlast:\nbr i1 %c, label %outer, label %end\nend:\nret void"
            )
        };
        let (vector, scalar) = ("store <4 x float> %v, ptr %p", "store float 0.0, ptr %p");
        assert_eq!(judged(&nest(scalar, vector)), VectorLoops::All);
        assert_eq!(judged(&nest(vector, scalar)), VectorLoops::None);
    }
}
