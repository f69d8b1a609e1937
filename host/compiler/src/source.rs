//! A module as the user gives it.

use fusebox_core::hlo::{Module, parse_module, read_proto, verify};

use crate::CompileError;

/// A module's bytes and where they came from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the file, for diagnostics.
    pub name: String,
    /// HLO text, or a serialised HloModuleProto.
    pub bytes: Vec<u8>,
    /// Which of the two.
    pub format: Format,
}

/// Form of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// HLO text.
    Text,
    /// Serialised HloModuleProto.
    Proto,
}

impl Source {
    /// HLO text.
    pub fn text(name: &str, text: &str) -> Source {
        Source { name: name.into(), bytes: text.as_bytes().to_vec(), format: Format::Text }
    }

    /// Reads and verifies the module.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(&self) -> Result<Module, CompileError> {
        let module = match self.format {
            Format::Text => self.parse_text()?,
            Format::Proto => self.read_proto()?,
        };
        verify(&module).map_err(CompileError::Module)?;
        Ok(module)
    }

    fn parse_text(&self) -> Result<Module, CompileError> {
        let text = String::from_utf8_lossy(&self.bytes);
        parse_module(&text, &self.name).map_err(CompileError::Module)
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
