//! Types of the kernel IR.

use mlir_sys::*;

/// A type of the kernel IR.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Index,
    /// Signless, 1 to 64 bits.
    Integer(u32),
    Float(FloatFormat),
    /// Of `f32` or `f64` parts.
    Complex(FloatFormat),
    /// Statically shaped, row-major.
    Tensor {
        shape: Vec<i64>,
        element: Box<Type>,
    },
    /// Of one dimension.
    Vector {
        lanes: u32,
        element: Box<Type>,
    },
    /// Anything else.
    Other,
}

/// Formats of floating-point numbers, by MLIR's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FloatFormat {
    F64,
    F32,
    F16,
    Bf16,
    F8E5M2,
    F8E4M3,
    F8E4M3Fn,
    F8E5M2Fnuz,
    F8E4M3Fnuz,
    F8E4M3B11Fnuz,
    F8E3M4,
    F8E8M0Fnu,
    F6E2M3Fn,
    F6E3M2Fn,
    F4E2M1Fn,
}

impl FloatFormat {
    /// Bits of the format, not of its place in memory.
    pub(crate) fn bits(self) -> u32 {
        match self {
            FloatFormat::F64 => 64,
            FloatFormat::F32 => 32,
            FloatFormat::F16 | FloatFormat::Bf16 => 16,
            FloatFormat::F6E2M3Fn | FloatFormat::F6E3M2Fn => 6,
            FloatFormat::F4E2M1Fn => 4,
            _ => 8,
        }
    }

    /// Bytes of one element in memory.
    pub(crate) fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    fn of(raw: MlirType) -> Option<Self> {
        type Test = unsafe extern "C" fn(MlirType) -> bool;
        const FORMATS: [(Test, FloatFormat); 15] = [
            (mlirTypeIsAF32, FloatFormat::F32),
            (mlirTypeIsAF64, FloatFormat::F64),
            (mlirTypeIsABF16, FloatFormat::Bf16),
            (mlirTypeIsAF16, FloatFormat::F16),
            (mlirTypeIsAFloat8E5M2, FloatFormat::F8E5M2),
            (mlirTypeIsAFloat8E4M3, FloatFormat::F8E4M3),
            (mlirTypeIsAFloat8E4M3FN, FloatFormat::F8E4M3Fn),
            (mlirTypeIsAFloat8E5M2FNUZ, FloatFormat::F8E5M2Fnuz),
            (mlirTypeIsAFloat8E4M3FNUZ, FloatFormat::F8E4M3Fnuz),
            (mlirTypeIsAFloat8E4M3B11FNUZ, FloatFormat::F8E4M3B11Fnuz),
            (mlirTypeIsAFloat8E3M4, FloatFormat::F8E3M4),
            (mlirTypeIsAFloat8E8M0FNU, FloatFormat::F8E8M0Fnu),
            (mlirTypeIsAFloat6E2M3FN, FloatFormat::F6E2M3Fn),
            (mlirTypeIsAFloat6E3M2FN, FloatFormat::F6E3M2Fn),
            (mlirTypeIsAFloat4E2M1FN, FloatFormat::F4E2M1Fn),
        ];
        // SAFETY: the type is alive; the tests only read it.
        FORMATS.iter().find(|(is_a, _)| unsafe { is_a(raw) }).map(|&(_, format)| format)
    }
}

impl Type {
    /// # Safety
    /// `raw` is a type of a live context.
    pub(super) unsafe fn of(raw: MlirType) -> Type {
        // SAFETY: every accessor is called after the test for its class.
        unsafe {
            if mlirTypeIsAIndex(raw) {
                Type::Index
            } else if mlirTypeIsAInteger(raw) {
                Type::Integer(mlirIntegerTypeGetWidth(raw))
            } else if let Some(format) = FloatFormat::of(raw) {
                Type::Float(format)
            } else if mlirTypeIsARankedTensor(raw) {
                Type::Tensor { shape: shape_of(raw), element: Box::new(Type::of(mlirShapedTypeGetElementType(raw))) }
            } else if mlirTypeIsAVector(raw) && mlirShapedTypeGetRank(raw) == 1 {
                let lanes = mlirShapedTypeGetDimSize(raw, 0) as u32;
                Type::Vector { lanes, element: Box::new(Type::of(mlirShapedTypeGetElementType(raw))) }
            } else if mlirTypeIsAComplex(raw) {
                FloatFormat::of(mlirComplexTypeGetElementType(raw)).map_or(Type::Other, Type::Complex)
            } else {
                Type::Other
            }
        }
    }

    /// Bytes of one element in memory; nothing for types that are not elements.
    pub(crate) fn element_bytes(&self) -> Option<u32> {
        match self {
            Type::Integer(bits) => Some(bits.div_ceil(8)),
            Type::Float(format) => Some(format.bytes()),
            Type::Complex(part) => Some(2 * part.bytes()),
            _ => None,
        }
    }
}

unsafe fn shape_of(raw: MlirType) -> Vec<i64> {
    // SAFETY: the caller has seen that this is a ranked shaped type; a dynamic size reads as a negative number.
    unsafe { (0..mlirShapedTypeGetRank(raw)).map(|dim| mlirShapedTypeGetDimSize(raw, dim as isize)).collect() }
}
