//! The inputs to mutate.

use std::path::{Path, PathBuf};

#[cfg(feature = "compiler")]
use fusebox_compiler::Source;
use fusebox_core::hlo::{Module, parse_module};

/// Largest size of a seed in bytes. In a small text, a random change more often hits an important
/// part.
const LARGEST: u64 = 64 << 10;
/// Largest size of a seed that is compiled, in bytes. To compile larger seeds repeatedly would take
/// too long.
#[cfg(feature = "compiler")]
const LARGEST_PROGRAM: usize = 8 << 10;

/// The HLO texts that the targets mutate.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// The texts, folder by folder. The texts of a folder are in the order of the file names.
    pub texts: Vec<String>,
}

impl Seeds {
    /// Reads the modules of this repository, and of the folder that `FUSEBOX_CORPUS` names.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn read() -> std::io::Result<Seeds> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders = vec![here.join("../benches/programs"), here.join("seeds")];
        folders.extend(std::env::var_os("FUSEBOX_CORPUS").map(PathBuf::from));
        let mut texts = Vec::new();
        for folder in folders {
            let files = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
            let mut files: Vec<PathBuf> = files.into_iter().map(|file| file.path()).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "hlo"));
            files.sort();
            for file in files {
                if std::fs::metadata(&file)?.len() <= LARGEST {
                    texts.push(std::fs::read_to_string(file)?);
                }
            }
        }
        Ok(Seeds { texts })
    }

    /// Returns the texts that are small enough to compile repeatedly.
    #[cfg(feature = "compiler")]
    pub fn programs(&self) -> Vec<Source> {
        let short = self.texts.iter().filter(|text| text.len() <= LARGEST_PROGRAM);
        short.map(|text| Source::text("program.hlo", text)).collect()
    }

    /// Returns the modules of all texts that can be parsed.
    pub fn modules(&self) -> Vec<Module> {
        self.texts.iter().filter_map(|text| parse_module(text, "seed").ok()).collect()
    }
}
