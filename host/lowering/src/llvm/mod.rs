//! The part of LLVM's C API that lowering uses.
//!
//! [`Module`] owns an LLVM context, a module and an instruction builder. [`Ty`], [`Val`] and [`Bb`]
//! are handles into a [`Module`]. The handles have no Rust lifetime, so lowering uses them only
//! while the [`Module`] lives, and only on the thread of the [`Module`].

mod atomic;
mod builder;
mod cycles;
mod lines;
mod locations;
mod machine;
mod module;

use llvm_sys::prelude::*;

pub(crate) use atomic::AtomicOp;
pub(crate) use builder::{FastMath, IntPredicate, Op};
pub(crate) use cycles::VectorLoops;
pub(crate) use locations::Line;
pub(crate) use machine::{
    FileKind, Machine, backend, disable_straight_line_vectorizer, disable_strength_reduction, host_has, host_identity,
    host_instruction_sets, initialize_host, version,
};
pub(crate) use module::Module;

/// An LLVM type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ty(pub(crate) LLVMTypeRef);

/// An LLVM value: a constant, an argument, the result of an instruction, or a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Val(pub(crate) LLVMValueRef);

/// An LLVM basic block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bb(pub(crate) LLVMBasicBlockRef);
