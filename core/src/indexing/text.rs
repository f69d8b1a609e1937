//! The textual form of expressions and maps.
//!
//! ```text
//! (th, bl)[s0]{rt0} -> ((bl * 128 + th) floordiv 8, s0 + rt0),
//!   domain: th in [0, 127], bl in [0, 7], s0 in [0, 3], rt0 in [0, 4], bl * 128 + th in [0, 999]
//! ```
//!
//! on one line. A name stands for its variable everywhere; `d<i>`, `s<i>`, `rt<i>` are the names of
//! variables without one. The first interval of a variable is its bounds, all others are constraints.
//! Printing and parsing are inverse to each other.

use std::fmt::{self, Write};
use std::str::FromStr;

use super::{Constraint, Expr, ExprKind, IndexingMap, Interval, Variable};

/// Deeper expressions are rejected: every later stage recurses over them.
const MAX_DEPTH: u32 = 200;

/// Why a text is not an expression or map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("indexing map, byte {offset}: {message}")]
pub struct TextError {
    /// Where, counted in bytes from the start.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

/// The names of a map's variables.
#[derive(Default)]
struct Names(Vec<(String, ExprKind)>);

impl Names {
    /// Names to print: a variable's own one if it is a fresh identifier, else the default one.
    fn of(map: &IndexingMap) -> Names {
        let mut names = Names::default();
        for (kind, variable) in variables(map) {
            let own = is_free_name(&variable.name) && names.find(&variable.name).is_none();
            let name = if own { variable.name.clone() } else { default_name(&kind) };
            names.0.push((name, kind));
        }
        names
    }

    fn find(&self, name: &str) -> Option<&ExprKind> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, kind)| kind)
    }

    fn write(&self, f: &mut impl Write, leaf: &ExprKind) -> fmt::Result {
        match self.0.iter().find(|(_, kind)| kind == leaf) {
            Some((name, _)) => f.write_str(name),
            None => f.write_str(&default_name(leaf)),
        }
    }
}

/// Every variable of a map with the expression that names it.
fn variables(map: &IndexingMap) -> impl Iterator<Item = (ExprKind, &Variable)> {
    fn group(list: &[Variable], kind: fn(u32) -> ExprKind) -> impl Iterator<Item = (ExprKind, &Variable)> {
        list.iter().enumerate().map(move |(i, variable)| (kind(i as u32), variable))
    }
    group(&map.dims, ExprKind::Dim)
        .chain(group(&map.ranges, ExprKind::Range))
        .chain(group(&map.runtime, ExprKind::Runtime))
}

fn default_name(leaf: &ExprKind) -> String {
    match leaf {
        ExprKind::Dim(i) => format!("d{i}"),
        ExprKind::Range(i) => format!("s{i}"),
        ExprKind::Runtime(i) => format!("rt{i}"),
        _ => String::new(),
    }
}

/// The variable whose default name this is.
fn default_variable(name: &str) -> Option<ExprKind> {
    let number = |prefix: &str| {
        let digits = name.strip_prefix(prefix)?;
        let number: u32 = digits.parse().ok()?;
        (number.to_string() == digits).then_some(number)
    };
    number("rt")
        .map(ExprKind::Runtime)
        .or_else(|| number("d").map(ExprKind::Dim))
        .or_else(|| number("s").map(ExprKind::Range))
}

/// Whether a variable may be printed under this name.
fn is_free_name(name: &str) -> bool {
    let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let keyword = matches!(name, "floordiv" | "mod" | "min" | "max" | "in" | "domain");
    word && starts && !keyword && default_variable(name).is_none()
}

/// How tightly the surroundings of an expression bind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Top,
    RightOfPlus,
    Factor,
}

fn write_expr(f: &mut impl Write, expr: &Expr, names: &Names, context: Context) -> fmt::Result {
    let parenthesised = match expr.kind() {
        ExprKind::Add(..) => context != Context::Top,
        ExprKind::Mul(..) | ExprKind::FloorDiv(..) | ExprKind::Mod(..) => context == Context::Factor,
        _ => false,
    };
    if parenthesised {
        f.write_char('(')?;
    }
    match expr.kind() {
        ExprKind::Constant(value) => write!(f, "{value}")?,
        ExprKind::Add(a, b) => write_sum(f, a, b, names)?,
        ExprKind::Mul(a, b) => write_binary(f, a, " * ", b, names)?,
        ExprKind::FloorDiv(a, b) => write_binary(f, a, " floordiv ", b, names)?,
        ExprKind::Mod(a, b) => write_binary(f, a, " mod ", b, names)?,
        ExprKind::Min(a, b) => write_call(f, "min", a, b, names)?,
        ExprKind::Max(a, b) => write_call(f, "max", a, b, names)?,
        leaf => names.write(f, leaf)?,
    }
    if parenthesised { f.write_char(')') } else { Ok(()) }
}

/// `a + b`, as a difference where the right side is negative and the parser makes the same of it.
fn write_sum(f: &mut impl Write, a: &Expr, b: &Expr, names: &Names) -> fmt::Result {
    write_expr(f, a, names, Context::Top)?;
    if let Some(value) = b.as_constant()
        && value < 0
        && value != i64::MIN
    {
        return write!(f, " - {}", -value);
    }
    if let ExprKind::Mul(x, c) = b.kind()
        && let Some(c) = c.as_constant()
        && c < 0
        && c != i64::MIN
    {
        if c < -1 {
            f.write_str(" - ")?;
            return write_binary(f, x, " * ", &Expr::constant(-c), names);
        }
        if !matches!(x.kind(), ExprKind::Mul(..) | ExprKind::Constant(_)) {
            f.write_str(" - ")?;
            return write_expr(f, x, names, Context::RightOfPlus);
        }
    }
    f.write_str(" + ")?;
    write_expr(f, b, names, Context::RightOfPlus)
}

fn write_binary(f: &mut impl Write, a: &Expr, symbol: &str, b: &Expr, names: &Names) -> fmt::Result {
    write_expr(f, a, names, Context::Factor)?;
    f.write_str(symbol)?;
    write_expr(f, b, names, Context::Factor)
}

fn write_call(f: &mut impl Write, name: &str, a: &Expr, b: &Expr, names: &Names) -> fmt::Result {
    write!(f, "{name}(")?;
    write_expr(f, a, names, Context::Top)?;
    f.write_str(", ")?;
    write_expr(f, b, names, Context::Top)?;
    f.write_char(')')
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_expr(f, self, &Names::default(), Context::Top)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.expr, self.bounds)
    }
}

impl fmt::Display for IndexingMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names::of(self);
        let (dims, rest) = names.0.split_at(self.dims.len());
        let (ranges, runtime) = rest.split_at(self.ranges.len());
        write_group(f, dims, '(', ')')?;
        if !ranges.is_empty() {
            write_group(f, ranges, '[', ']')?;
        }
        if !runtime.is_empty() {
            write_group(f, runtime, '{', '}')?;
        }
        f.write_str(" -> (")?;
        for (i, result) in self.results.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            write_expr(f, result, &names, Context::Top)?;
        }
        f.write_char(')')?;
        let mut separator = ", domain: ";
        for ((name, _), (_, variable)) in names.0.iter().zip(variables(self)) {
            write!(f, "{separator}{name} in {}", variable.bounds)?;
            separator = ", ";
        }
        for constraint in &self.constraints {
            f.write_str(separator)?;
            write_expr(f, &constraint.expr, &names, Context::Top)?;
            write!(f, " in {}", constraint.bounds)?;
            separator = ", ";
        }
        Ok(())
    }
}

fn write_group(f: &mut impl Write, names: &[(String, ExprKind)], open: char, close: char) -> fmt::Result {
    f.write_char(open)?;
    for (i, (name, _)) in names.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        f.write_str(name)?;
    }
    f.write_char(close)
}

impl FromStr for Expr {
    type Err = TextError;

    /// Over `d<i>`, `s<i>`, `rt<i>`. The expression is built as written: nothing is folded.
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
    /// The names under which the variables are printed: dimensions, ranges, runtime.
    pub fn variable_names(&self) -> Vec<String> {
        Names::of(self).0.into_iter().map(|(name, _)| name).collect()
    }

    /// Reads the textual form.
    ///
    /// # Errors
    /// If the text is malformed, names an unknown variable, or lacks bounds of a variable.
    pub fn parse(text: &str) -> Result<IndexingMap, TextError> {
        text.parse()
    }
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: u32,
    /// Of a map; an expression alone has only default names.
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

    /// Fills in bounds and constraints; returns the variables that have bounds.
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

/// What a minus sign makes of a term.
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
