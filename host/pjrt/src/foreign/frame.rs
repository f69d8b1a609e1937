//! Builds call frames, which contain the operands, results and attributes of a call in the structs
//! of the interface.

use std::ffi::c_void;

use fusebox_core::hlo::{ArrayShape, ElementType};
use fusebox_routines::{Value, number_bytes};

use super::abi::{
    ARRAY, ArrayAttribute, Arrays, AttributeList, BOOLEAN, BUFFER, Buffer, CALL_FRAME_SIZE, CallFrame, DICTIONARY,
    SCALAR, STRING, ScalarAttribute,
};
use crate::abi::{Header, Text};

/// Attributes in the structs of the interface. The list of the attributes contains pointers to data
/// that this struct owns.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the addresses of the elements must not change")]
pub struct Attributes {
    kinds: Vec<i32>,
    texts: Vec<Box<Text>>,
    names: Vec<*const Text>,
    values: Vec<*const c_void>,
    /// Memory to which the pointers in `names` and `values` point.
    bytes: Vec<Box<[u128]>>,
    strings: Vec<Box<str>>,
    scalars: Vec<Box<ScalarAttribute>>,
    arrays: Vec<Box<ArrayAttribute>>,
    inner: Vec<(Box<AttributeList>, Attributes)>,
}

// SAFETY: the pointers refer to memory that this object owns and that does not change.
unsafe impl Send for Attributes {}
// SAFETY: as above.
unsafe impl Sync for Attributes {}

impl Attributes {
    /// Builds the list of attributes, in the order of the names.
    pub fn new(entries: &[(String, Value)]) -> Result<Attributes, String> {
        let mut sorted: Vec<&(String, Value)> = entries.iter().collect();
        sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut attributes = Attributes::default();
        for (name, value) in sorted {
            attributes.add(value).map_err(|message| format!("the attribute `{name}`: {message}"))?;
            let name = attributes.text(name);
            attributes.names.push(name);
        }
        Ok(attributes)
    }

    fn text(&mut self, text: &str) -> *const Text {
        let string: Box<str> = text.into();
        self.texts.push(Box::new(Text::of(&string)));
        self.strings.push(string);
        self.texts.last().map_or(std::ptr::null(), |text| &raw const **text)
    }

    /// Stores a copy of bytes at an address that is aligned for every type of number, and returns
    /// the address.
    fn aligned(&mut self, bytes: &[u8]) -> *const c_void {
        let mut words = vec![0_u128; bytes.len().div_ceil(size_of::<u128>()).max(1)].into_boxed_slice();
        let start = words.as_mut_ptr().cast::<u8>();
        // SAFETY: the words have at least as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        self.bytes.push(words);
        start.cast_const().cast()
    }

    fn add(&mut self, value: &Value) -> Result<(), String> {
        let (kind, value) = match value {
            Value::Flag(flag) => (SCALAR, self.scalar(BOOLEAN, &[u8::from(*flag)])),
            Value::Number(element, text) => {
                let bytes = number_bytes(*element, text).map_err(|error| error.to_string())?;
                (SCALAR, self.scalar(element.number(), &bytes))
            }
            Value::Text(text) => (STRING, self.text(text).cast()),
            Value::Numbers(element, texts) => {
                let numbers = texts.iter().map(|text| number_bytes(*element, text)).collect::<Result<Vec<_>, _>>();
                let bytes = numbers.map_err(|error| error.to_string())?.concat();
                (ARRAY, self.array(*element, &bytes))
            }
            Value::Bytes(element, bytes) => (ARRAY, self.array(*element, bytes)),
            Value::Dictionary(entries) => {
                let inner = Attributes::new(entries)?;
                let list = Box::new(inner.list());
                let address = (&raw const *list).cast();
                self.inner.push((list, inner));
                (DICTIONARY, address)
            }
            Value::List(_) => return Err("the interface has no lists: use an array or a dictionary".into()),
            Value::Other(text) => return Err(format!("the interface has no attributes like `{text}`")),
        };
        self.kinds.push(kind);
        self.values.push(value);
        Ok(())
    }

    fn scalar(&mut self, element: i32, bytes: &[u8]) -> *const c_void {
        let value = self.aligned(bytes);
        let scalar = Box::new(ScalarAttribute { element, value });
        let address = (&raw const *scalar).cast();
        self.scalars.push(scalar);
        address
    }

    fn array(&mut self, element: ElementType, bytes: &[u8]) -> *const c_void {
        let data = self.aligned(bytes);
        let count = bytes.len() / element.byte_size().max(1);
        let array = Box::new(ArrayAttribute { element: element.number(), count, data });
        let address = (&raw const *array).cast();
        self.arrays.push(array);
        address
    }

    /// Returns the list of the attributes, which is valid as long as this object exists.
    pub fn list(&self) -> AttributeList {
        AttributeList {
            header: Header::of(size_of::<AttributeList>()),
            count: self.kinds.len() as i64,
            kinds: self.kinds.as_ptr(),
            names: self.names.as_ptr(),
            values: self.values.as_ptr(),
        }
    }
}

/// Arrays in the structs of the interface. The list of the arrays contains pointers to data that
/// this struct owns.
pub struct ArrayList {
    kinds: Vec<i32>,
    pointers: Vec<*const c_void>,
    /// The arrays to which `pointers` points.
    _arrays: Vec<Buffer>,
}

impl ArrayList {
    /// Builds a list of arrays with these shapes and addresses. The shapes must outlive the list.
    pub fn new(shapes: &[ArrayShape], addresses: &[*mut c_void]) -> ArrayList {
        let arrays = shapes.iter().zip(addresses).map(|(shape, &data)| Buffer {
            header: Header::of(size_of::<Buffer>()),
            element: shape.element_type.number(),
            data,
            rank: shape.dims.len() as i64,
            dims: shape.dims.as_ptr(),
        });
        let arrays: Vec<Buffer> = arrays.collect();
        let pointers = arrays.iter().map(|array| (&raw const *array).cast()).collect();
        ArrayList { kinds: vec![BUFFER; arrays.len()], pointers, _arrays: arrays }
    }

    /// Returns the list of the arrays, which is valid as long as this object exists.
    pub fn list(&self) -> Arrays {
        Arrays {
            header: Header::of(size_of::<Arrays>()),
            count: self.kinds.len() as i64,
            kinds: self.kinds.as_ptr(),
            arrays: self.pointers.as_ptr(),
        }
    }
}

/// Returns the call frame for a stage. The frame contains pointers to the arguments of this
/// function, which must outlive the frame.
pub fn frame(
    stage: i32,
    context: *mut c_void,
    (operands, results): (&ArrayList, &ArrayList),
    attributes: &Attributes,
) -> CallFrame {
    CallFrame {
        header: Header::of(CALL_FRAME_SIZE),
        api: super::api::table(),
        context,
        stage,
        operands: operands.list(),
        results: results.list(),
        attributes: attributes.list(),
        future: std::ptr::null_mut(),
    }
}
