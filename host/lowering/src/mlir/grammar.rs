//! What kernel IR looks like, checked before MLIR reads it.
//!
//! MLIR's parser trusts whoever wrote the text: it recurses as deep as the text does, allocates what the text asks for, and
//! hands operations in custom form, types and attributes to parsers of their own. Kernel IR needs little of that. It is a
//! list of operations in generic form, and of everything in it there is a bounded amount:
//!
//! ```text
//! operation   [%a, %b:2 =] "name" (%x, …) [<{…}>] [({ region }, …)] [{ attributes }] : (types) -> types [loc(…)]
//! region      [^label(%a: type, …):] operation …
//! ```
//!
//! This reads that form without recursion, and looks into types and attributes only as far as brackets, numbers and the
//! marks of what may be nested without brackets go. Whether they mean anything is for MLIR to say.

use fusebox_core::plugin::limits;

use super::tokens::{Token, TokenKind, Tokens};
use crate::error::Diagnostic;

/// Attributes of dialects that kernels are made of. Others have parsers of their own.
const DIALECT_ATTRIBUTES: [&str; 4] = ["#gpu", "#arith.fastmath", "#arith.overflow", "#vector.kind"];

type Checked<T = ()> = Result<T, (usize, String)>;

/// Checks the text of a kernel and its functions; `name` stands for the file in the message's place.
pub(super) fn check(name: &str, text: &str) -> Result<(), Diagnostic> {
    let fault = |(offset, message): (usize, String)| Diagnostic { location: place(name, text, offset), message };
    at_most("bytes of text", text.len(), limits::MOST_TEXT_BYTES).map_err(|message| fault((0, message)))?;
    Grammar { tokens: Tokens::of(text), operations: 0 }.functions().map_err(fault)
}

/// `name:line:column`, as MLIR writes it.
fn place(name: &str, text: &str, offset: usize) -> String {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let column = 1 + before.iter().rev().take_while(|&&byte| byte != b'\n').count();
    // The text stands behind what it is wrapped in.
    let column = if line == 1 { column + super::source::PROLOGUE.len() } else { column };
    format!("{name}:{line}:{column}")
}

fn at_most(what: &str, found: usize, most: usize) -> Result<(), String> {
    if found <= most { Ok(()) } else { Err(format!("{found} {what}; kernels have at most {most}")) }
}

struct Grammar<'t> {
    tokens: Tokens<'t>,
    operations: usize,
}

impl<'t> Grammar<'t> {
    fn functions(&mut self) -> Checked {
        // Regions that are open; outside of all are functions.
        let mut open = 0;
        loop {
            let next = self.tokens.peek()?;
            if next.kind == TokenKind::End && open == 0 {
                return Ok(());
            }
            if next.is("}") && open > 0 {
                self.tokens.next()?;
                match self.accept(",")? {
                    true => self.region(open)?,
                    false => {
                        self.expect(")")?;
                        open -= 1;
                        self.end_of_operation()?;
                    }
                }
            } else if self.operation()? {
                open += 1;
                self.region(open)?;
            }
        }
    }

    /// An operation up to its first region, or whole if it has none. Gives whether it has one.
    fn operation(&mut self) -> Checked<bool> {
        self.results()?;
        let name = self.tokens.next()?;
        if name.kind != TokenKind::Text {
            let message = format!(
                "expected an operation in generic form, `\"dialect.operation\"(…)`, found `{}`",
                name.text.chars().take(40).collect::<String>()
            );
            return Err((name.offset, message));
        }
        self.operations += 1;
        at_most("operations", self.operations, limits::MOST_OPERATIONS).map_err(|message| (name.offset, message))?;
        self.balanced("(")?;
        if self.tokens.peek()?.is("<") {
            self.balanced("<")?;
        }
        if self.accept("(")? {
            return Ok(true);
        }
        self.end_of_operation()?;
        Ok(false)
    }

    /// `%a, %b:2 =`
    fn results(&mut self) -> Checked {
        if !self.tokens.peek()?.text.starts_with('%') {
            return Ok(());
        }
        loop {
            let result = self.tokens.next()?;
            if !result.text.starts_with('%') {
                return Err((result.offset, "expected the name of a result".into()));
            }
            if self.accept(":")? {
                let count = self.tokens.next()?;
                check_number(&count)?;
            }
            if !self.accept(",")? {
                return self.expect("=");
            }
        }
    }

    /// Begins a region.
    fn region(&mut self, open: usize) -> Checked {
        let brace = self.tokens.next()?;
        if !brace.is("{") {
            return Err((brace.offset, "expected the `{` of a region".into()));
        }
        at_most("regions within each other", open, limits::MOST_NESTED_REGIONS)
            .map_err(|message| (brace.offset, message))?;
        if self.tokens.peek()?.text.starts_with('^') {
            self.tokens.next()?;
            if self.tokens.peek()?.is("(") {
                self.balanced("(")?;
            }
            self.expect(":")?;
        }
        Ok(())
    }

    /// Attributes, types and location.
    fn end_of_operation(&mut self) -> Checked {
        if self.tokens.peek()?.is("{") {
            self.balanced("{")?;
        }
        self.expect(":")?;
        self.balanced("(")?;
        let arrow = self.tokens.next()?;
        if arrow.kind != TokenKind::Arrow {
            return Err((arrow.offset, "expected the `->` of the operation's type".into()));
        }
        if self.tokens.peek()?.is("(") {
            self.balanced("(")?;
        } else {
            let ty = self.tokens.next()?;
            check_word(&ty)?;
            if ty.kind != TokenKind::Word {
                return Err((ty.offset, "expected a type".into()));
            }
            if self.tokens.peek()?.is("<") {
                self.balanced("<")?;
            }
        }
        if self.tokens.peek()?.text == "loc" {
            self.tokens.next()?;
            self.balanced("(")?;
        }
        Ok(())
    }

    /// Everything from this bracket to the one that closes it.
    fn balanced(&mut self, opening: &str) -> Checked {
        let mut open: Vec<&str> = Vec::new();
        // Where an affine map began, in brackets, and its tokens.
        let mut affine: Option<(usize, usize)> = None;
        loop {
            let token = self.tokens.next()?;
            if open.is_empty() && !token.is(opening) {
                return Err((token.offset, format!("expected `{opening}`")));
            }
            check_word(&token)?;
            match (token.kind, token.text) {
                (TokenKind::End, _) => return Err((token.offset, "the text ends within brackets".into())),
                (TokenKind::Mark, "(" | "[" | "{" | "<") => open.push(closing(token.text)),
                (TokenKind::Mark, ")" | "]" | "}" | ">") if open.pop() != Some(token.text) => {
                    return Err((token.offset, format!("`{}` closes another bracket", token.text)));
                }
                (TokenKind::Word, "affine_map" | "affine_set") => affine = Some((open.len(), 0)),
                _ => {}
            }
            at_most("brackets within each other", open.len(), limits::MOST_NESTED_BRACKETS)
                .map_err(|message| (token.offset, message))?;
            if let Some((outside, tokens)) = &mut affine {
                *tokens += 1;
                at_most("words in an affine map", *tokens, limits::MOST_AFFINE_TOKENS)
                    .map_err(|message| (token.offset, message))?;
                if *tokens > 2 && open.len() <= *outside {
                    affine = None;
                }
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    fn accept(&mut self, mark: &str) -> Checked<bool> {
        let found = self.tokens.peek()?.is(mark);
        if found {
            self.tokens.next()?;
        }
        Ok(found)
    }

    fn expect(&mut self, mark: &str) -> Checked {
        let token = self.tokens.next()?;
        if token.is(mark) { Ok(()) } else { Err((token.offset, format!("expected `{mark}`"))) }
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

/// What single words may be.
fn check_word(token: &Token<'_>) -> Checked {
    match token.kind {
        TokenKind::Word => check_digits(token),
        TokenKind::Marked if token.text.starts_with('!') => {
            Err((token.offset, format!("the type `{}` is not part of the kernel IR", token.text)))
        }
        // `#3` behind a value is the number of a result.
        TokenKind::Marked if token.text.starts_with('#') => match token.text[1..].parse::<u64>() {
            Ok(_) => check_number(&Token { text: &token.text[1..], ..*token }),
            Err(_) if DIALECT_ATTRIBUTES.contains(&token.text) => Ok(()),
            Err(_) => Err((token.offset, format!("the attribute `{}` is not part of the kernel IR", token.text))),
        },
        _ => Ok(()),
    }
}

fn check_digits(token: &Token<'_>) -> Checked {
    let hexadecimal = token.text.starts_with("0x");
    let digit = |byte: &u8| if hexadecimal { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    let longest = token.text.as_bytes().split(|byte| !digit(byte)).map(<[u8]>::len).max().unwrap_or(0);
    at_most("digits of a number", longest, limits::MOST_DIGITS).map_err(|message| (token.offset, message))
}

/// A number of results.
fn check_number(token: &Token<'_>) -> Checked {
    match token.text.parse::<u32>() {
        Ok(number) if number <= limits::MOST_RESULTS => Ok(()),
        _ => Err((token.offset, format!("`{}` results; operations have at most {}", token.text, limits::MOST_RESULTS))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        check("k", text).unwrap_err().to_string()
    }

    const FUNCTION: &str = r#"
"func.func"() ({
^bb0(%0: tensor<4x2xf32>, %1: index):
  %2, %3:2 = "a.b"(%0, %3#1) <{x = "}\" {", y = #gpu<dim x>}> ({
  }, {
    "xla_gpu.yield"() : () -> () loc("here")
  }) {fastmath = #arith.fastmath<nnan>, m = affine_map<(d0, d1) -> (d1)>} : (tensor<4xf32>, index) -> (f32, f32)
  // a comment with { and (
  %4 = "arith.constant"() {value = -1.500000e-03 : f32} : () -> complex<f32>
}) {sym_name = "f", fusebox.entry} : () -> ()
"#;

    #[test]
    fn kernels_are_of_this_form() {
        check("k", FUNCTION).unwrap();
        check("k", "").unwrap();
        check("k", &FUNCTION.repeat(3)).unwrap();
    }

    #[test]
    fn other_forms_are_refused_at_their_place() {
        for (text, expected) in [
            ("\narith.constant 1 : i32", "k:2:1: expected an operation in generic form"),
            ("} \"a\"() : () -> ()", "generic form"),
            ("\"a\"() : () -> (", "ends within brackets"),
            ("\"a\"(}) : () -> ()", "`}` closes another bracket"),
            ("\"a\"", "expected `(`"),
            ("\"a", "does not end"),
            ("\"a\"() : () -> !x.y<!x.y<i1>>", "the type `!x.y`"),
            ("\"a\"() {a = #map} : () -> ()", "the attribute `#map`"),
            ("#map = affine_map<(d0) -> (d0)>", "generic form"),
            ("\"a\"() ({ ^a: \"b\"() : () -> () ^b: }) : () -> ()", "generic form"),
            ("\"a\"()[^a] : () -> ()", "expected `:`"),
            ("\"a\"() : () -> i32 \u{e9}", "not part of the kernel IR"),
        ] {
            assert!(complaint(text).contains(expected), "{text}: {}", complaint(text));
        }
    }

    #[test]
    fn there_is_a_bounded_amount_of_everything() {
        let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
        let regions = nested("\"a\"() ({", "}) : () -> ()", 200_000);
        assert!(complaint(&regions).contains("65 regions within each other; kernels have at most 64"));
        check("k", &nested("\"a\"() ({", "}) : () -> ()", 64)).unwrap();

        let attribute = |value: &str| complaint(&format!("\"a\"() {{b = {value}}} : () -> ()"));
        for value in [nested("[", "]", 100_000), nested("tensor<", ">", 1000), nested("{a = ", "}", 1000)] {
            assert!(attribute(&value).contains("brackets within each other"), "{}", attribute(&value));
        }
        for sum in ["d0 + ".repeat(1000), "-".repeat(1000), "d0 * ".repeat(1000)] {
            let map = attribute(&format!("affine_map<(d0) -> ({sum}d0)>"));
            assert!(map.contains("words in an affine map"), "{map}");
        }
        assert!(attribute(&"1".repeat(1000)).contains("1000 digits of a number"));
        assert!(complaint("\"a\"(%0#4294967295) : () -> ()").contains("`4294967295` results"));
        assert!(complaint("%0:4000000000 = \"a\"() : () -> ()").contains("`4000000000` results"));
    }
}
