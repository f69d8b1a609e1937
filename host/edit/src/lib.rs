//! Edits HLO modules. Passes and fusion create instructions and computations only with this crate.
//!
//! * [`rewrite`] copies a computation, and replaces the instructions that a closure names.
//! * [`Builder`] adds instructions. The builder infers shapes and makes names unique.
//! * Each new instruction has an *origin*: the instruction that it helps to replace. [`inherited`]
//!   defines which attributes of its origin the new instruction gets.
//! * A new computation is appended to the module, so that no id changes during an edit. After the
//!   edit, [`restore_order`] moves callees before their callers, as the verifier demands.
//!
//! ```
//! use fusebox_core::hlo::{BinaryOp, ElementType, Op, UnaryOp, parse_module, print_module, verify};
//! use fusebox_edit::{EditError, restore_order, rewrite};
//!
//! // Replaces `rsqrt(x)` by `1 / sqrt(x)`.
//! let text = "ENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] rsqrt(x)\n}";
//! let mut module = parse_module(text, "m.hlo").map_err(|faults| faults[0].to_string())?;
//! for id in module.ids() {
//!     rewrite(&mut module, id, |edit, _, instruction| {
//!         let Op::Unary(UnaryOp::Rsqrt) = instruction.op else { return Ok::<_, EditError>(None) };
//!         let x = edit.operands(instruction)[0];
//!         let root = edit.unary(UnaryOp::Sqrt, x);
//!         let one = edit.filled_like(root, 1.0);
//!         Ok(Some(edit.binary(BinaryOp::Divide, one, root)))
//!     })?;
//! }
//! restore_order(&mut module);
//! assert!(verify(&module).is_ok(), "{}", print_module(&module));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod builder;
mod computations;
mod control;
mod elementwise;
mod error;
mod extract;
mod inherit;
mod instructions;
mod movement;
mod rewrite;
mod rewritten;
mod scalars;

pub use builder::Builder;
pub use computations::{append, call_order, redirect_calls, restore_order, retain_computations};
pub use control::with_scalars;
pub use error::EditError;
pub use extract::{
    Part, calling, detached_computation, detached_instruction, instruction_as_module, new_module, outlined, resized,
    with_callees, with_results,
};
pub use inherit::inherited;
pub use instructions::retain_instructions;
pub use rewrite::{Rewrite, rewrite};
pub use rewritten::Rewritten;
pub use scalars::scalar_literal;

#[cfg(test)]
mod tests;
