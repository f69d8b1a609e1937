//! The user's module as text, protobuf or StableHLO.

use std::borrow::Cow;
use std::ops::Range;

use fusebox_core::hlo::{
    Diagnostic, Elided, Module, ParseOptions, Span, check_call_depth, parse_module_with, read_proto, verify,
};

use fusebox_stablehlo::program::Program;
use fusebox_stablehlo::{
    StablehloError, artifact_in_export, from_hlo, has_unknown_arguments, is_bytecode, print_text, read_bytecode,
    read_text, to_hlo, to_hlo_for,
};

use crate::CompileError;

/// The bytes of a module, and the file from which they come.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the file, for diagnostics.
    pub name: String,
    /// The module in its format.
    pub bytes: Vec<u8>,
    /// Format of the bytes.
    pub format: Format,
    /// How to treat constants whose values the text elides.
    pub elided: Elided,
    /// Name of the module to compile, if the text has several.
    pub module: Option<String>,
    /// For each argument of a StableHLO program, the sizes of its dimensions. The given sizes
    /// determine the sizes that the program leaves unknown.
    pub sizes: Option<Vec<Vec<i64>>>,
}

/// Format of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// HLO text.
    Text,
    /// Serialised HloModuleProto.
    Proto,
    /// StableHLO: text, a portable artifact, or a file of `jax.export`.
    Stablehlo,
}

impl Format {
    /// Returns the format of files with this extension.
    pub fn of_extension(extension: &str) -> Format {
        match extension {
            "pb" => Format::Proto,
            "mlir" | "mlirbc" | "jax_export" => Format::Stablehlo,
            _ => Format::Text,
        }
    }

    /// Returns an extension of files in this format.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => "hlo",
            Format::Proto => "pb",
            Format::Stablehlo => "mlir",
        }
    }
}

impl Source {
    /// Creates a source from HLO text.
    pub fn text(name: &str, text: &str) -> Source {
        Source::new(name.into(), text.as_bytes().to_vec(), Format::Text)
    }

    /// Creates a source that refuses elided constants and selects no module by name.
    pub fn new(name: String, bytes: Vec<u8>, format: Format) -> Source {
        Source { name, bytes, format, elided: Elided::Refuse, module: None, sizes: None }
    }

    /// Reads and verifies the module.
    ///
    /// # Errors
    /// Returns all faults of the module.
    pub fn parse(&self) -> Result<Module, CompileError> {
        if self.sizes.is_some() && self.format != Format::Stablehlo {
            let message = "sizes of arguments are only for StableHLO programs with arguments of unknown sizes";
            return Err(CompileError::Module(vec![self.fault(message.into())]));
        }
        let module = match self.format {
            Format::Text => self.parse_text()?,
            Format::Proto => self.read_proto()?,
            Format::Stablehlo => self.read_stablehlo()?,
        };
        verify(&module).map_err(CompileError::Module)?;
        check_call_depth(&module).map_err(|fault| CompileError::Module(vec![fault]))?;
        Ok(module)
    }

    /// Reads and verifies the module, and returns it as StableHLO text.
    ///
    /// # Errors
    /// All faults of the module, or the first instruction that StableHLO cannot express.
    pub fn stablehlo(&self) -> Result<String, CompileError> {
        let module = self.parse()?;
        let program = from_hlo(&module).map_err(refused)?;
        Ok(print_text(&program))
    }

    fn parse_text(&self) -> Result<Module, CompileError> {
        let text = String::from_utf8_lossy(&self.bytes);
        let chosen = self.chosen(&text).map_err(|fault| CompileError::Module(vec![fault]))?;
        let options = ParseOptions { elided: self.elided, ..ParseOptions::default() };
        parse_module_with(&chosen, &self.name, &options).map_err(CompileError::Module)
    }

    /// Returns the text of the chosen module. Empty lines replace the lines before this module, so
    /// that line numbers stay correct.
    fn chosen<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, Diagnostic> {
        let modules = modules(text);
        let wanted = match (&self.module, modules.as_slice()) {
            (None, [] | [_]) => return Ok(Cow::Borrowed(text)),
            (Some(wanted), _) => modules.iter().find(|module| module.name == *wanted),
            (None, _) => None,
        };
        let Some(found) = wanted else {
            let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
            let message = match &self.module {
                Some(wanted) => format!("there is no module {wanted} here, only {}", names.join(", ")),
                None => format!("here are {} modules: choose one with --module: {}", names.len(), names.join(", ")),
            };
            return Err(self.fault(message));
        };
        let lines = text[..found.range.start].matches('\n').count();
        Ok(Cow::Owned("\n".repeat(lines) + &text[found.range.clone()]))
    }

    fn fault(&self, message: String) -> Diagnostic {
        let (file, source_line) = (self.name.clone(), String::new());
        Diagnostic { file, span: Span::default(), subject: None, message, source_line }
    }

    /// Whether this is a StableHLO program with arguments of unknown sizes.
    ///
    /// # Errors
    /// The program cannot be read.
    pub fn needs_sizes(&self) -> Result<bool, CompileError> {
        if self.format != Format::Stablehlo {
            return Ok(false);
        }
        self.program().map(|program| has_unknown_arguments(&program)).map_err(refused)
    }

    fn read_stablehlo(&self) -> Result<Module, CompileError> {
        let program = self.program();
        let module = program.and_then(|program| match &self.sizes {
            Some(sizes) => to_hlo_for(&program, sizes),
            None => to_hlo(&program),
        });
        module.map_err(refused)
    }

    /// Reads a StableHLO program from text, from a portable artifact, or from a file of
    /// `jax.export`.
    fn program(&self) -> Result<Program, StablehloError> {
        if let Some(artifact) = artifact_in_export(&self.bytes) {
            read_bytecode(artifact, &self.name)
        } else if is_bytecode(&self.bytes) {
            read_bytecode(&self.bytes, &self.name)
        } else {
            read_text(&String::from_utf8_lossy(&self.bytes), &self.name)
        }
    }

    fn read_proto(&self) -> Result<Module, CompileError> {
        let mut module = read_proto(&self.bytes).map_err(|mut faults| {
            faults.iter_mut().for_each(|fault| fault.file.clone_from(&self.name));
            CompileError::Module(faults)
        })?;
        module.source_file.clone_from(&self.name);
        Ok(module)
    }
}

fn refused(error: StablehloError) -> CompileError {
    CompileError::Module(vec![error.into()])
}

/// A module in a text of several modules.
struct ModuleText<'t> {
    name: &'t str,
    range: Range<usize>,
}

/// Splits a text into its modules. Each module begins on a new line.
fn modules(text: &str) -> Vec<ModuleText<'_>> {
    let mut parts: Vec<ModuleText> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(header) = line.strip_prefix("HloModule ") {
            let name = header.split([',', ' ', '\n', '\r']).next().unwrap_or_default();
            if let Some(last) = parts.last_mut() {
                last.range.end = start;
            }
            parts.push(ModuleText { name, range: start..text.len() });
        }
        start += line.len();
    }
    parts
}
