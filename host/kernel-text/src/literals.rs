//! Parses single numbers, and the elements of dense constants.

use std::sync::Arc;

use super::tokens::{Read, Token, TokenKind, unquoted};
use super::{Parser, at_most};
use fusebox_core::ir::{Attribute, Float, Scalar, Type};
use fusebox_core::plugin::limits;

/// A number in its text form: `-1`, `0x7F`, `1.5e-3`, `true`.
#[derive(Clone, Copy)]
pub(super) struct Literal<'t> {
    token: Token<'t>,
    negative: bool,
}

impl<'t> Literal<'t> {
    pub(super) fn read(parser: &mut Parser<'t>) -> Read<Literal<'t>> {
        let negative = parser.accept("-")?;
        let token = parser.tokens.next()?;
        let number = token.text.starts_with(|first: char| first.is_ascii_digit());
        if token.kind != TokenKind::Word || !(number || matches!(token.text, "true" | "false") && !negative) {
            return token.at.fault(format!("expected a number, found {}", token.quoted()));
        }
        let digits =
            |byte: &u8| if token.text.starts_with("0x") { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        let longest = token.text.as_bytes().split(|byte| !digits(byte)).map(<[u8]>::len).max().unwrap_or(0);
        at_most(token, "digits of a number", longest, limits::MOST_DIGITS)?;
        Ok(Literal { token, negative })
    }

    fn is_bool(self) -> bool {
        matches!(self.token.text, "true" | "false")
    }

    fn is_hexadecimal(self) -> bool {
        self.token.text.starts_with("0x")
    }

    fn is_float(self) -> bool {
        !self.is_hexadecimal() && self.token.text.contains(['.', 'e', 'E']) && !self.is_bool()
    }

    fn refused<T>(self, ty: impl std::fmt::Display) -> Read<T> {
        let sign = if self.negative { "-" } else { "" };
        self.token.at.fault(format!("`{sign}{}` is no number of type {ty}", self.token.text))
    }

    /// Returns the number as a signed value of this integer type or of `index`.
    pub(super) fn integer(self, ty: Scalar) -> Read<i128> {
        let text = self.token.text;
        if self.is_bool() {
            return if ty == Scalar::I1 { Ok(i128::from(text == "true")) } else { self.refused(ty) };
        }
        let magnitude = match text.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16),
            None => text.parse(),
        };
        let Ok(magnitude) = magnitude else { return self.refused(ty) };
        let unused = 128 - ty.bits();
        let most = if self.negative { 1 << (127 - unused) } else { u128::MAX >> unused };
        if magnitude > most {
            return self.refused(ty);
        }
        let value = if self.negative { magnitude.wrapping_neg() } else { magnitude };
        Ok((value << unused) as i128 >> unused)
    }

    /// Returns the bits of the float. A hexadecimal literal states the bits themselves. Any other
    /// literal is rounded to the nearest float.
    fn float(self, ty: Float) -> Read<u64> {
        let text = self.token.text;
        if let Some(digits) = text.strip_prefix("0x") {
            return match u64::from_str_radix(digits, 16) {
                Ok(bits) if !self.negative && (ty.bits() == 64 || bits >> ty.bits() == 0) => Ok(bits),
                _ => self.refused(ty.name()),
            };
        }
        if !self.is_float() {
            return self.refused(format_args!("{}; floats have a point, as `1.0`", ty.name()));
        }
        // Parses an f32 directly, because parsing it as f64 first would round twice. Narrower types
        // are rounded twice, as in MLIR.
        let bits = match (ty, ty.format()) {
            (Float::F32, _) => {
                text.parse().ok().map(|value: f32| u64::from(if self.negative { -value } else { value }.to_bits()))
            }
            (_, Some(format)) => {
                text.parse().ok().map(|value: f64| format.encode(if self.negative { -value } else { value }))
            }
            (_, None) => None,
        };
        bits.map_or_else(|| self.refused(ty.name()), Ok)
    }
}

impl<'t> Parser<'t> {
    /// Reads a number with its type, for example `1 : i32`, `1.0 : f32` or `true`.
    pub(super) fn number(&mut self) -> Read<Attribute> {
        let literal = Literal::read(self)?;
        let ty = if self.accept(":")? {
            let at = self.tokens.peek().at;
            match self.ty()? {
                Type::Scalar(scalar) => scalar,
                other => return at.fault(format!("numbers are not of type {other}; write `dense<…> : {other}`")),
            }
        } else if literal.is_bool() {
            Scalar::I1
        } else if literal.is_float() {
            Scalar::F64
        } else {
            Scalar::I64
        };
        match ty {
            Scalar::Float(float) => Ok(Attribute::Float(literal.float(float)?, float)),
            Scalar::I1 => Ok(Attribute::Bool(literal.integer(ty)? != 0)),
            Scalar::Int(_) | Scalar::Index => match i64::try_from(literal.integer(ty)?) {
                Ok(value) => Ok(Attribute::Int(value, ty.into())),
                Err(_) => literal.refused("i64; constants have no more bits"),
            },
            Scalar::Complex(_) => literal.refused(ty),
        }
    }

    /// Reads `dense<…> : tensor<…>`. The type follows the elements but determines how to read them,
    /// so the parser reads the type first.
    pub(super) fn dense(&mut self) -> Read<Attribute> {
        self.tokens.next()?;
        self.open("<")?;
        let elements = self.tokens.clone();
        while !self.tokens.peek().is(">") && self.tokens.peek().kind != TokenKind::End {
            self.tokens.next()?;
        }
        self.close(">")?;
        self.expect(":")?;
        let at = self.tokens.peek().at;
        let ty = self.ty()?;
        if !matches!(ty, Type::Tensor(..) | Type::Vector(..)) {
            return at.fault(format!("dense constants are tensors and vectors, not {ty}"));
        }
        let after = std::mem::replace(&mut self.tokens, elements);
        let bytes = self.elements(&ty)?;
        self.expect(">")?;
        self.tokens = after;
        Ok(Attribute::Dense(ty, bytes))
    }

    /// Reads the elements of a dense constant. The text contains all elements, or one element whose
    /// value all elements have. The text is empty if the type has no elements.
    fn elements(&mut self, ty: &Type) -> Read<Arc<[u8]>> {
        let next = self.tokens.peek();
        let (element, mut bytes) = (ty.element(), Vec::new());
        if next.kind == TokenKind::Text {
            self.tokens.next()?;
            bytes = hexadecimal(next, ty)?;
        } else if next.is("[") {
            self.nested(ty.dims(), element, &mut bytes)?;
        } else if !next.is(">") {
            self.element(element, &mut bytes)?;
        } else if ty.element_count() != Some(0) {
            return next.at.fault(format!("there are no elements for a {ty}"));
        }
        if ty.element_count() == Some(0) {
            bytes.clear();
        }
        Ok(bytes.into())
    }

    /// Reads nested lists of elements, for example `[[a, b], [c, d]]` for dimensions 2 and 2.
    fn nested(&mut self, dims: &[i64], element: Scalar, bytes: &mut Vec<u8>) -> Read {
        let Some((&size, inner)) = dims.split_first() else { return self.element(element, bytes) };
        let (list, mut found) = (self.tokens.peek(), 0);
        self.list("[", "]", |this| {
            found += 1;
            this.nested(inner, element, bytes)
        })?;
        if found != size {
            return list.at.fault(format!("{found} elements where there should be {size}"));
        }
        Ok(())
    }

    fn element(&mut self, ty: Scalar, bytes: &mut Vec<u8>) -> Read {
        if let Scalar::Complex(part) = ty {
            self.open("(")?;
            self.element(Scalar::Float(part), bytes)?;
            self.expect(",")?;
            self.element(Scalar::Float(part), bytes)?;
            return self.close(")");
        }
        let literal = Literal::read(self)?;
        let bits = match ty {
            Scalar::Float(float) => u128::from(literal.float(float)?),
            _ => literal.integer(ty)? as u128 & u128::MAX >> (128 - ty.bits()),
        };
        bytes.extend(&bits.to_le_bytes()[..ty.byte_size()]);
        Ok(())
    }
}

/// Reads text that states the bytes of the elements in memory, for example `"0x0102"`. MLIR packs
/// eight booleans into a byte.
fn hexadecimal(token: Token<'_>, ty: &Type) -> Read<Vec<u8>> {
    let text = unquoted(token)?;
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() % 2 == 0);
    let pairs = digits.map(|digits| digits.as_bytes().chunks_exact(2));
    let bytes: Option<Vec<u8>> = pairs.and_then(|mut pairs| pairs.try_fold(Vec::new(), push_byte));
    let Some(mut bytes) = bytes else { return token.at.fault("expected bytes in hexadecimal, as `\"0x0A0B\"`") };
    let (element, count) = (ty.element(), ty.element_count());
    if element == Scalar::I1 {
        return match (&bytes[..], count) {
            ([all @ (0 | 0xff)], _) => Ok(vec![all & 1]),
            (_, Some(count)) if bytes.len() == count.div_ceil(8) => {
                Ok((0..count).map(|bit| bytes[bit / 8] >> (bit % 8) & 1).collect())
            }
            _ => token.at.fault(format!("{} bytes do not make a {ty}", bytes.len())),
        };
    }
    let size = element.byte_size();
    if bytes.len() != size && Some(bytes.len()) != count.and_then(|count| count.checked_mul(size)) {
        return token.at.fault(format!("{} bytes do not make a {ty}", bytes.len()));
    }
    element.clear_unused_bits(&mut bytes);
    Ok(bytes)
}

fn push_byte(mut bytes: Vec<u8>, pair: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    bytes.push((digit(pair[0])? * 16 + digit(pair[1])?) as u8);
    Some(bytes)
}
