//! Kernels that set the conditions of loops and branches inside graphs.

use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use super::level::Rule;
use super::load_error;
use super::module::LoadedModule;
use crate::LoadError;

/// The first version of the driver whose graphs have conditions.
const FIRST_DRIVER: i32 = 12_040;

/// PTX code of kernels that each have one thread. Each kernel sets a condition to 1 or 0, according
/// to the value at an address. `cudaGraphSetConditional` is a function that the driver provides.
const SETTERS: &str = "
.version 7.0
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);
.visible .entry set_if_true(
  .param .u64 condition, .param .u64 place, .param .u64 branch, .param .u64 last)
{
  .reg .b64 %r<3>;
  .reg .b16 %h;
  .reg .b32 %w;
  .reg .pred %p;
  ld.param.u64 %r0, [condition];
  ld.param.u64 %r1, [place];
  cvta.to.global.u64 %r2, %r1;
  ld.global.u8 %h, [%r2];
  setp.ne.u16 %p, %h, 0;
  selp.b32 %w, 1, 0, %p;
  call.uni cudaGraphSetConditional, (%r0, %w);
  ret;
}
.visible .entry set_if_pred_selects(
  .param .u64 condition, .param .u64 place, .param .u64 branch, .param .u64 last)
{
  .reg .b64 %r<6>;
  .reg .b16 %h;
  .reg .b32 %w;
  .reg .pred %p<2>;
  ld.param.u64 %r0, [condition];
  ld.param.u64 %r1, [place];
  ld.param.u64 %r2, [branch];
  ld.param.u64 %r3, [last];
  cvta.to.global.u64 %r4, %r1;
  ld.global.u8 %h, [%r4];
  setp.eq.u16 %p0, %h, 0;
  selp.b64 %r5, 1, 0, %p0;
  min.u64 %r5, %r5, %r3;
  setp.eq.u64 %p1, %r5, %r2;
  selp.b32 %w, 1, 0, %p1;
  call.uni cudaGraphSetConditional, (%r0, %w);
  ret;
}
.visible .entry set_if_index_selects(
  .param .u64 condition, .param .u64 place, .param .u64 branch, .param .u64 last)
{
  .reg .b64 %r<6>;
  .reg .b32 %w<2>;
  .reg .pred %p;
  ld.param.u64 %r0, [condition];
  ld.param.u64 %r1, [place];
  ld.param.u64 %r2, [branch];
  ld.param.u64 %r3, [last];
  cvta.to.global.u64 %r4, %r1;
  ld.global.u32 %w0, [%r4];
  cvt.u64.u32 %r5, %w0;
  min.u64 %r5, %r5, %r3;
  setp.eq.u64 %p, %r5, %r2;
  selp.b32 %w1, 1, 0, %p;
  call.uni cudaGraphSetConditional, (%r0, %w1);
  ret;
}
";

/// The loaded kernels that set conditions.
#[derive(Debug)]
pub struct ConditionSetters {
    functions: [sys::CUfunction; 3],
    /// Keeps the module loaded, and so the functions valid.
    _module: Arc<LoadedModule>,
}

// SAFETY: any thread that has bound the context may use the driver's handles.
unsafe impl Send for ConditionSetters {}
// SAFETY: as above. Nothing changes the handles.
unsafe impl Sync for ConditionSetters {}

impl ConditionSetters {
    /// Loads the kernels. Returns `None` if the driver is too old for conditions in graphs.
    pub fn load(context: &Arc<CudaContext>) -> Result<Option<ConditionSetters>, LoadError> {
        let mut version = 0;
        // SAFETY: the pointer is valid for the version.
        let found = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
        found.map_err(|e| load_error("reading the version of the driver", e))?;
        if version < FIRST_DRIVER {
            return Ok(None);
        }
        let module = Arc::new(LoadedModule::assemble(context, SETTERS)?);
        let [a, b, c] = ["set_if_true", "set_if_pred_selects", "set_if_index_selects"].map(|name| module.handle(name));
        Ok(Some(ConditionSetters { functions: [a?, b?, c?], _module: module }))
    }

    /// Returns the kernel for a rule. The parameters of the kernel are the condition, the address
    /// of the value, the number of a branch and the number of the last branch.
    pub fn function(&self, rule: Rule) -> sys::CUfunction {
        match rule {
            Rule::IsTrue => self.functions[0],
            Rule::PredSelects => self.functions[1],
            Rule::IndexSelects => self.functions[2],
        }
    }
}
