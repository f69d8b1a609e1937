//! The layout of a loaded object, and the content that does not depend on relocations.

use std::collections::HashMap;
use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol, SectionIndex, SectionKind, SymbolIndex};

use super::symbols::{self, ProvidedSymbols};
use crate::LoadError;

/// Size in bytes of a stub, which jumps to an external function. A stub consists of the instruction
/// `jmp *[rip + 2]`, padding, and the address of the function.
const STUB_BYTES: usize = 16;
/// Maximum size of an object in bytes. Code addresses its constants by offsets of at most 2 GiB.
const MOST_BYTES: usize = i32::MAX as usize;

/// The layout of a loaded object: the positions of its sections, stubs and slots, as offsets into
/// the mapping.
pub struct ImageLayout {
    sections: HashMap<SectionIndex, Range<usize>>,
    /// For each undefined symbol, the offset of its stub. The 8 bytes at [`ImageLayout::slot`] hold
    /// the address of the symbol.
    stubs: HashMap<SymbolIndex, usize>,
    addresses: HashMap<SymbolIndex, u64>,
    /// For each defined symbol, the offset of its slot. A slot is an entry of the global offset
    /// table and holds the address of the symbol.
    slots: HashMap<SymbolIndex, usize>,
    /// Size of the mapping in bytes.
    pub bytes: usize,
}

impl ImageLayout {
    /// Places the sections and symbols of an object. Fails if the object refers to an unknown
    /// symbol or is too large.
    pub fn of(file: &object::File, provided: &ProvidedSymbols) -> Result<ImageLayout, LoadError> {
        let mut layout = ImageLayout {
            sections: HashMap::new(),
            stubs: HashMap::new(),
            addresses: HashMap::new(),
            slots: HashMap::new(),
            bytes: 0,
        };
        for section in file.sections().filter(|s| is_loaded(s.kind())) {
            let bytes = usize::try_from(section.size()).map_err(|_| too_large())?;
            let offset = layout.reserve(bytes, section.align().max(1))?;
            layout.sections.insert(section.index(), offset..offset + bytes);
        }
        for symbol in file.symbols() {
            layout.place_symbol(&symbol, provided)?;
        }
        Ok(layout)
    }

    fn place_symbol<'a>(
        &mut self,
        symbol: &impl ObjectSymbol<'a>,
        provided: &ProvidedSymbols,
    ) -> Result<(), LoadError> {
        if symbol.index().0 == 0 || symbol.kind() == object::SymbolKind::File {
            return Ok(());
        }
        if symbol.is_undefined() {
            let name = symbol.name().unwrap_or("<unnamed>");
            let address = symbols::address(name, provided).ok_or_else(|| {
                LoadError::Object(format!("it refers to the symbol {name}, which this runtime does not provide"))
            })?;
            let stub = self.reserve(STUB_BYTES, 16)?;
            self.stubs.insert(symbol.index(), stub);
            self.addresses.insert(symbol.index(), address);
        } else {
            let slot = self.reserve(8, 8)?;
            self.slots.insert(symbol.index(), slot);
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: usize, alignment: u64) -> Result<usize, LoadError> {
        let alignment = usize::try_from(alignment).map_err(|_| too_large())?;
        let offset = self.bytes.checked_next_multiple_of(alignment).ok_or_else(too_large)?;
        self.bytes = offset.checked_add(bytes).filter(|&end| end <= MOST_BYTES).ok_or_else(too_large)?;
        Ok(offset)
    }

    /// Writes the content of sections, stubs and slots to the mapping.
    pub fn fill(&self, file: &object::File, memory: &mut [u8]) -> Result<(), LoadError> {
        for section in file.sections() {
            let Some(place) = self.sections.get(&section.index()) else { continue };
            let data = section.data().map_err(|e| LoadError::Object(e.to_string()))?;
            if data.len() != place.len() {
                return Err(LoadError::Object("a section has another size than it claims".into()));
            }
            memory[place.clone()].copy_from_slice(data);
        }
        for (symbol, &stub) in &self.stubs {
            memory[stub..stub + 8].copy_from_slice(&[0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc]);
            memory[stub + 8..stub + 16].copy_from_slice(&self.addresses[symbol].to_le_bytes());
        }
        let base = memory.as_ptr() as u64;
        for symbol in file.symbols() {
            let Some(&slot) = self.slots.get(&symbol.index()) else { continue };
            let address = self.defined(&symbol).map_or(0, |offset| base + offset as u64);
            memory[slot..slot + 8].copy_from_slice(&address.to_le_bytes());
        }
        Ok(())
    }

    /// Returns the position of a section; `None` if the section is not loaded.
    pub fn section(&self, index: SectionIndex) -> Option<&Range<usize>> {
        self.sections.get(&index)
    }

    /// Returns the numbers and the positions of all loaded sections.
    pub fn sections(&self) -> impl Iterator<Item = (SectionIndex, &Range<usize>)> {
        self.sections.iter().map(|(&index, place)| (index, place))
    }

    /// Returns the offset that code uses for the symbol: the offset of the symbol's definition. For
    /// an undefined symbol, returns the offset of the stub that jumps to the symbol's address.
    pub fn symbol<'a>(&self, symbol: &impl ObjectSymbol<'a>) -> Option<usize> {
        self.stubs.get(&symbol.index()).copied().or_else(|| self.defined(symbol))
    }

    /// Returns the offset of the 8 bytes in the mapping that hold the address of the symbol.
    pub fn slot(&self, symbol: SymbolIndex) -> Option<usize> {
        self.stubs.get(&symbol).map(|stub| stub + 8).or_else(|| self.slots.get(&symbol).copied())
    }

    fn defined<'a>(&self, symbol: &impl ObjectSymbol<'a>) -> Option<usize> {
        let section = self.section(symbol.section_index()?)?;
        // A symbol may point to the end of its section, too.
        let offset = usize::try_from(symbol.address()).ok().filter(|&offset| offset <= section.len())?;
        Some(section.start + offset)
    }

    /// Returns the offsets of the functions that the object defines, by name.
    pub fn functions(&self, file: &object::File) -> HashMap<String, usize> {
        let global = file.symbols().filter(|s| s.is_global() && s.is_definition());
        global.filter_map(|s| Some((s.name().ok()?.to_string(), self.defined(&s)?))).collect()
    }
}

fn too_large() -> LoadError {
    LoadError::Object(format!("the object takes more than {MOST_BYTES} bytes"))
}

/// Whether a section is loaded. The loader loads code and constants. The loader ignores unwind
/// tables, notes and debug information.
fn is_loaded(kind: SectionKind) -> bool {
    matches!(
        kind,
        SectionKind::Text
            | SectionKind::ReadOnlyData
            | SectionKind::ReadOnlyDataWithRel
            | SectionKind::ReadOnlyString
            | SectionKind::Data
    )
}
