//! Parses attributes other than numbers and dense constants.

use std::borrow::Cow;

use super::literals::Literal;
use super::tokens::{Read, Token, TokenKind, unquoted};
use super::{Attributes, Parser, at_most};
use fusebox_core::ir::{Attribute, Combination, FastMath, Scalar};
use fusebox_core::plugin::limits;

/// Names of the kernel IR's attributes, as static strings, so that the parser need not allocate
/// strings for them.
const NAMES: [&str; 11] = [
    "value",
    "predicate",
    "fastmath",
    "callee",
    "map",
    "unroll",
    "dimension",
    "in_bounds",
    "operandSegmentSizes",
    "permutation_map",
    "static_position",
];

impl<'t> Parser<'t> {
    /// Reads `<{a = 1, b}>`, if present.
    pub(super) fn properties(&mut self) -> Read<Attributes> {
        let mut attributes = Vec::new();
        if self.tokens.peek().is("<") {
            self.open("<")?;
            self.dictionary(&mut attributes)?;
            self.close(">")?;
        }
        Ok(attributes)
    }

    pub(super) fn dictionary_if_any(&mut self, attributes: &mut Attributes) -> Read {
        if self.tokens.peek().is("{") { self.dictionary(attributes) } else { Ok(()) }
    }

    /// Reads `{a = 1, b}`.
    fn dictionary(&mut self, entries: &mut Attributes) -> Read {
        self.list("{", "}", |this| {
            let key = this.tokens.next()?;
            let name: Cow<'static, str> = match key.kind {
                TokenKind::Text => unquoted(key)?.into(),
                TokenKind::Word => match NAMES.iter().find(|&&known| known == key.text) {
                    Some(&known) => known.into(),
                    None => key.text.to_owned().into(),
                },
                _ => return key.at.fault("expected the name of an attribute"),
            };
            // An operation has few attributes, so a linear search suffices.
            if entries.iter().any(|(known, _)| *known == name) {
                return key.at.fault(format!("there are two attributes `{name}`"));
            }
            at_most(key, "attributes of one operation", entries.len() + 1, limits::MOST_ATTRIBUTES)?;
            if !this.accept("=")? {
                entries.push((name, Attribute::Unit));
            } else if name == "function_type" && this.function_type.is_none() {
                this.function_type = Some(this.signature()?);
            } else {
                entries.push((name, this.attribute()?));
            }
            Ok(())
        })
    }

    pub(super) fn attribute(&mut self) -> Read<Attribute> {
        let token = self.tokens.peek();
        match (token.kind, token.text) {
            (TokenKind::Text, _) => {
                self.tokens.next()?;
                Ok(Attribute::Str(unquoted(token)?))
            }
            (TokenKind::Marked, text) if text.starts_with('@') => {
                self.tokens.next()?;
                symbol(token)
            }
            (TokenKind::Marked, text) if text.starts_with('#') => self.dialect_attribute(),
            (TokenKind::Mark, "[") => {
                let mut values = Vec::new();
                self.list("[", "]", |this| {
                    values.push(this.attribute()?);
                    Ok(())
                })?;
                Ok(Attribute::Array(values))
            }
            (TokenKind::Mark, "{") => {
                let mut entries = Vec::new();
                self.dictionary(&mut entries)?;
                Ok(Attribute::Dictionary(entries))
            }
            (TokenKind::Word, "unit") => {
                self.tokens.next()?;
                Ok(Attribute::Unit)
            }
            (TokenKind::Word, "array") => self.numbers(),
            (TokenKind::Word, "dense") => self.dense(),
            (TokenKind::Word, "affine_map") => {
                self.tokens.next()?;
                self.raw(token)
            }
            (TokenKind::Word, "true" | "false") => self.number(),
            (TokenKind::Word, text) if text.starts_with(|first: char| first.is_ascii_digit()) => self.number(),
            (TokenKind::Mark, "-") => self.number(),
            (TokenKind::Word, _) | (TokenKind::Marked, _) => Ok(Attribute::Type(self.ty()?)),
            _ => token.at.fault(format!("expected an attribute, found {}", token.quoted())),
        }
    }

    /// Reads an attribute of a dialect, for example `#gpu<dim x>`.
    fn dialect_attribute(&mut self) -> Read<Attribute> {
        let name = self.tokens.next()?;
        match name.text {
            "#gpu" | "#arith.overflow" => self.raw(name),
            "#arith.fastmath" => {
                let mut flags = FastMath::NONE;
                self.list("<", ">", |this| {
                    let flag = this.tokens.next()?;
                    let known = FastMath::of_name(flag.text);
                    flags = flags | flag.known(known, || format!("there is no fast-math flag {}", flag.quoted()))?;
                    Ok(())
                })?;
                Ok(Attribute::FastMath(flags))
            }
            "#vector.kind" => {
                self.open("<")?;
                let kind = self.tokens.next()?;
                let combination = Combination::of_name(kind.text);
                let combination =
                    kind.known(combination, || format!("vectors are not reduced by {}", kind.quoted()))?;
                self.close(">")?;
                Ok(Attribute::Combination(combination))
            }
            _ => name.at.fault(format!("the attribute {} is not part of the kernel IR", name.quoted())),
        }
    }

    /// Returns the text from the token `first` to the end of the brackets that follow it. The
    /// caller has already consumed `first`.
    fn raw(&mut self, first: Token<'t>) -> Read<Attribute> {
        let mut open: Vec<&str> = Vec::new();
        let mut words = 0;
        loop {
            let token = self.tokens.peek();
            if open.is_empty() && !token.is("<") {
                return token.at.fault(format!("expected `<`, found {}", token.quoted()));
            }
            match (token.kind, token.text) {
                (TokenKind::Mark, "(" | "[" | "{" | "<") => open.push(closing(token.text)),
                (TokenKind::Mark, ")" | "]" | "}" | ">") if open.pop() != Some(token.text) => {
                    return token.at.fault(format!("{} closes another bracket", token.quoted()));
                }
                (TokenKind::End, _) => return token.at.fault("the text ends within brackets"),
                _ => {}
            }
            words += 1;
            at_most(token, "nested brackets", open.len(), limits::MOST_NESTED_BRACKETS)?;
            at_most(token, "words in an affine map", words, limits::MOST_AFFINE_TOKENS)?;
            let last = self.tokens.next()?;
            if open.is_empty() {
                return Ok(Attribute::Raw(self.tokens.between(first, last).to_owned()));
            }
        }
    }

    /// Reads `array<i64: 1, 2>`.
    fn numbers(&mut self) -> Read<Attribute> {
        self.tokens.next()?;
        self.open("<")?;
        let element = self.tokens.next()?;
        let mut values = Vec::new();
        let bits = match element.text {
            "i64" => Scalar::I64,
            "i32" => Scalar::I32,
            _ => return element.at.fault("arrays of attributes are of i64 or i32"),
        };
        if self.accept(":")? {
            loop {
                let literal = Literal::read(self)?;
                values.push(literal.integer(bits)? as i64);
                if !self.accept(",")? {
                    break;
                }
            }
        }
        self.close(">")?;
        Ok(match bits {
            Scalar::I64 => Attribute::I64Array(values),
            // The numbers were read as i32, so the conversion loses nothing.
            _ => Attribute::I32Array(values.into_iter().map(|value| value as i32).collect()),
        })
    }
}

fn closing(opening: &str) -> &'static str {
    match opening {
        "(" => ")",
        "[" => "]",
        "{" => "}",
        _ => ">",
    }
}

/// Reads a symbol, `@name` or `@"name"`.
fn symbol(token: Token<'_>) -> Read<Attribute> {
    let name = &token.text[1..];
    if name.starts_with('"') {
        return Ok(Attribute::Symbol(unquoted(Token { text: name, ..token })?));
    }
    if name.is_empty() {
        token.at.fault("expected the name of a function after `@`")
    } else {
        Ok(Attribute::symbol(name))
    }
}
