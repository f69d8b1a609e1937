//! Attributes of the kernel IR.

use mlir_sys::*;

use super::{Type, printed, text_of};

/// An attribute of a live context.
#[derive(Clone, Copy)]
pub(crate) struct Attribute(pub(super) MlirAttribute);

impl Attribute {
    pub(crate) fn string(self) -> Option<&'static str> {
        // SAFETY: read only after the test for the class; the text is uniqued in the context.
        unsafe { mlirAttributeIsAString(self.0).then(|| text_of(mlirStringAttrGetValue(self.0))) }
    }

    /// The function named by `@name`.
    pub(crate) fn symbol(self) -> Option<&'static str> {
        // SAFETY: as in `string`.
        unsafe { mlirAttributeIsAFlatSymbolRef(self.0).then(|| text_of(mlirFlatSymbolRefAttrGetValue(self.0))) }
    }

    /// An integer of at most 64 bits, sign-extended.
    pub(crate) fn integer(self) -> Option<i64> {
        // SAFETY: as in `string`; wider integers are refused.
        unsafe {
            if !mlirAttributeIsAInteger(self.0) {
                return None;
            }
            match Type::of(mlirAttributeGetType(self.0)) {
                Type::Integer(1) => Some(i64::from(mlirIntegerAttrGetValueInt(self.0) != 0)),
                Type::Integer(bits) if bits > 64 => None,
                _ => Some(mlirIntegerAttrGetValueInt(self.0)),
            }
        }
    }

    /// A floating-point number; exact for every format.
    pub(crate) fn float(self) -> Option<f64> {
        // SAFETY: as in `string`.
        unsafe { mlirAttributeIsAFloat(self.0).then(|| mlirFloatAttrGetValueDouble(self.0)) }
    }

    pub(crate) fn integers(self) -> Option<Vec<i64>> {
        // SAFETY: as in `string`; positions are below the count.
        unsafe {
            mlirAttributeIsADenseI64Array(self.0).then(|| {
                (0..mlirDenseArrayGetNumElements(self.0))
                    .map(|position| mlirDenseI64ArrayGetElement(self.0, position))
                    .collect()
            })
        }
    }

    pub(crate) fn array(self) -> Option<Vec<Attribute>> {
        // SAFETY: as in `string`; positions are below the count.
        unsafe {
            mlirAttributeIsAArray(self.0).then(|| {
                (0..mlirArrayAttrGetNumElements(self.0))
                    .map(|position| Attribute(mlirArrayAttrGetElement(self.0, position)))
                    .collect()
            })
        }
    }

    pub(crate) fn ty(self) -> Type {
        // SAFETY: the attribute is alive.
        unsafe { Type::of(mlirAttributeGetType(self.0)) }
    }

    pub(crate) fn text(self) -> String {
        printed(|callback, data| {
            // SAFETY: callback and data belong together.
            unsafe { mlirAttributePrint(self.0, callback, data) }
        })
    }

    /// Identity: attributes are uniqued.
    pub(crate) fn key(self) -> *const std::ffi::c_void {
        self.0.ptr
    }

    /// The elements of a dense constant as they lie in memory, one element if it is a splat. `i1` is one byte each.
    pub(crate) fn dense_bytes(self) -> Option<(Vec<u8>, bool)> {
        // SAFETY: as in `string`; the raw data has the size computed from element type and count.
        unsafe {
            if !mlirAttributeIsADenseElements(self.0) {
                return None;
            }
            let splat = mlirDenseElementsAttrIsSplat(self.0);
            let count = if splat { 1 } else { mlirElementsAttrGetNumElements(self.0) as usize };
            let element = match self.ty() {
                Type::Tensor { element, .. } | Type::Vector { element, .. } => element,
                _ => return None,
            };
            if *element == Type::Integer(1) {
                let bit = |index| u8::from(mlirDenseElementsAttrGetBoolValue(self.0, index as isize));
                let bits = if splat {
                    vec![u8::from(mlirDenseElementsAttrGetBoolSplatValue(self.0) != 0)]
                } else {
                    (0..count).map(bit).collect()
                };
                return Some((bits, splat));
            }
            let bytes = match *element {
                Type::Index => 8,
                _ => element.element_bytes()? as usize,
            };
            let data = mlirDenseElementsAttrGetRawData(self.0).cast::<u8>();
            Some((std::slice::from_raw_parts(data, count * bytes).to_vec(), splat))
        }
    }
}
