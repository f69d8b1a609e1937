//! Source locations of instructions. The generated assembly states source locations as line
//! directives.

use llvm_sys::core::LLVMSetCurrentDebugLocation2;
use llvm_sys::debuginfo::{
    LLVMDIBuilderCreateDebugLocation, LLVMDIBuilderCreateFunction, LLVMDIBuilderCreateSubroutineType,
    LLVMDIBuilderFinalize, LLVMSetSubprogram,
};

use super::lines::Lines;
use super::{Module, Val};

/// A position in a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) file: &'a str,
    /// Number of the line; the first is 1.
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Module {
    /// Makes the module record the source locations of instructions. This call must precede the
    /// module's first function.
    pub(crate) fn record_lines(&mut self) {
        // SAFETY: the module drops its lines before itself and the context.
        self.lines = Some(unsafe { Lines::new(self.context, self.module) });
    }

    /// States that the instructions that are appended from now on belong to `function`, and names
    /// this function `name` in the debug information. Without this call, the instructions of a
    /// function have no source locations.
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

    /// States that the instructions that are appended from now on belong to a function without
    /// source locations.
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

    /// Sets the source location of the next instructions to an unknown line of the current
    /// function. LLVM requires that calls have a source location.
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

    /// Completes the descriptions of all functions. This call must precede LLVM's passes.
    pub(crate) fn finish_lines(&self) {
        if let Some(lines) = &self.lines {
            // SAFETY: the builder is alive.
            unsafe { LLVMDIBuilderFinalize(lines.builder) };
        }
    }
}
