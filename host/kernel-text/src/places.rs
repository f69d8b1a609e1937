//! Parses the origins of operations: `loc("instruction"("file":1:2))`.

use std::sync::Arc;

use super::Parser;
use super::tokens::{Read, Token, TokenKind, unquoted};
use fusebox_core::ir::Place;

impl<'t> Parser<'t> {
    /// Reads the origin of an operation, if present. If the text states no origin, returns the
    /// position of the token `name` in the text.
    pub(super) fn place(&mut self, name: Token<'t>) -> Read<Place> {
        if !self.tokens.peek().is_word("loc") {
            let source = Some((self.file.clone(), name.at.line, name.at.column));
            return Ok(Place { instruction: None, source });
        }
        self.tokens.next()?;
        self.open("(")?;
        let place = self.location()?;
        self.close(")")?;
        Ok(place)
    }

    fn location(&mut self) -> Read<Place> {
        let token = self.tokens.next()?;
        match (token.kind, token.text) {
            (TokenKind::Word, "unknown") => Ok(Place::default()),
            (TokenKind::Word, "fused") => self.fused(),
            (TokenKind::Word, "callsite") => self.call_site(),
            (TokenKind::Text, _) => {
                let text = unquoted(token)?;
                if self.accept(":")? {
                    let line = self.number_in_file()?;
                    self.expect(":")?;
                    let column = self.number_in_file()?;
                    return Ok(Place { instruction: None, source: Some((text.into(), line, column)) });
                }
                let instruction = Some(self.instruction(text));
                if !self.tokens.peek().is("(") {
                    return Ok(Place { instruction, source: None });
                }
                self.open("(")?;
                let inner = self.location()?;
                self.close(")")?;
                Ok(Place { instruction, source: inner.source })
            }
            _ => {
                token.at.fault("expected a location: a name or file in quotes, `fused[…]`, `callsite(…)` or `unknown`")
            }
        }
    }

    /// Reads `fused["a", "file":1:2]`. Returns the first instruction and the first source in the
    /// list.
    fn fused(&mut self) -> Read<Place> {
        let mut place = Place::default();
        if self.tokens.peek().is("<") {
            self.open("<")?;
            self.attribute()?;
            self.close(">")?;
        }
        self.list("[", "]", |this| {
            let next = this.location()?;
            place.instruction = place.instruction.take().or(next.instruction);
            place.source = place.source.take().or(next.source);
            Ok(())
        })?;
        Ok(place)
    }

    /// Reads `callsite("a" at "caller")`. Returns the first location, which is in the function that
    /// was inlined.
    fn call_site(&mut self) -> Read<Place> {
        self.open("(")?;
        let place = self.location()?;
        let at = self.tokens.next()?;
        if !at.is_word("at") {
            return at.at.fault(format!("expected `at`, found {}", at.quoted()));
        }
        self.location()?;
        self.close(")")?;
        Ok(place)
    }

    fn number_in_file(&mut self) -> Read<u32> {
        let number = self.tokens.next()?;
        number.known(number.text.parse().ok(), || "expected the number of a line or column".into())
    }

    fn instruction(&mut self, name: String) -> Arc<str> {
        if let Some(known) = self.instructions.get(&name) {
            return known.clone();
        }
        let instruction: Arc<str> = name.as_str().into();
        self.instructions.insert(name, instruction.clone());
        instruction
    }
}
