//! Descriptions of functions and files, to which source locations of instructions refer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_char, c_uint};

use llvm_sys::LLVMModuleFlagBehavior;
use llvm_sys::core::{LLVMAddModuleFlag, LLVMConstInt, LLVMInt32TypeInContext, LLVMValueAsMetadata};
use llvm_sys::debuginfo::{
    LLVMCreateDIBuilder, LLVMDIBuilderCreateFile, LLVMDIBuilderCreateLexicalBlockFile, LLVMDWARFSourceLanguage,
    LLVMDebugMetadataVersion, LLVMDisposeDIBuilder,
};
use llvm_sys::prelude::*;

/// Descriptions of functions and files, to which source locations of instructions refer.
pub(super) struct Lines {
    pub(super) builder: LLVMDIBuilderRef,
    files: RefCell<HashMap<String, LLVMMetadataRef>>,
    /// Description of the function to which the builder appends instructions, or null.
    pub(super) function: Cell<LLVMMetadataRef>,
    /// For each file, the debug scope for the current function's instructions that come from the
    /// file.
    pub(super) parts: RefCell<HashMap<String, LLVMMetadataRef>>,
}

/// LLVM's number for debug information that consists of line directives only. Debug information of
/// other kinds makes the assembler of PTX turn off its optimisations. LLVM's C interface has no
/// name for this number.
const DIRECTIVES_ONLY: c_uint = 3;

unsafe extern "C" {
    /// The function `LLVMDIBuilderCreateCompileUnit` of [`llvm_sys::debuginfo`], but with a number
    /// for the kind of debug information.
    #[link_name = "LLVMDIBuilderCreateCompileUnit"]
    fn create_unit(
        builder: LLVMDIBuilderRef,
        language: LLVMDWARFSourceLanguage,
        file: LLVMMetadataRef,
        producer: *const c_char,
        producer_length: usize,
        is_optimized: LLVMBool,
        flags: *const c_char,
        flags_length: usize,
        runtime_version: c_uint,
        split_name: *const c_char,
        split_name_length: usize,
        kind: c_uint,
        split_id: c_uint,
        split_inlining: LLVMBool,
        for_profiling: LLVMBool,
        system_root: *const c_char,
        system_root_length: usize,
        kit: *const c_char,
        kit_length: usize,
    ) -> LLVMMetadataRef;
}

/// Replaces the characters that LLVM would write as escape sequences. The assembler of PTX does not
/// know escape sequences.
fn without_escapes(name: &str) -> String {
    let plain = |character| match character {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => character,
        _ => '?',
    };
    name.chars().map(plain).collect()
}

impl Lines {
    /// Starts the debug information of a module.
    ///
    /// # Safety
    /// The module belongs to the context, and outlives the result.
    pub(super) unsafe fn new(context: LLVMContextRef, module: LLVMModuleRef) -> Lines {
        let empty = c"".as_ptr();
        // SAFETY: the module is alive. The file, the unit and the flag belong to its context, and
        // each string is passed with its length.
        let builder = unsafe {
            let builder = LLVMCreateDIBuilder(module);
            let file = LLVMDIBuilderCreateFile(builder, c"kernels".as_ptr(), "kernels".len(), empty, 0);
            let producer = "fusebox";
            create_unit(
                builder,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageC,
                file,
                producer.as_ptr().cast(),
                producer.len(),
                1,
                empty,
                0,
                0,
                empty,
                0,
                DIRECTIVES_ONLY,
                0,
                0,
                0,
                empty,
                0,
                empty,
                0,
            );
            let version = LLVMConstInt(LLVMInt32TypeInContext(context), LLVMDebugMetadataVersion().into(), 0);
            let (flag, behavior) = ("Debug Info Version", LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning);
            let version = LLVMValueAsMetadata(version);
            LLVMAddModuleFlag(module, behavior, flag.as_ptr().cast(), flag.len(), version);
            builder
        };
        Lines {
            builder,
            files: RefCell::default(),
            function: Cell::new(std::ptr::null_mut()),
            parts: RefCell::default(),
        }
    }

    pub(super) fn file(&self, name: &str) -> LLVMMetadataRef {
        if let Some(&file) = self.files.borrow().get(name) {
            return file;
        }
        let written = without_escapes(name);
        // SAFETY: the builder is alive, and the name is passed with its length.
        let file =
            unsafe { LLVMDIBuilderCreateFile(self.builder, written.as_ptr().cast(), written.len(), c"".as_ptr(), 0) };
        self.files.borrow_mut().insert(name.to_owned(), file);
        file
    }

    /// Returns the debug scope for the current function's instructions that come from a file.
    pub(super) fn part(&self, name: &str) -> LLVMMetadataRef {
        if let Some(&part) = self.parts.borrow().get(name) {
            return part;
        }
        let file = self.file(name);
        // SAFETY: the builder is alive. The function is not null, as callers have checked.
        let part = unsafe { LLVMDIBuilderCreateLexicalBlockFile(self.builder, self.function.get(), file, 0) };
        self.parts.borrow_mut().insert(name.to_owned(), part);
        part
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: the builder is disposed of once. The module outlives it, because the module drops
        // its lines first.
        unsafe { LLVMDisposeDIBuilder(self.builder) };
    }
}
