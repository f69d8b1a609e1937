//! Source locations of instructions, which assembly states as line directives.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_char, c_uint};

use llvm_sys::LLVMModuleFlagBehavior;
use llvm_sys::core::{
    LLVMAddModuleFlag, LLVMConstInt, LLVMInt32TypeInContext, LLVMSetCurrentDebugLocation2, LLVMValueAsMetadata,
};
use llvm_sys::debuginfo::{
    LLVMCreateDIBuilder, LLVMDIBuilderCreateDebugLocation, LLVMDIBuilderCreateFile, LLVMDIBuilderCreateFunction,
    LLVMDIBuilderCreateLexicalBlockFile, LLVMDIBuilderCreateSubroutineType, LLVMDIBuilderFinalize,
    LLVMDWARFSourceLanguage, LLVMDebugMetadataVersion, LLVMDisposeDIBuilder, LLVMSetSubprogram,
};
use llvm_sys::prelude::*;

use super::{Module, Val};

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) file: &'a str,
    /// Number of the line; the first is 1.
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The descriptions of functions and files that locations refer to.
pub(super) struct Lines {
    builder: LLVMDIBuilderRef,
    files: RefCell<HashMap<String, LLVMMetadataRef>>,
    /// The function to which instructions are appended, or null.
    function: Cell<LLVMMetadataRef>,
    /// For each file, the part of this function that comes from the file.
    parts: RefCell<HashMap<String, LLVMMetadataRef>>,
}

/// LLVM's number of the kind of debug information that consists of line directives only. Other
/// kinds make the assembler of PTX turn off its optimisations. The enumeration of LLVM's C
/// interface lacks the number.
const DIRECTIVES_ONLY: c_uint = 3;

unsafe extern "C" {
    /// As in [`llvm_sys::debuginfo`], but the kind is a number.
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

/// Replaces the characters that LLVM would write as escape sequences, which the assembler of PTX
/// does not know.
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
    /// Starts the descriptions of a module.
    fn new(module: &Module) -> Lines {
        let empty = c"".as_ptr();
        // SAFETY: the module is alive. The file, the unit and the flag belong to its context, and
        // each string is passed with its length.
        let builder = unsafe {
            let builder = LLVMCreateDIBuilder(module.module);
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
            let version = LLVMConstInt(LLVMInt32TypeInContext(module.context), LLVMDebugMetadataVersion().into(), 0);
            let (flag, behavior) = ("Debug Info Version", LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning);
            let version = LLVMValueAsMetadata(version);
            LLVMAddModuleFlag(module.module, behavior, flag.as_ptr().cast(), flag.len(), version);
            builder
        };
        Lines {
            builder,
            files: RefCell::default(),
            function: Cell::new(std::ptr::null_mut()),
            parts: RefCell::default(),
        }
    }

    fn file(&self, name: &str) -> LLVMMetadataRef {
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

    /// Returns the part of the current function that comes from a file.
    fn part(&self, name: &str) -> LLVMMetadataRef {
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

impl Module {
    /// Makes the module record the source locations of instructions. Must precede the first
    /// function.
    pub(crate) fn record_lines(&mut self) {
        self.lines = Some(Lines::new(self));
    }

    /// States the name of the function to which instructions are appended from now on. Without this
    /// call, the instructions of a function have no source locations.
    pub(crate) fn begin_lines(&self, function: Val, name: &str) {
        let Some(lines) = &self.lines else { return };
        let file = lines.file(name);
        // SAFETY: the builder and the function are alive; the name is passed with its length. The
        // type of the function is not described.
        unsafe {
            let ty = LLVMDIBuilderCreateSubroutineType(lines.builder, file, std::ptr::null_mut(), 0, 0);
            let (text, length) = (name.as_ptr().cast(), name.len());
            let described = LLVMDIBuilderCreateFunction(
                lines.builder,
                file,
                text,
                length,
                text,
                length,
                file,
                0,
                ty,
                0,
                1,
                0,
                0,
                1,
            );
            LLVMSetSubprogram(function.0, described);
            lines.function.set(described);
        }
        lines.parts.borrow_mut().clear();
        self.set_line(None);
    }

    /// States that the instructions that are appended from now on belong to no function with source
    /// locations.
    pub(crate) fn end_lines(&self) {
        let Some(lines) = &self.lines else { return };
        lines.function.set(std::ptr::null_mut());
        self.set_line(None);
    }

    /// Sets the source location of the instructions that are appended from now on, or states that
    /// they have none.
    pub(crate) fn set_line(&self, line: Option<Line>) {
        self.set_location(line.map(|Line { file, line, column }| (Some(file), line, column)));
    }

    /// States that the next instructions have a place in the function, but not which. LLVM requires
    /// a place of calls.
    pub(crate) fn set_unknown_line(&self) {
        self.set_location(Some((None, 0, 0)));
    }

    fn set_location(&self, place: Option<(Option<&str>, u32, u32)>) {
        let Some(lines) = &self.lines else { return };
        let place = place.filter(|_| !lines.function.get().is_null());
        let location = place.map_or(std::ptr::null_mut(), |(file, line, column)| {
            let scope = file.map_or(lines.function.get(), |file| lines.part(file));
            // SAFETY: the scope is a part of the current function in this context.
            unsafe { LLVMDIBuilderCreateDebugLocation(self.context, line, column, scope, std::ptr::null_mut()) }
        });
        // SAFETY: the builder is alive; null means no location.
        unsafe { LLVMSetCurrentDebugLocation2(self.builder, location) };
    }

    /// Completes the descriptions of all functions. Must precede LLVM's passes.
    pub(crate) fn finish_lines(&self) {
        if let Some(lines) = &self.lines {
            // SAFETY: the builder is alive.
            unsafe { LLVMDIBuilderFinalize(lines.builder) };
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: the builder is disposed of once. The module outlives it, because the module drops
        // its lines first.
        unsafe { LLVMDisposeDIBuilder(self.builder) };
    }
}
