//! Reads attribute values from text and writes them as text.

use std::fmt::Write;

use super::lexer::{Cursor, parse_integer};
use super::pieces::{braced, joined};
use super::shapes::{braces, shape};
use super::source::{Fault, Parse};
use crate::attribute::InText;
use crate::named::Named;
use crate::{ConvDims, PaddingDim, Shape, SliceDim, Window, WindowDim};

impl InText for i64 {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        value.integer("an integer")
    }

    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }
}

impl InText for Vec<i64> {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        value.integers("an integer")
    }

    fn write(&self, out: &mut String) {
        out.push_str(&braced(self));
    }
}

impl InText for bool {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        let at = value.at();
        match value.expect_word("true or false")? {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            word => Err(Fault::new(at, format!("expected true or false, found `{word}`"))),
        }
    }

    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }
}

impl InText for f32 {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        let at = value.at();
        let word = value.expect_word("a number")?;
        word.parse().map_err(|_| Fault::new(at, format!("expected a number, found `{word}`")))
    }

    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }
}

/// A string contains the text of an attribute's value, verbatim.
impl InText for String {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        Ok(value.rest_of_value().to_owned())
    }

    fn write(&self, out: &mut String) {
        out.push_str(self);
    }
}

impl<T: Named> InText for T {
    fn read(value: &mut Cursor, name: &str) -> Parse<Self> {
        let at = value.at();
        let word = value.expect_word("a name")?;
        let names = || joined(T::ALL.iter().map(|value| value.name()), ", ");
        word.parse()
            .map_err(|_| Fault::new(at, format!("`{word}` is not a value of `{name}`, which takes {}", names())))
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.name());
    }
}

impl<T: InText> InText for Option<T> {
    fn read(value: &mut Cursor, name: &str) -> Parse<Self> {
        T::read(value, name).map(Some)
    }

    fn write(&self, out: &mut String) {
        self.iter().for_each(|value| value.write(out));
    }
}

impl InText for Vec<Shape> {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        value.expect(b'{', "before the operand layouts")?;
        value.list(b'}', shape)
    }

    fn write(&self, out: &mut String) {
        let _ = write!(out, "{{{}}}", joined(self, ", "));
    }
}

/// `{[start:limit(:stride)], …}`
impl InText for Vec<SliceDim> {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
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

    fn write(&self, out: &mut String) {
        let range = |dim: &SliceDim| match dim.stride {
            1 => format!("[{}:{}]", dim.start, dim.limit),
            stride => format!("[{}:{}:{stride}]", dim.start, dim.limit),
        };
        let _ = write!(out, "{{{}}}", joined(self.iter().map(range), ", "));
    }
}

/// Text of a padding: `lo_hi[_interior]` per dimension, joined with `x`.
impl InText for Vec<PaddingDim> {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        let at = value.at();
        let Some(word) = value.word() else { return Ok(Vec::new()) };
        let dim = |text: &str| {
            let numbers: Option<Vec<i64>> = text.split('_').map(parse_integer).collect();
            match numbers.as_deref() {
                Some(&[low, high]) => Ok(PaddingDim { low, high, interior: 0 }),
                Some(&[low, high, interior]) => Ok(PaddingDim { low, high, interior }),
                _ => Err(Fault::new(
                    at,
                    format!("a dimension of padding is low_high or low_high_interior, found `{text}`"),
                )),
            }
        };
        word.split('x').map(dim).collect()
    }

    fn write(&self, out: &mut String) {
        let dim = |dim: &PaddingDim| match dim.interior {
            0 => format!("{}_{}", dim.low, dim.high),
            interior => format!("{}_{}_{interior}", dim.low, dim.high),
        };
        out.push_str(&joined(self.iter().map(dim), "x"));
    }
}

/// Text of a window: `{size=2x2 stride=… pad=… lhs_dilate=… rhs_dilate=… rhs_reversal=…}`
impl InText for Window {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
        let mut inner = braces(value)?;
        let mut fields: Vec<(&str, usize, Vec<i64>)> = Vec::new();
        let mut pads = None;
        while !inner.is_done() {
            let at = inner.at();
            let name = inner.expect_word("a field of the window")?;
            inner.expect(b'=', "after a field of the window")?;
            let value_at = inner.at();
            match name {
                "pad" => pads = Some((at, Vec::<PaddingDim>::read(&mut inner, name)?)),
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

    fn write(&self, out: &mut String) {
        let sizes = |get: &dyn Fn(&WindowDim) -> String| joined(self.dims.iter().map(get), "x");
        let _ = write!(out, "{{size={}", sizes(&|dim| dim.size.to_string()));
        let usual = WindowDim::default();
        let mut field = |name: &str, unusual: &dyn Fn(&WindowDim) -> bool, get: &dyn Fn(&WindowDim) -> String| {
            if self.dims.iter().any(unusual) {
                let _ = write!(out, " {name}={}", sizes(get));
            }
        };
        field("stride", &|dim| dim.stride != usual.stride, &|dim| dim.stride.to_string());
        field("pad", &|dim| (dim.padding_low, dim.padding_high) != (0, 0), &|dim| {
            format!("{}_{}", dim.padding_low, dim.padding_high)
        });
        field("lhs_dilate", &|dim| dim.base_dilation != 1, &|dim| dim.base_dilation.to_string());
        field("rhs_dilate", &|dim| dim.window_dilation != 1, &|dim| dim.window_dilation.to_string());
        field("rhs_reversal", &|dim| dim.reversal, &|dim| i64::from(dim.reversal).to_string());
        out.push('}');
    }
}

/// Text of a convolution's dimension numbers: `input_kernel->output`, such as `b01f_01io->b01f`.
impl InText for ConvDims {
    fn read(value: &mut Cursor, _name: &str) -> Parse<Self> {
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

    fn write(&self, out: &mut String) {
        let labels = |letters: [(i64, char); 2], spatial: &[i64]| {
            let mut text = vec!['?'; spatial.len() + 2];
            let digits = spatial.iter().enumerate().map(|(digit, &at)| (at, (b'0' + digit as u8) as char));
            for (at, label) in letters.into_iter().chain(digits) {
                if let Some(place) = usize::try_from(at).ok().and_then(|at| text.get_mut(at)) {
                    *place = label;
                }
            }
            text.into_iter().collect::<String>()
        };
        let input = labels([(self.input_batch, 'b'), (self.input_feature, 'f')], &self.input_spatial);
        let kernel =
            labels([(self.kernel_input_feature, 'i'), (self.kernel_output_feature, 'o')], &self.kernel_spatial);
        let output = labels([(self.output_batch, 'b'), (self.output_feature, 'f')], &self.output_spatial);
        let _ = write!(out, "{input}_{kernel}->{output}");
    }
}

fn sizes(word: &str, at: usize) -> Parse<Vec<i64>> {
    let number = |text: &str| {
        parse_integer(text).ok_or_else(|| Fault::new(at, format!("expected integers joined with `x`, found `{word}`")))
    };
    word.split('x').map(number).collect()
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

/// Returns the positions of the letters `first` and `second`, and of the digits that name spatial
/// dimensions.
fn conv_labels(text: &str, first: char, second: char) -> Option<(i64, i64, Vec<i64>)> {
    let find = |label: char| text.find(label).map(|position| position as i64);
    let spatial: Option<Vec<i64>> =
        (0..text.len().saturating_sub(2)).map(|dim| find(char::from_digit(u32::try_from(dim).ok()?, 10)?)).collect();
    Some((find(first)?, find(second)?, spatial?))
}
