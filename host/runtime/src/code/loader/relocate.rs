//! Applies the relocations of an object: fills in the addresses that are known only after the
//! object is loaded.

use object::{Object, ObjectSection, RelocationFlags, RelocationTarget, elf};

use super::image::ImageLayout;
use crate::LoadError;

/// Applies the relocations of every loaded section.
pub fn apply(file: &object::File, layout: &ImageLayout, memory: &mut [u8]) -> Result<(), LoadError> {
    for (index, section_place) in layout.sections() {
        let section = file.section_by_index(index).map_err(|e| LoadError::Object(e.to_string()))?;
        for (offset, relocation) in section.relocations() {
            let offset = usize::try_from(offset).ok().filter(|&offset| offset < section_place.len());
            let place = section_place.start + offset.ok_or_else(outside)?;
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err(LoadError::Object("a relocation is not an ELF one".into()));
            };
            let target = ResolvedTarget::of(file, layout, relocation.target())?;
            patch(memory, place, r_type, &target, relocation.addend())?;
        }
    }
    Ok(())
}

/// Target of a relocation. `place` and `slot` are offsets into the mapping.
struct ResolvedTarget {
    place: usize,
    slot: Option<usize>,
}

impl ResolvedTarget {
    fn of(file: &object::File, layout: &ImageLayout, target: RelocationTarget) -> Result<ResolvedTarget, LoadError> {
        let unresolved = || LoadError::Object("a relocation refers to something that is not loaded".into());
        match target {
            RelocationTarget::Symbol(index) => {
                let symbol = file.symbol_by_index(index).map_err(|e| LoadError::Object(e.to_string()))?;
                let place = layout.symbol(&symbol).ok_or_else(unresolved)?;
                Ok(ResolvedTarget { place, slot: layout.slot(index) })
            }
            RelocationTarget::Section(index) => {
                Ok(ResolvedTarget { place: layout.section(index).ok_or_else(unresolved)?.start, slot: None })
            }
            _ => Err(unresolved()),
        }
    }
}

fn patch(
    memory: &mut [u8],
    place: usize,
    r_type: elf::RelocationType,
    target: &ResolvedTarget,
    addend: i64,
) -> Result<(), LoadError> {
    let base = memory.as_ptr() as u64;
    match r_type {
        elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => relative(memory, place, target.place, addend),
        elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => {
            let slot = target.slot.ok_or_else(|| LoadError::Object("a section has no table entry".into()))?;
            relative(memory, place, slot, addend)
        }
        elf::R_X86_64_64 => {
            let address = (base + target.place as u64).wrapping_add_signed(addend);
            write(memory, place, &address.to_le_bytes())
        }
        elf::R_X86_64_PC64 => write(memory, place, &distance(place, target.place, addend)?.to_le_bytes()),
        other => Err(LoadError::Object(format!(
            "relocation type {other} is not supported; compile as position-independent code"
        ))),
    }
}

fn relative(memory: &mut [u8], place: usize, target: usize, addend: i64) -> Result<(), LoadError> {
    let distance = i32::try_from(distance(place, target, addend)?).map_err(|_| too_far())?;
    write(memory, place, &distance.to_le_bytes())
}

/// Returns the distance from `place` to `target`, plus the addend. `place` and `target` are below 2
/// GiB. The addend may have any value, so the sum may overflow.
fn distance(place: usize, target: usize, addend: i64) -> Result<i64, LoadError> {
    (target as i64 - place as i64).checked_add(addend).ok_or_else(too_far)
}

fn too_far() -> LoadError {
    LoadError::Object("a relocation reaches further than 2 GiB".into())
}

fn outside() -> LoadError {
    LoadError::Object("a relocation lies outside its section".into())
}

fn write(memory: &mut [u8], place: usize, bytes: &[u8]) -> Result<(), LoadError> {
    let target = memory.get_mut(place..place + bytes.len()).ok_or_else(outside)?;
    target.copy_from_slice(bytes);
    Ok(())
}
