//! Machine code for NVIDIA GPUs.

use object::Endianness;
use object::elf::{EM_CUDA, FileHeader64, SHT_NOBITS};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use serde::{Deserialize, Serialize};

/// Machine code that NVIDIA's assembler made from PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cubin {
    /// Architecture of the code, for example `sm_90` or `sm_90a`.
    pub architecture: String,
    /// The code: an ELF file.
    pub bytes: Vec<u8>,
}

impl Cubin {
    /// Whether a GPU of this compute capability (`90` for 9.0) can execute the code. Machine code
    /// runs on GPUs with the same major version and with an equal or higher minor version. If the
    /// name of the architecture ends in `a`, the code runs only on GPUs of exactly this capability.
    pub fn runs_on(&self, capability: u32) -> bool {
        let Some(name) = self.architecture.strip_prefix("sm_") else { return false };
        let (number, is_exact) = name.strip_suffix('a').map_or((name, false), |number| (number, true));
        let Ok(own) = number.parse::<u32>() else { return false };
        if is_exact { own == capability } else { own / 10 == capability / 10 && own <= capability }
    }

    /// Checks that all sections and segments that the ELF headers describe lie inside the file. The
    /// GPU's driver receives the code without its size, so the driver would read beyond the end of
    /// a truncated file.
    pub(super) fn check(&self) -> Result<(), String> {
        let fault = |what: &str| format!("the machine code for {} {what}", self.architecture);
        let no_elf = |error: object::Error| fault(&format!("is no ELF file: {error}"));
        let data = self.bytes.as_slice();
        let header = FileHeader64::<Endianness>::parse(data).map_err(no_elf)?;
        let endian = header.endian().map_err(no_elf)?;
        if header.e_machine(endian) != EM_CUDA {
            return Err(fault("is for another machine than an NVIDIA GPU"));
        }
        let is_inside = |offset: u64, bytes: u64| offset.checked_add(bytes).is_some_and(|end| end <= data.len() as u64);
        let sections = header.section_headers(endian, data).map_err(no_elf)?;
        let mut sections = sections.iter().filter(|section| section.sh_type(endian) != SHT_NOBITS);
        let segments = header.program_headers(endian, data).map_err(no_elf)?;
        let are_inside = sections.all(|it| is_inside(it.sh_offset(endian), it.sh_size(endian)))
            && segments.iter().all(|it| is_inside(it.p_offset(endian), it.p_filesz(endian)));
        if are_inside { Ok(()) } else { Err(fault("has parts outside of its file")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_runs_on_its_major_version() {
        let runs = |architecture: &str, capability| {
            Cubin { architecture: architecture.into(), bytes: Vec::new() }.runs_on(capability)
        };
        assert!(runs("sm_80", 80) && runs("sm_80", 86) && runs("sm_90a", 90) && runs("sm_100", 103));
        assert!(!runs("sm_86", 80) && !runs("sm_80", 90) && !runs("sm_90a", 91) && !runs("90", 90));
    }
}
