//! The list of attributes after an instruction, and the forms their values take.
//!
//! Attributes are first split into names and the ranges of their values; each value is then read
//! when the operation that owns it is built, so that the order of attributes does not matter.

use std::str::FromStr;

use super::lexer::{Cursor, parse_integer};
use super::shapes::braces;
use super::source::{Fault, Parse};
use crate::hlo::{ConvDims, PaddingDim, SliceDim, Window, WindowDim};

/// No instruction has half as many; lists are searched linearly.
const MAX_ATTRIBUTES: usize = 64;

pub(crate) struct Attribute<'t> {
    pub name: &'t str,
    pub at: usize,
    pub value: Cursor<'t>,
}

/// The attributes of one instruction (or header) that have not been taken yet.
pub(crate) struct Attributes<'t> {
    /// Where the owner stands, for attributes that are missing.
    at: usize,
    /// What the owner is, for messages.
    owner: String,
    list: Vec<Attribute<'t>>,
}

impl<'t> Attributes<'t> {
    /// Reads `, name=value` as often as it comes.
    pub(crate) fn read(cursor: &mut Cursor<'t>, at: usize, owner: &str) -> Parse<Self> {
        let mut list: Vec<Attribute> = Vec::new();
        while cursor.eat(b',') {
            let at = cursor.at();
            let name = cursor.expect_word("the name of an attribute")?;
            cursor.expect(b'=', &format!("after the attribute name `{name}`"))?;
            if list.iter().any(|other| other.name == name) {
                return Err(Fault::new(at, format!("the attribute `{name}` is given twice")));
            }
            if list.len() == MAX_ATTRIBUTES {
                return Err(Fault::new(at, format!("{owner} has more than {MAX_ATTRIBUTES} attributes")));
            }
            let value = cursor.attribute_value()?;
            list.push(Attribute { name, at, value });
        }
        Ok(Attributes { at, owner: owner.to_owned(), list })
    }

    pub(crate) fn empty(at: usize, owner: &str) -> Self {
        Attributes { at, owner: owner.to_owned(), list: Vec::new() }
    }

    /// Takes an attribute out of the list.
    pub(crate) fn take(&mut self, name: &str) -> Option<Attribute<'t>> {
        let position = self.list.iter().position(|attribute| attribute.name == name)?;
        Some(self.list.remove(position))
    }

    pub(crate) fn required(&mut self, name: &str) -> Parse<Attribute<'t>> {
        let missing = || Fault::new(self.at, format!("{} needs the attribute `{name}`", self.owner));
        match self.list.iter().position(|attribute| attribute.name == name) {
            Some(position) => Ok(self.list.remove(position)),
            None => Err(missing()),
        }
    }

    /// What is left, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Attribute<'t>> + '_ {
        self.list.drain(..)
    }

    /// Reads the whole value of an optional attribute.
    pub(crate) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Cursor<'t>) -> Parse<T>,
    ) -> Parse<Option<T>> {
        self.take(name).map(|attribute| attribute.read(read)).transpose()
    }

    /// Reads the whole value of a required attribute.
    pub(crate) fn needed<T>(&mut self, name: &str, read: impl FnOnce(&mut Cursor<'t>) -> Parse<T>) -> Parse<T> {
        self.required(name)?.read(read)
    }

    pub(crate) fn integers(&mut self, name: &str) -> Parse<Vec<i64>> {
        self.needed(name, |value| value.integers("an integer"))
    }

    pub(crate) fn integers_or_empty(&mut self, name: &str) -> Parse<Vec<i64>> {
        Ok(self.optional(name, |value| value.integers("an integer"))?.unwrap_or_default())
    }

    pub(crate) fn integer(&mut self, name: &str) -> Parse<i64> {
        self.needed(name, |value| value.integer("an integer"))
    }

    /// An integer that a serialised module has 32 bits for.
    pub(crate) fn integer32(&mut self, name: &str) -> Parse<i64> {
        self.needed(name, |value| value.integer32(name))
    }

    pub(crate) fn integer_or(&mut self, name: &str, default: i64) -> Parse<i64> {
        Ok(self.optional(name, |value| value.integer("an integer"))?.unwrap_or(default))
    }

    /// The one integer of a braced list.
    pub(crate) fn single_integer(&mut self, name: &str) -> Parse<i64> {
        let attribute = self.required(name)?;
        let at = attribute.at;
        match attribute.read(|value| value.integers("an integer"))?[..] {
            [only] => Ok(only),
            ref list => Err(Fault::new(at, format!("`{name}` takes exactly one dimension, found {}", list.len()))),
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Parse<bool> {
        Ok(self.optional(name, flag)?.unwrap_or(false))
    }

    pub(crate) fn flag_or(&mut self, name: &str, default: bool) -> Parse<bool> {
        Ok(self.optional(name, flag)?.unwrap_or(default))
    }

    pub(crate) fn float(&mut self, name: &str) -> Parse<f32> {
        self.needed(name, |value| {
            let at = value.at();
            let word = value.expect_word("a number")?;
            word.parse().map_err(|_| Fault::new(at, format!("expected a number, found `{word}`")))
        })
    }

    /// A required name out of a fixed set.
    pub(crate) fn choice<T: FromStr>(&mut self, name: &str, all: &[&str]) -> Parse<T> {
        let attribute = self.required(name)?;
        attribute.read(|value| choice(value, name, all))
    }

    /// An optional name out of a fixed set.
    pub(crate) fn choice_or<T: FromStr>(&mut self, name: &str, all: &[&str]) -> Parse<Option<T>> {
        self.optional(name, |value| choice(value, name, all))
    }

    /// The text of an optional attribute as it stands.
    pub(crate) fn raw(&mut self, name: &str) -> String {
        self.take(name).map(|attribute| attribute.raw()).unwrap_or_default()
    }
}

impl<'t> Attribute<'t> {
    /// Reads the whole value.
    pub(crate) fn read<T>(self, read: impl FnOnce(&mut Cursor<'t>) -> Parse<T>) -> Parse<T> {
        let mut value = self.value;
        let result = read(&mut value)?;
        value.finish(&format!("the value of `{}`", self.name))?;
        Ok(result)
    }

    pub(crate) fn raw(&self) -> String {
        self.value.rest().trim().to_owned()
    }
}

fn choice<T: FromStr>(value: &mut Cursor, name: &str, all: &[&str]) -> Parse<T> {
    let at = value.at();
    let word = value.expect_word("a name")?;
    word.parse()
        .map_err(|_| Fault::new(at, format!("`{word}` is not a value of `{name}`, which takes {}", all.join(", "))))
}

pub(crate) fn flag(value: &mut Cursor) -> Parse<bool> {
    let at = value.at();
    match value.expect_word("true or false")? {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        word => Err(Fault::new(at, format!("expected true or false, found `{word}`"))),
    }
}

/// `{[start:limit(:stride)], …}`
pub(crate) fn slice(value: &mut Cursor) -> Parse<Vec<SliceDim>> {
    value.expect(b'{', "before the slice")?;
    value.list(b'}', |value| {
        value.expect(b'[', "before the range of a dimension")?;
        let start = value.integer("the start of the range")?;
        value.expect(b':', "after the start of the range")?;
        let limit = value.integer("the end of the range")?;
        let stride = if value.eat(b':') { value.integer("the stride of the range")? } else { 1 };
        value.expect(b']', "after the range of a dimension")?;
        Ok(SliceDim { start, limit, stride })
    })
}

/// `lo_hi[_interior]` per dimension, joined with `x`.
pub(crate) fn padding(value: &mut Cursor) -> Parse<Vec<PaddingDim>> {
    let at = value.at();
    let Some(word) = value.word() else { return Ok(Vec::new()) };
    let dim = |text: &str| {
        let numbers: Option<Vec<i64>> = text.split('_').map(parse_integer).collect();
        match numbers.as_deref() {
            Some(&[low, high]) => Ok(PaddingDim { low, high, interior: 0 }),
            Some(&[low, high, interior]) => Ok(PaddingDim { low, high, interior }),
            _ => {
                Err(Fault::new(at, format!("a dimension of padding is low_high or low_high_interior, found `{text}`")))
            }
        }
    };
    word.split('x').map(dim).collect()
}

fn sizes(word: &str, at: usize) -> Parse<Vec<i64>> {
    let number = |text: &str| {
        parse_integer(text).ok_or_else(|| Fault::new(at, format!("expected integers joined with `x`, found `{word}`")))
    };
    word.split('x').map(number).collect()
}

/// `{size=2x2 stride=… pad=… lhs_dilate=… rhs_dilate=… rhs_reversal=…}`
pub(crate) fn window(value: &mut Cursor) -> Parse<Window> {
    let mut inner = braces(value)?;
    let mut fields: Vec<(&str, usize, Vec<i64>)> = Vec::new();
    let mut pads = None;
    while !inner.is_done() {
        let at = inner.at();
        let name = inner.expect_word("a field of the window")?;
        inner.expect(b'=', "after a field of the window")?;
        let value_at = inner.at();
        match name {
            "pad" => pads = Some((at, padding(&mut inner)?)),
            "size" | "stride" | "lhs_dilate" | "rhs_dilate" | "rhs_reversal" => {
                let word = inner.expect_word("integers joined with `x`")?;
                fields.push((name, at, sizes(word, value_at)?));
            }
            _ => return Err(Fault::new(at, format!("a window has no field `{name}`"))),
        }
    }
    let rank = fields.iter().find(|(name, ..)| *name == "size").map_or(0, |(.., sizes)| sizes.len());
    let mut dims = vec![WindowDim::default(); rank];
    let wrong = |at, name: &str, found: usize| {
        Fault::new(at, format!("the window's `{name}` has {found} dimensions, its `size` has {rank}"))
    };
    for (name, at, values) in fields {
        if values.len() != rank {
            return Err(wrong(at, name, values.len()));
        }
        for (dim, value) in dims.iter_mut().zip(values) {
            set_window_field(dim, name, value);
        }
    }
    if let Some((at, pads)) = pads {
        if pads.len() != rank {
            return Err(wrong(at, "pad", pads.len()));
        }
        for (dim, pad) in dims.iter_mut().zip(pads) {
            (dim.padding_low, dim.padding_high) = (pad.low, pad.high);
        }
    }
    Ok(Window { dims })
}

fn set_window_field(dim: &mut WindowDim, name: &str, value: i64) {
    match name {
        "size" => dim.size = value,
        "stride" => dim.stride = value,
        "lhs_dilate" => dim.base_dilation = value,
        "rhs_dilate" => dim.window_dilation = value,
        _ => dim.reversal = value != 0,
    }
}

/// `input_kernel->output`, e.g. `b01f_01io->b01f`.
pub(crate) fn dim_labels(value: &mut Cursor) -> Parse<ConvDims> {
    let at = value.at();
    let text = value.rest_of_value();
    let malformed = || Fault::new(at, format!("dim_labels has the form input_kernel->output, found `{text}`"));
    let (operands, output) = text.split_once("->").ok_or_else(malformed)?;
    let (input, kernel) = operands.split_once('_').ok_or_else(malformed)?;
    let rank = input.len();
    if rank < 2 || kernel.len() != rank || output.len() != rank {
        return Err(malformed());
    }
    let labels = |text: &str, first: char, second: char| {
        conv_labels(text, first, second).ok_or_else(|| {
            let message =
                format!("`{text}` in dim_labels must hold `{first}`, `{second}` and each spatial dimension once");
            Fault::new(at, message)
        })
    };
    let (input_batch, input_feature, input_spatial) = labels(input, 'b', 'f')?;
    let (kernel_input_feature, kernel_output_feature, kernel_spatial) = labels(kernel, 'i', 'o')?;
    let (output_batch, output_feature, output_spatial) = labels(output, 'b', 'f')?;
    Ok(ConvDims {
        input_batch,
        input_feature,
        input_spatial,
        kernel_input_feature,
        kernel_output_feature,
        kernel_spatial,
        output_batch,
        output_feature,
        output_spatial,
    })
}

/// Positions of the two letters and of the spatial digits.
fn conv_labels(text: &str, first: char, second: char) -> Option<(i64, i64, Vec<i64>)> {
    let find = |label: char| text.find(label).map(|position| position as i64);
    let spatial: Option<Vec<i64>> =
        (0..text.len().saturating_sub(2)).map(|dim| find(char::from_digit(u32::try_from(dim).ok()?, 10)?)).collect();
    Some((find(first)?, find(second)?, spatial?))
}
