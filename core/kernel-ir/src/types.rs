//! Types of values.

use std::fmt;
use std::sync::Arc;

use crate::limits;
use fusebox_hlo::{ArrayShape, ElementType, FloatFormat};

/// Limits of a tile register: the largest number of rows, and the largest number of bytes per row.
const MOST_TILE_ROWS: i64 = 16;
const MOST_TILE_ROW_BYTES: i64 = 64;

/// A floating-point type of HLO elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Float(ElementType);

impl Float {
    /// `f4E2M1FN`
    pub const F4E2M1FN: Float = Float(ElementType::F4E2M1FN);
    /// `f8E4M3FN`
    pub const F8E4M3FN: Float = Float(ElementType::F8E4M3FN);
    /// `f8E8M0FNU`
    pub const F8E8M0FNU: Float = Float(ElementType::F8E8M0FNU);
    /// `f16`
    pub const F16: Float = Float(ElementType::F16);
    /// `bf16`
    pub const BF16: Float = Float(ElementType::BF16);
    /// `f32`
    pub const F32: Float = Float(ElementType::F32);
    /// `f64`
    pub const F64: Float = Float(ElementType::F64);

    /// Returns MLIR's name of the type: HLO's name, with capital letters after the first digit.
    pub fn name(self) -> String {
        let name = self.0.name();
        let width = name.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        let (head, tail) = name.split_at(width);
        head.to_owned() + &tail.to_ascii_uppercase()
    }

    /// Returns the width in bits.
    pub fn bits(self) -> u32 {
        self.0.bits()
    }

    /// Returns the float type for elements of this HLO type.
    pub fn of_element(element: ElementType) -> Option<Float> {
        element.is_float().then_some(Float(element))
    }

    /// Returns the HLO element type.
    pub fn element(self) -> ElementType {
        self.0
    }

    /// Returns the float type with this name.
    pub fn of_name(name: &str) -> Option<Float> {
        let float = Float::of_element(name.to_ascii_lowercase().parse().ok()?)?;
        (float.name() == name).then_some(float)
    }

    /// Returns the bit layout.
    pub fn format(self) -> Option<FloatFormat> {
        FloatFormat::of(self.element())
    }

    /// Returns the number of bytes that an element takes in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

impl fmt::Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A type without dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `index`: the type of positions and counts.
    Index,
    /// `iN`, signless.
    Int(u32),
    /// A floating-point type.
    Float(Float),
    /// `complex<…>`.
    Complex(Float),
}

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One number.
    Scalar(Scalar),
    /// A statically shaped tensor.
    Tensor(Arc<[i64]>, Scalar),
    /// A vector.
    Vector(Arc<[i64]>, Scalar),
    /// `!amx.tile<16x32xbf16>`: a matrix in a tile register, with its numbers of rows and columns.
    Tile([i64; 2], Scalar),
    /// `!llvm.ptr<N>`: an address in address space N. Addresses occur only in later stages of
    /// lowering.
    Pointer(u32),
}

impl Scalar {
    /// `i1`
    pub const I1: Scalar = Scalar::Int(1);
    /// `i8`
    pub const I8: Scalar = Scalar::Int(8);
    /// `i16`
    pub const I16: Scalar = Scalar::Int(16);
    /// `i32`
    pub const I32: Scalar = Scalar::Int(32);
    /// `i64`
    pub const I64: Scalar = Scalar::Int(64);
    /// `f16`
    pub const F16: Scalar = Scalar::Float(Float::F16);
    /// `bf16`
    pub const BF16: Scalar = Scalar::Float(Float::BF16);
    /// `f32`
    pub const F32: Scalar = Scalar::Float(Float::F32);
    /// `f64`
    pub const F64: Scalar = Scalar::Float(Float::F64);

    /// Returns the kernel IR's type for HLO elements of this type: `i1` for `pred`, signless
    /// integers for integers.
    pub fn of_element(element: ElementType) -> Scalar {
        match (Float::of_element(element), Float::of_element(element.real_part())) {
            (Some(float), _) => Scalar::Float(float),
            (None, Some(part)) => Scalar::Complex(part),
            (None, None) => Scalar::Int(element.bits()),
        }
    }

    /// Whether the type is `index` or an integer of any width.
    pub fn is_integer(self) -> bool {
        matches!(self, Scalar::Index | Scalar::Int(_))
    }

    /// Returns the number of bytes that an element takes in memory. Every element takes whole
    /// bytes.
    pub fn byte_size(self) -> usize {
        match self {
            Scalar::Complex(part) => 2 * part.bytes() as usize,
            other => other.bits().div_ceil(8) as usize,
        }
    }

    /// Clears the unused bits in the bytes of elements that have fewer than eight bits.
    pub fn clear_unused_bits(self, bytes: &mut [u8]) {
        if let bits @ ..8 = self.bits() {
            bytes.iter_mut().for_each(|byte| *byte &= 0xff >> (8 - bits));
        }
    }

    /// Returns the width in bits. `index` has 64.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Index => 64,
            Scalar::Int(bits) => bits,
            Scalar::Float(float) => float.bits(),
            Scalar::Complex(part) => 2 * part.bits(),
        }
    }
}

impl Type {
    /// `index`
    pub const INDEX: Type = Type::Scalar(Scalar::Index);
    /// `i1`
    pub const I1: Type = Type::Scalar(Scalar::I1);
    /// `i32`
    pub const I32: Type = Type::Scalar(Scalar::I32);
    /// `i64`
    pub const I64: Type = Type::Scalar(Scalar::I64);
    /// `f32`
    pub const F32: Type = Type::Scalar(Scalar::F32);
    /// `f64`
    pub const F64: Type = Type::Scalar(Scalar::F64);

    /// Returns the tensor type with these dimensions.
    pub fn tensor(dims: &[i64], element: Scalar) -> Type {
        Type::Tensor(dims.into(), element)
    }

    /// Returns the vector type with these dimensions.
    pub fn vector(dims: &[i64], element: Scalar) -> Type {
        Type::Vector(dims.into(), element)
    }

    /// Returns the tile register type with these rows and columns.
    pub fn tile(dims: [i64; 2], element: Scalar) -> Type {
        Type::Tile(dims, element)
    }

    /// Returns the scalar type of an HLO element.
    pub fn of_element(element: ElementType) -> Type {
        Type::Scalar(Scalar::of_element(element))
    }

    /// Returns the tensor type of an HLO array.
    pub fn of_array(shape: &ArrayShape) -> Type {
        Type::tensor(&shape.dims, Scalar::of_element(shape.element_type))
    }

    /// Returns the type itself if it is scalar, else its element type. For an address, returns the
    /// integer type that can hold the address.
    pub fn element(&self) -> Scalar {
        match self {
            Type::Scalar(scalar) | Type::Tensor(_, scalar) | Type::Vector(_, scalar) | Type::Tile(_, scalar) => *scalar,
            Type::Pointer(_) => Scalar::I64,
        }
    }

    /// Returns the dimensions. A scalar has no dimensions.
    pub fn dims(&self) -> &[i64] {
        match self {
            Type::Scalar(_) | Type::Pointer(_) => &[],
            Type::Tensor(dims, _) | Type::Vector(dims, _) => dims,
            Type::Tile(dims, _) => dims,
        }
    }

    /// Returns the type with the same dimensions and the element type `element`. Returns tile types
    /// unchanged, because the element type of a tile determines the instruction that multiplies the
    /// tile.
    pub fn with_element(&self, element: Scalar) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(element),
            Type::Tensor(dims, _) => Type::Tensor(dims.clone(), element),
            Type::Vector(dims, _) => Type::Vector(dims.clone(), element),
            Type::Tile(..) | Type::Pointer(_) => self.clone(),
        }
    }

    /// Returns the number of elements, or `None` if the number overflows or a dimension is
    /// negative.
    pub fn element_count(&self) -> Option<usize> {
        self.dims().iter().try_fold(1usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?))
    }

    /// Checks that kernels can have values of this type.
    ///
    /// # Errors
    /// Returns the reason why kernels cannot have values of this type, in words that follow
    /// `a value` in a sentence.
    pub fn check(&self) -> Result<(), String> {
        if let Scalar::Int(bits) = self.element()
            && !(1..=limits::MOST_BITS).contains(&bits)
        {
            return Err(format!("of {bits} bits; integers have at most {}", limits::MOST_BITS));
        }
        if let Scalar::Complex(part) = self.element()
            && !matches!(part, Float::F32 | Float::F64)
        {
            return Err(format!("with parts of {}; the parts of complex numbers are f32 or f64", part.name()));
        }
        match self {
            Type::Vector(_, element @ Scalar::Complex(_)) => {
                Err(format!("with lanes of {element}; the lanes of vectors are real numbers"))
            }
            Type::Vector(dims, _) => match dims[..] {
                [lanes] if u64::try_from(lanes).is_ok_and(|lanes| (1..=limits::MOST_LANES).contains(&lanes)) => Ok(()),
                [lanes] => Err(format!("of {lanes} lanes; vectors have at most {}", limits::MOST_LANES)),
                _ => Err(format!("of {} dimensions; vectors have one", dims.len())),
            },
            Type::Tensor(dims, _) if dims.len() > limits::MOST_DIMENSIONS => {
                Err(format!("of {} dimensions; tensors have at most {}", dims.len(), limits::MOST_DIMENSIONS))
            }
            Type::Tensor(..) => match self.element_count().and_then(|count| i64::try_from(count).ok()?.checked_mul(16))
            {
                Some(_) => Ok(()),
                None => Err("whose tensor is not statically shaped, or larger than any memory".into()),
            },
            Type::Tile(dims, element) => check_tile(*dims, *element),
            Type::Scalar(_) | Type::Pointer(_) => Ok(()),
        }
    }

    /// Returns the scalar, if the type has no dimensions.
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Type::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Returns dimensions and element type of a tensor.
    pub fn as_tensor(&self) -> Option<(&[i64], Scalar)> {
        match self {
            Type::Tensor(dims, element) => Some((dims, *element)),
            _ => None,
        }
    }

    /// Returns dimensions and element type of a tile register.
    pub fn as_tile(&self) -> Option<([i64; 2], Scalar)> {
        match self {
            Type::Tile(dims, element) => Some((*dims, *element)),
            _ => None,
        }
    }

    /// Returns dimensions and element type of a vector.
    pub fn as_vector(&self) -> Option<(&[i64], Scalar)> {
        match self {
            Type::Vector(dims, element) => Some((dims, *element)),
            _ => None,
        }
    }
}

/// Checks that a tile register can hold a tile with these dimensions and this element type.
fn check_tile([rows, columns]: [i64; 2], element: Scalar) -> Result<(), String> {
    if !matches!(element, Scalar::I8 | Scalar::I32 | Scalar::F32 | Scalar::BF16) {
        return Err(format!("in a tile of {element}; tile registers are of i8, i32, bf16 or f32"));
    }
    let bytes = columns.checked_mul(element.byte_size() as i64);
    match bytes {
        Some(bytes @ 1..=MOST_TILE_ROW_BYTES) if bytes % 4 == 0 && (1..=MOST_TILE_ROWS).contains(&rows) => Ok(()),
        _ => Err(format!(
            "in a tile of {rows} rows of {columns} {element}; tile registers have at most {MOST_TILE_ROWS} rows of \
             {MOST_TILE_ROW_BYTES} bytes, in words of 4"
        )),
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        Type::Scalar(scalar)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Index => f.write_str("index"),
            Scalar::Int(bits) => write!(f, "i{bits}"),
            Scalar::Float(float) => float.fmt(f),
            Scalar::Complex(part) => write!(f, "complex<{}>", part.name()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keyword, dims, element) = match self {
            Type::Scalar(scalar) => return scalar.fmt(f),
            Type::Tensor(dims, element) => ("tensor", dims, element),
            Type::Vector(dims, element) => ("vector", dims, element),
            Type::Tile([rows, columns], element) => return write!(f, "!amx.tile<{rows}x{columns}x{element}>"),
            Type::Pointer(0) => return f.write_str("!llvm.ptr"),
            Type::Pointer(space) => return write!(f, "!llvm.ptr<{space}>"),
        };
        write!(f, "{keyword}<")?;
        for dim in dims.iter() {
            write!(f, "{dim}x")?;
        }
        write!(f, "{element}>")
    }
}
