//! Products of matrices by a warp: `mma.sync`, `ldmatrix`, `stmatrix`.

use super::reader::{Reader, Width};
use crate::code::{Access, Element, Kind, Matrix, Product};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::Type;

const ELEMENTS: [(&str, Element); 13] = [
    ("f16", Element::F16),
    ("bf16", Element::Bf16),
    ("tf32", Element::Tf32),
    ("f32", Element::F32),
    ("f64", Element::F64),
    ("e4m3", Element::E4m3),
    ("e5m2", Element::E5m2),
    ("s8", Element::S8),
    ("u8", Element::U8),
    ("s4", Element::S4),
    ("u4", Element::U4),
    ("s32", Element::S32),
    ("b1", Element::Bit),
];

/// Reads an element's type.
pub fn element(reader: &mut Reader) -> Result<Element, LoadError> {
    reader.require(&ELEMENTS)
}

/// Reads a shape such as `m16n8k16`.
pub fn shape(reader: &mut Reader) -> Result<[usize; 3], LoadError> {
    let name = reader.peek().unwrap_or_default();
    let parsed = || {
        let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    };
    match parsed() {
        Some(shape) => {
            reader.choose(&[(name, ())]);
            Ok(shape)
        }
        None => reader.error("expected a shape such as .m16n8k16"),
    }
}

/// Returns the compute capability that `mma.sync` needs for a shape and element types. `None` if
/// PTX has no such product.
fn exists(shape: [usize; 3], left: Element, right: Element, sum: Element) -> Option<u32> {
    let is_byte = |it| matches!(it, Element::S8 | Element::U8);
    let is_nibble = |it| matches!(it, Element::S4 | Element::U4);
    let is_eight = |it| matches!(it, Element::E4m3 | Element::E5m2);
    match (shape, left, right, sum) {
        ([16, 8, 8 | 16], Element::F16, Element::F16, Element::F16 | Element::F32) => Some(80),
        ([16, 8, 8 | 16], Element::Bf16, Element::Bf16, Element::F32) => Some(80),
        ([16, 8, 4 | 8], Element::Tf32, Element::Tf32, Element::F32) => Some(80),
        ([8, 8, 4], Element::F64, Element::F64, Element::F64) => Some(80),
        ([16, 8, 4 | 8 | 16], Element::F64, Element::F64, Element::F64) => Some(90),
        ([8, 8, 16] | [16, 8, 16 | 32], left, right, Element::S32) if is_byte(left) && is_byte(right) => Some(80),
        ([8, 8, 32] | [16, 8, 32 | 64], left, right, Element::S32) if is_nibble(left) && is_nibble(right) => Some(80),
        ([16, 8, 16 | 32], left, right, Element::F32) if is_eight(left) && is_eight(right) => Some(89),
        _ => None,
    }
}

/// The type of the registers of a matrix.
fn register(element: Element) -> Type {
    match element {
        Element::F32 => Type::F(32),
        Element::F64 => Type::F(64),
        Element::S32 => Type::S(32),
        _ => Type::B(32),
    }
}

/// `mma.sync`.
pub fn product(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("sync") || !reader.take("aligned") {
        return reader.error("mma needs .sync.aligned");
    }
    let shape = shape(reader)?;
    if !reader.take("row") || !reader.take("col") {
        return reader.error("only mma with a left operand in rows and a right operand in columns is supported");
    }
    let saturates = reader.take("satfinite");
    let (result, left, right, sum) = (element(reader)?, element(reader)?, element(reader)?, element(reader)?);
    let Some(capability) = exists(shape, left, right, sum).filter(|_| sum == result) else { return reader.unknown() };
    if saturates && result != Element::S32 {
        return reader.unknown();
    }
    reader.needs(capability, 70)?;
    reader.finish(4)?;
    let [m, n, k] = shape;
    let words = |elements: usize, of: Element| {
        let bits = if of == Element::F64 { 64 } else { 32 };
        (elements * of.bits()).div_ceil(32 * bits)
    };
    let counts = [words(m * k, left), words(k * n, right), words(m * n, sum)];
    let mut operands: [Box<[u32]>; 3] = Default::default();
    for (number, (of, count)) in [left, right, sum].into_iter().zip(counts).enumerate() {
        let elements = reader.elements(1 + number)?;
        if elements.len() != count {
            return reader.error(format!("operand {} of mma has {count} registers", 1 + number));
        }
        let registers = elements.iter().map(|it| reader.source_of(it, register(of), Width::Exact));
        operands[number] = registers.collect::<Result<_, _>>()?;
    }
    let elements = reader.elements(0)?;
    if elements.len() != counts[2] {
        return reader.error(format!("the result of mma has {} registers", counts[2]));
    }
    let to = elements.iter().map(|it| reader.dest_of(it, register(result), Width::Exact));
    let to = to.collect::<Result<_, _>>()?;
    Ok(Kind::Matrix(Box::new(Matrix::Product(Product { shape, left, right, sum, result, saturates, to, operands }))))
}

/// `ldmatrix` and `stmatrix`.
pub fn moved(reader: &mut Reader) -> Result<Kind, LoadError> {
    let stores = reader.instruction.mnemonic == "stmatrix";
    if !reader.take("sync") || !reader.take("aligned") || !reader.take("m8n8") {
        return reader.unknown();
    }
    let count = reader.require(&[("x1", 1usize), ("x2", 2), ("x4", 4)])?;
    let transposed = reader.take("trans");
    let space = reader.choose(&[("shared", Space::Shared), ("shared::cta", Space::Shared)]);
    if reader.ty()? != Type::B(16) {
        return reader.unknown();
    }
    if stores {
        reader.needs(90, 78)?;
    }
    reader.finish(2)?;
    let (place, values) = if stores { (0, 1) } else { (1, 0) };
    let (base, offset, _) = reader.address(place)?;
    let elements = reader.elements(values)?;
    if elements.len() != count {
        return reader.error(format!("expected {count} registers"));
    }
    let mut registers = Vec::with_capacity(count);
    for element in elements {
        registers.push(if stores {
            reader.source_of(element, Type::B(32), Width::Exact)?
        } else {
            reader.dest_of(element, Type::B(32), Width::Exact)?
        });
    }
    let access = Access::plain(space, 16, base, offset);
    let registers = registers.into();
    Ok(Kind::Matrix(Box::new(Matrix::Move { stores, transposed, count, registers, access })))
}
