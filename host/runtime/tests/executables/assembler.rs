//! Builds small x86-64 objects by hand, to test loading and running without a compiler.

use object::write::{Object, Relocation, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags, SymbolKind, SymbolScope, elf};

/// A four-byte reference in the code of a function. The number is the offset of the reference in
/// the code.
#[derive(Clone, Copy)]
pub enum Reference {
    /// A call or jump to an external function.
    Call(usize, &'static str),
    /// The table entry of an external function.
    Table(usize, &'static str),
    /// The constant of the object.
    Constant(usize),
}

/// A function, with its name, its code and its references.
pub struct Function(pub &'static str, pub &'static [u8], pub &'static [Reference]);

/// A `u32` in the read-only data of every object.
pub const CONSTANT: u32 = 0x1234_5678;

/// Computes `args[1] = args[0]` for 16 bytes, through `memcpy`.
pub const COPY_16: Function = Function(
    "copy_16",
    &[0x48, 0x8b, 0x37, 0x48, 0x8b, 0x7f, 0x08, 0xba, 16, 0, 0, 0, 0xe9, 0, 0, 0, 0],
    &[Reference::Call(13, "memcpy")],
);

/// Computes `args[0] = CONSTANT`.
pub const STORE_CONSTANT: Function = Function(
    "store_constant",
    &[0x48, 0x8b, 0x07, 0x8b, 0x0d, 0, 0, 0, 0, 0x89, 0x08, 0xc3],
    &[Reference::Constant(5)],
);

/// Sets four bytes of `args[0]` to 0x55, through the address of `memset` in the table.
pub const FILL_4: Function = Function(
    "fill_4",
    &[0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x8b, 0x3f, 0xbe, 0x55, 0, 0, 0, 0xba, 4, 0, 0, 0, 0xff, 0xe0],
    &[Reference::Table(3, "memset")],
);

/// Sets byte `b` of `args[0]` to `b`, for each block `b`.
pub const NUMBER_BLOCKS: Function = Function(
    "number_blocks",
    &[0x48, 0x8b, 0x07, 0x48, 0x39, 0xd6, 0x7d, 0x09, 0x40, 0x88, 0x34, 0x30, 0x48, 0xff, 0xc6, 0xeb, 0xf2, 0xc3],
    &[],
);

/// Computes `args[1] = args[0] < 10`.
pub const LESS_THAN_10: Function = Function(
    "less_than_10",
    &[0x48, 0x8b, 0x07, 0x8b, 0x08, 0x48, 0x8b, 0x57, 0x08, 0x83, 0xf9, 0x0a, 0x0f, 0x9c, 0x02, 0xc3],
    &[],
);

/// Computes `args[1] = args[0] + 1`.
pub const INCREMENT: Function =
    Function("increment", &[0x48, 0x8b, 0x07, 0x8b, 0x08, 0xff, 0xc1, 0x48, 0x8b, 0x57, 0x08, 0x89, 0x0a, 0xc3], &[]);

/// On simt, announces a write of 4 bytes at `args[0] + 4 * thread`.
pub const WRITE_ELEMENT: Function = Function(
    "write_element",
    &[
        0x48, 0x8b, 0x3f, 0x48, 0x8d, 0x34, 0x97, 0xba, 4, 0, 0, 0, 0xb9, 1, 0, 0, 0, 0x45, 0x31, 0xc0, 0x48, 0x83,
        0xec, 0x08, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x08, 0xc3,
    ],
    &[Reference::Call(25, "fusebox_simt_access")],
);

/// Calls a function that the runtime does not have.
pub const CALL_UNKNOWN: Function =
    Function("call_unknown", &[0xe9, 0, 0, 0, 0], &[Reference::Call(1, "launch_missiles")]);

/// Returns a relocatable object with these functions.
pub fn object(functions: &[Function]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let text = object.section_id(object::write::StandardSection::Text);
    let data = object.section_id(object::write::StandardSection::ReadOnlyData);
    let constant = symbol("the_constant", SymbolKind::Data, SymbolScope::Compilation);
    let constant = object.add_symbol(constant);
    object.add_symbol_data(constant, data, &CONSTANT.to_le_bytes(), 4);
    for Function(name, code, references) in functions {
        let id = object.add_symbol(symbol(name, SymbolKind::Text, SymbolScope::Dynamic));
        let start = object.add_symbol_data(id, text, code, 16);
        for reference in *references {
            let (offset, symbol, r_type) = match *reference {
                Reference::Call(offset, name) => (offset, external(&mut object, name), elf::R_X86_64_PLT32),
                Reference::Table(offset, name) => (offset, external(&mut object, name), elf::R_X86_64_REX_GOTPCRELX),
                Reference::Constant(offset) => (offset, constant, elf::R_X86_64_PC32),
            };
            let flags = RelocationFlags::Elf { r_type };
            let relocation = Relocation { offset: start + offset as u64, symbol, addend: -4, flags };
            object.add_relocation(text, relocation).unwrap();
        }
    }
    object.write().unwrap()
}

fn external(object: &mut Object, name: &str) -> object::write::SymbolId {
    object.add_symbol(symbol(name, SymbolKind::Text, SymbolScope::Unknown))
}

fn symbol(name: &str, kind: SymbolKind, scope: SymbolScope) -> Symbol {
    Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
        size: 0,
        kind,
        scope,
        weak: false,
        section: SymbolSection::Undefined,
        flags: SymbolFlags::None,
    }
}
