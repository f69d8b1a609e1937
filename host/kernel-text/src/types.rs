//! Parses types: `index`, `i32`, `f32`, `complex<f32>`, `tensor<4x8xf32>`, `vector<4xf32>`,
//! `!amx.tile<16x32xbf16>`, `!llvm.ptr<3>`.

use super::tokens::{Read, Token, TokenKind};
use super::{Parser, at_most};
use fusebox_core::ir::{Float, Scalar, Type};
use fusebox_core::plugin::limits;

impl<'t> Parser<'t> {
    /// Reads a signature, for example `(f32, index) -> f32`.
    pub(super) fn signature(&mut self) -> Read<(Vec<Type>, Vec<Type>)> {
        let operands = self.types()?;
        self.arrow()?;
        Ok((operands, self.result_types()?))
    }

    pub(super) fn arrow(&mut self) -> Read {
        let arrow = self.tokens.next()?;
        if arrow.kind != TokenKind::Arrow {
            return arrow.at.fault(format!("expected the `->` of the operation's type, found {}", arrow.quoted()));
        }
        Ok(())
    }

    /// Reads one type, or several types in parentheses.
    pub(super) fn result_types(&mut self) -> Read<Vec<Type>> {
        if self.tokens.peek().is("(") { self.types() } else { Ok(vec![self.ty()?]) }
    }

    fn types(&mut self) -> Read<Vec<Type>> {
        let mut types = Vec::new();
        self.list("(", ")", |this| {
            types.push(this.ty()?);
            Ok(())
        })?;
        Ok(types)
    }

    pub(super) fn ty(&mut self) -> Read<Type> {
        let name = self.tokens.next()?;
        let ty = match (name.kind, name.text) {
            (TokenKind::Word, "tensor") => {
                let (dims, element) = self.shape()?;
                Type::tensor(&dims, element)
            }
            (TokenKind::Word, "vector") => {
                let (dims, element) = self.shape()?;
                Type::vector(&dims, element)
            }
            (TokenKind::Word, text) => self.scalar(name, text)?.into(),
            (TokenKind::Marked, "!amx.tile") => {
                let (dims, element) = self.shape()?;
                let dims =
                    name.known(dims.try_into().ok(), || "a tile has two dimensions, as in `16x32xbf16`".into())?;
                Type::tile(dims, element)
            }
            (TokenKind::Marked, "!llvm.ptr") => Type::Pointer(self.address_space()?),
            (TokenKind::Marked, text) if text.starts_with('!') => return unknown(name, text),
            _ => return name.at.fault(format!("expected a type, found {}", name.quoted())),
        };
        match ty.check() {
            Ok(()) => Ok(ty),
            Err(reason) => name.at.fault(format!("the type is that of a value {reason}")),
        }
    }

    fn address_space(&mut self) -> Read<u32> {
        if !self.tokens.peek().is("<") {
            return Ok(0);
        }
        self.open("<")?;
        let space = self.tokens.next()?;
        let number = space.known(space.text.parse().ok(), || "expected the number of an address space".into())?;
        self.close(">")?;
        Ok(number)
    }

    /// Reads dimensions and element type, for example `<4x8xf32>`.
    fn shape(&mut self) -> Read<(Vec<i64>, Scalar)> {
        self.open("<")?;
        let word = self.tokens.next()?;
        if word.kind != TokenKind::Word {
            return word.at.fault("the sizes of tensors and vectors are numbers, as in `4x8xf32`");
        }
        let mut dims = Vec::new();
        let mut rest = word.text;
        while rest.starts_with(|first: char| first.is_ascii_digit()) {
            let (digits, inner) =
                word.known(rest.split_once('x'), || format!("expected the element's type after `{rest}x`"))?;
            at_most(word, "digits of a number", digits.len(), limits::MOST_DIGITS)?;
            dims.push(word.known(digits.parse().ok(), || format!("`{digits}` is no size of a tensor"))?);
            rest = inner;
        }
        let element = self.scalar(word, rest)?;
        self.close(">")?;
        Ok((dims, element))
    }

    /// Reads the scalar type with this name. For `complex`, also reads the type of the parts, which
    /// follows the name.
    fn scalar(&mut self, word: Token<'t>, name: &str) -> Read<Scalar> {
        if name == "complex" {
            self.open("<")?;
            let part = self.tokens.next()?;
            let float = part.known(Float::of_name(part.text), || "the parts of a complex number are floats".into())?;
            self.close(">")?;
            return Ok(Scalar::Complex(float));
        }
        if let Some(bits) = name.strip_prefix('i')
            && !bits.starts_with(['0', '+'])
            && let Ok(bits) = bits.parse()
        {
            return Ok(Scalar::Int(bits));
        }
        match Float::of_name(name) {
            Some(float) => Ok(Scalar::Float(float)),
            None if name == "index" => Ok(Scalar::Index),
            None => unknown(word, name),
        }
    }
}

fn unknown<T>(word: Token<'_>, name: &str) -> Read<T> {
    let name: String = name.chars().take(40).collect();
    word.at.fault(format!("the type `{name}` is not part of the kernel IR"))
}
