//! Parses the textual form of expressions and maps.

use std::str::FromStr;

use super::text::{Names, default_name, default_variable, is_free_name, variables};
use super::{Constraint, Expr, ExprKind, IndexingMap, Interval, Variable};

/// Largest depth of an expression. The parser rejects deeper expressions, because every later stage
/// recurses over expressions.
pub const MAX_DEPTH: u32 = 200;
/// Largest number of variables of each kind, and largest number of constraints. The parser rejects
/// larger maps, because later stages compare each variable or constraint with all others.
pub const MAX_VARIABLES: usize = 1024;

/// The reason why a text cannot be read as an expression or a map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("indexing map, byte {offset}: {message}")]
pub struct TextError {
    /// Byte offset of the fault.
    pub offset: usize,
    /// Description of the fault.
    pub message: String,
}

impl FromStr for Expr {
    type Err = TextError;

    /// Parses an expression over `d<i>`, `s<i>`, `rt<i>`. Builds the expression as written, without
    /// folding.
    fn from_str(text: &str) -> Result<Expr, TextError> {
        let mut parser = Parser { text, position: 0, depth: 0, names: None };
        let expr = parser.sum()?;
        parser.end()?;
        Ok(expr)
    }
}

impl FromStr for IndexingMap {
    type Err = TextError;

    fn from_str(text: &str) -> Result<IndexingMap, TextError> {
        let mut parser = Parser { text, position: 0, depth: 0, names: Some(Names::default()) };
        let map = parser.map()?;
        parser.end()?;
        Ok(map)
    }
}

impl IndexingMap {
    /// Parses the textual form of a map.
    ///
    /// # Errors
    /// Fails if the text is malformed, names an unknown variable, or lacks bounds of a variable.
    pub fn parse(text: &str) -> Result<IndexingMap, TextError> {
        text.parse()
    }
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: u32,
    /// Variable names of a map. An expression without a map has only default names.
    names: Option<Names>,
}

impl<'a> Parser<'a> {
    fn map(&mut self) -> Result<IndexingMap, TextError> {
        let dims = self.group('(', ')', ExprKind::Dim)?;
        let ranges = if self.peek() == Some('[') { self.group('[', ']', ExprKind::Range)? } else { Vec::new() };
        let runtime = if self.peek() == Some('{') { self.group('{', '}', ExprKind::Runtime)? } else { Vec::new() };
        self.expect("->")?;
        let results = self.results()?;
        let mut map = IndexingMap { dims, ranges, runtime, results, constraints: Vec::new() };
        let bounded = self.domain(&mut map)?;
        let unbounded = variables(&map).map(|(kind, _)| kind).find(|kind| !bounded.contains(kind));
        match unbounded {
            Some(kind) => {
                let names = self.names.take().unwrap_or_default();
                let name = names.0.iter().find(|(_, k)| *k == kind).map_or("", |(name, _)| name);
                Err(self.error(&format!("no bounds for {name}; write `, domain: {name} in [0, …]`")))
            }
            None => Ok(map),
        }
    }

    fn group(&mut self, open: char, close: char, kind: fn(u32) -> ExprKind) -> Result<Vec<Variable>, TextError> {
        let mut list = Vec::new();
        self.expect(open.encode_utf8(&mut [0; 4]))?;
        while !self.accept(close.encode_utf8(&mut [0; 4])) {
            if !list.is_empty() {
                self.expect(",")?;
            }
            if list.len() >= MAX_VARIABLES {
                return Err(self.error(&format!("more than {MAX_VARIABLES} variables")));
            }
            let start = self.position;
            let name = self.word()?;
            let variable = kind(list.len() as u32);
            let own = is_free_name(name);
            if !own && name != default_name(&variable) {
                let message =
                    format!("`{name}` cannot name this variable; its default name is {}", default_name(&variable));
                return Err(TextError { offset: start, message });
            }
            let names = self.names.get_or_insert_default();
            if names.find(name).is_some() {
                return Err(TextError { offset: start, message: format!("`{name}` names two variables") });
            }
            names.0.push((name.into(), variable));
            list.push(Variable { bounds: Interval::EMPTY, name: if own { name.into() } else { String::new() } });
        }
        Ok(list)
    }

    fn results(&mut self) -> Result<Vec<Expr>, TextError> {
        let mut results = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            if !results.is_empty() {
                self.expect(",")?;
            }
            results.push(self.sum()?);
        }
        Ok(results)
    }

    /// Reads the domain of a map: sets bounds and adds constraints. Returns the variables that have
    /// bounds.
    fn domain(&mut self, map: &mut IndexingMap) -> Result<Vec<ExprKind>, TextError> {
        let mut bounded = Vec::new();
        if !self.accept(",") {
            return Ok(bounded);
        }
        self.expect("domain")?;
        self.expect(":")?;
        loop {
            let expr = self.sum()?;
            self.expect("in")?;
            let bounds = self.interval()?;
            let variable = match expr.kind() {
                kind if bounded.contains(kind) => None,
                ExprKind::Dim(i) => map.dims.get_mut(*i as usize),
                ExprKind::Range(i) => map.ranges.get_mut(*i as usize),
                ExprKind::Runtime(i) => map.runtime.get_mut(*i as usize),
                _ => None,
            };
            match variable {
                Some(variable) => {
                    variable.bounds = bounds;
                    bounded.push(expr.kind().clone());
                }
                None if map.constraints.len() >= MAX_VARIABLES => {
                    return Err(self.error(&format!("more than {MAX_VARIABLES} constraints")));
                }
                None => map.constraints.push(Constraint { expr, bounds }),
            }
            if !self.accept(",") {
                return Ok(bounded);
            }
        }
    }

    fn interval(&mut self) -> Result<Interval, TextError> {
        self.expect("[")?;
        let lower = self.signed()?;
        self.expect(",")?;
        let upper = self.signed()?;
        self.expect("]")?;
        Ok(Interval::new(lower, upper))
    }

    fn sum(&mut self) -> Result<Expr, TextError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        let mut sum = self.product()?;
        loop {
            let term = if self.accept("+") {
                self.product()?
            } else if self.peek() == Some('-') && !self.rest().starts_with("->") {
                self.expect("-")?;
                negated(self.product()?)
            } else {
                break;
            };
            sum = self.built(ExprKind::Add(sum, term))?;
        }
        self.depth -= 1;
        Ok(sum)
    }

    fn product(&mut self) -> Result<Expr, TextError> {
        let mut product = self.factor()?;
        loop {
            let make = if self.accept("*") {
                ExprKind::Mul
            } else if self.accept_word("floordiv") {
                ExprKind::FloorDiv
            } else if self.accept_word("mod") {
                ExprKind::Mod
            } else {
                return Ok(product);
            };
            let factor = self.factor()?;
            product = self.built(make(product, factor))?;
        }
    }

    fn factor(&mut self) -> Result<Expr, TextError> {
        match self.peek() {
            Some('(') => {
                self.expect("(")?;
                let inner = self.sum()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some('-') if !self.rest()[1..].trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
                self.expect("-")?;
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.error("nested too deeply"));
                }
                let inner = self.factor()?;
                self.depth -= 1;
                Ok(negated(inner))
            }
            Some(c) if c == '-' || c.is_ascii_digit() => Ok(Expr::constant(self.signed()?)),
            _ => self.variable_or_call(),
        }
    }

    fn variable_or_call(&mut self) -> Result<Expr, TextError> {
        let start = self.position;
        let word = self.word()?;
        let make = match word {
            "min" => ExprKind::Min,
            "max" => ExprKind::Max,
            name => {
                let found = match &self.names {
                    Some(names) => names.find(name).cloned(),
                    None => default_variable(name),
                };
                return match found {
                    Some(kind) => Ok(Expr::new(kind)),
                    None => Err(TextError { offset: start, message: format!("unknown variable `{name}`") }),
                };
            }
        };
        self.expect("(")?;
        let a = self.sum()?;
        self.expect(",")?;
        let b = self.sum()?;
        self.expect(")")?;
        self.built(make(a, b))
    }

    fn built(&self, kind: ExprKind) -> Result<Expr, TextError> {
        let expr = Expr::new(kind);
        if expr.depth() > MAX_DEPTH { Err(self.error("expression too long")) } else { Ok(expr) }
    }

    fn signed(&mut self) -> Result<i64, TextError> {
        self.skip_space();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let spaces = rest[sign..].len() - rest[sign..].trim_start().len();
        let digits = rest[sign + spaces..].bytes().take_while(u8::is_ascii_digit).count();
        let number = &rest[sign + spaces..sign + spaces + digits];
        let text = if sign == 1 { format!("-{number}") } else { number.to_owned() };
        match text.parse() {
            Ok(value) => {
                self.position += sign + spaces + digits;
                Ok(value)
            }
            Err(_) => Err(self.error("expected a 64-bit integer")),
        }
    }

    fn word(&mut self) -> Result<&'a str, TextError> {
        self.skip_space();
        let rest = self.rest();
        let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        if length == 0 {
            return Err(self.error("expected a name"));
        }
        self.position += length;
        Ok(&rest[..length])
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let start = self.position;
        if self.word() == Ok(word) {
            return true;
        }
        self.position = start;
        false
    }

    fn accept(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.position += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), TextError> {
        if self.accept(token) { Ok(()) } else { Err(self.error(&format!("expected `{token}`"))) }
    }

    fn end(&mut self) -> Result<(), TextError> {
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { Err(self.error("unexpected text after the end")) }
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.position += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn error(&self, message: &str) -> TextError {
        TextError { offset: self.position, message: message.into() }
    }
}

/// Returns the negated term.
fn negated(term: Expr) -> Expr {
    if let Some(negative) = term.as_constant().and_then(i64::checked_neg) {
        return Expr::constant(negative);
    }
    if let ExprKind::Mul(x, c) = term.kind()
        && let Some(negative) = c.as_constant().and_then(i64::checked_neg)
    {
        return Expr::new(ExprKind::Mul(x.clone(), Expr::constant(negative)));
    }
    Expr::new(ExprKind::Mul(term, Expr::constant(-1)))
}
