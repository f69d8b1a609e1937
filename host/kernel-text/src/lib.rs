//! Parses functions of the kernel IR in MLIR's generic text form. Emitters that are linked into the
//! host return functions as data. Plugins return text, which only the host parses.
//!
//! ```text
//! function    "func.func"() ({ region }) { attributes } : () -> ()
//! operation   [%a, %b:2 =] "name" (%x, …) [<{…}>] [({ region }, …)] [{ attributes }] : (types) -> types [loc(…)]
//! region      [^label(%a: type, …):] operation …
//! ```
//!
//! The parser returns functions or an error for any text. The [`limits`] bound the size of all
//! parts of the text, and the depth of recursion.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attributes;
mod literals;
mod places;
mod tokens;
mod types;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use self::tokens::{Read, Token, TokenKind, Tokens};
use fusebox_core::indexing::IndexingMap;
use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Region, Type, Value};
use fusebox_core::plugin::limits;

/// The first fault in a text that is not valid kernel IR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ParseError {
    /// The file name passed to the parser.
    pub file: Arc<str>,
    /// Line number, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The fault.
    pub message: String,
}

/// Parses functions. `name` is the file name in error messages and in the origins of operations.
///
/// If the names of all values are numbers without gaps, the values keep these numbers. If the names
/// are not numbers without gaps, the parser numbers the values in the order of their definition.
/// Does not check that operations are valid; use [`verify`](fusebox_core::ir::verify()) for this.
///
/// # Errors
/// Returns the first fault with its position.
pub fn parse(name: &str, text: &str) -> Result<Vec<Function>, ParseError> {
    let file: Arc<str> = name.into();
    functions(&file, text).map_err(|fault| ParseError {
        file,
        line: fault.at.line,
        column: fault.at.column,
        message: fault.message,
    })
}

fn functions(file: &Arc<str>, text: &str) -> Read<Vec<Function>> {
    let mut parser = Parser {
        tokens: Tokens::of(text)?,
        file: file.clone(),
        operations: 0,
        brackets: 0,
        instructions: HashMap::new(),
        names: HashMap::new(),
        defined: Vec::new(),
        types: Vec::new(),
        numbers: Vec::new(),
        function_type: None,
    };
    at_most(parser.tokens.peek(), "bytes of text", text.len(), limits::MOST_TEXT_BYTES)?;
    let mut functions = Vec::new();
    while parser.tokens.peek().kind != TokenKind::End {
        functions.push(parser.function()?);
    }
    Ok(functions)
}

fn at_most(token: Token<'_>, what: &str, found: usize, most: usize) -> Read {
    if found > most {
        return token.at.fault(format!("{found} {what}; kernels have at most {most}"));
    }
    Ok(())
}

type Attributes = Vec<(Cow<'static, str>, Attribute)>;

struct Parser<'t> {
    tokens: Tokens<'t>,
    file: Arc<str>,
    operations: usize,
    /// Number of open brackets in a type, attribute or location.
    brackets: usize,
    /// Interned names of HLO instructions. Many operations refer to few different names.
    instructions: HashMap<String, Arc<str>>,
    /// The values in scope: for each name, the first value and the number of values with this name.
    names: HashMap<&'t str, (Value, u32)>,
    /// The names in scope, in the order of their definition.
    defined: Vec<&'t str>,
    /// Types of the function's values.
    types: Vec<Type>,
    /// The name of each value as a number, or `None` if the name is not a number.
    numbers: Vec<Option<u32>>,
    /// The attribute `function_type`, once it has been read.
    function_type: Option<(Vec<Type>, Vec<Type>)>,
}

impl<'t> Parser<'t> {
    fn function(&mut self) -> Read<Function> {
        let name = self.name_of_operation()?;
        if name.text != "\"func.func\"" {
            return name.at.fault(format!(
                "expected `\"func.func\"`, found {}: the text must consist of functions",
                name.quoted()
            ));
        }
        self.types.clear();
        self.numbers.clear();
        self.names.clear();
        self.defined.clear();
        self.expect("(")?;
        self.expect(")")?;
        let mut attributes = self.properties()?;
        let function_type = self.function_type.take();
        self.expect("(")?;
        let mut body = self.region(1)?;
        self.expect(")")?;
        self.dictionary_if_any(&mut attributes)?;
        self.expect(":")?;
        if self.signature()? != (Vec::new(), Vec::new()) {
            return name.at.fault("a function declares its arguments in its region: write `: () -> ()`");
        }
        self.place(name)?;
        self.keep_numbers(&mut body);
        let (arguments, results) = match (function_type, self.function_type.take()) {
            (Some(ty), None) | (None, Some(ty)) => ty,
            (Some(_), Some(_)) => return name.at.fault("there are two attributes `function_type`"),
            (None, None) => return name.at.fault("the function needs the attribute `function_type`"),
        };
        let types = std::mem::take(&mut self.types);
        if body.arguments.iter().map(|argument| &types[argument.number()]).ne(&arguments) {
            return name.at.fault("the arguments of the function's region differ from its `function_type`");
        }
        let mut function = Function {
            name: String::new(),
            private: false,
            attributes: Vec::new(),
            argument_attributes: vec![Vec::new(); arguments.len()],
            results,
            body,
            types,
        };
        header(name, &mut function, attributes)?;
        Ok(function)
    }

    fn operation(&mut self, depth: usize) -> Read<Operation> {
        let names = self.result_names()?;
        let name = self.name_of_operation()?;
        let bare = name.text.trim_matches('"');
        let kind = name.known(OpKind::of_name(bare), || {
            format!("the operation `{}` is not part of the kernel IR", bare.chars().take(80).collect::<String>())
        })?;
        let mut operation = Operation::new(kind, self.operands()?, Vec::new());
        let mut attributes = self.properties()?;
        if self.accept("(")? {
            loop {
                operation.regions.push(self.region(depth + 1)?);
                if !self.accept(",")? {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.dictionary_if_any(&mut attributes)?;
        if self.function_type.take().is_some() {
            return name.at.fault("the attribute `function_type` is for functions");
        }
        self.expect(":")?;
        self.operand_types(name, &operation)?;
        self.arrow()?;
        let results = self.result_types()?;
        operation.results = self.define_results(name, &names, results)?;
        operation.attributes = attributes;
        if matches!(kind, OpKind::ApplyIndexing | OpKind::Loop) {
            read_map(name, &mut operation)?;
        }
        operation.place = self.place(name)?;
        Ok(operation)
    }

    fn name_of_operation(&mut self) -> Read<Token<'t>> {
        let name = self.tokens.next()?;
        if name.kind != TokenKind::Text {
            let found = name.quoted();
            return name.at.fault(format!(
                "expected an operation in generic form, `\"dialect.operation\"(…) : (…) -> …`, found {found}"
            ));
        }
        self.operations += 1;
        at_most(name, "operations", self.operations, limits::MOST_OPERATIONS)?;
        Ok(name)
    }

    /// Reads the names of results, for example `%a, %b:2 =`.
    fn result_names(&mut self) -> Read<Vec<(Token<'t>, u32)>> {
        let mut names = Vec::new();
        if !self.tokens.peek().is_marked('%') {
            return Ok(names);
        }
        loop {
            let name = self.tokens.next()?;
            if !name.is_marked('%') {
                return name.at.fault("expected the name of a result");
            }
            let count = if self.accept(":")? { self.number_of_results()? } else { 1 };
            names.push((name, count));
            if !self.accept(",")? {
                self.expect("=")?;
                return Ok(names);
            }
        }
    }

    fn number_of_results(&mut self) -> Read<u32> {
        let count = self.tokens.next()?;
        match count.text.trim_start_matches('#').parse::<u32>() {
            Ok(number) if number <= limits::MOST_RESULTS => Ok(number),
            _ => {
                let most = limits::MOST_RESULTS;
                count.at.fault(format!("`{}` results; operations have at most {most}", count.text))
            }
        }
    }

    /// Reads operands, for example `(%a, %b#1)`.
    fn operands(&mut self) -> Read<Vec<Value>> {
        let mut operands = Vec::new();
        self.list("(", ")", |this| {
            let name = this.tokens.next()?;
            if !name.is_marked('%') {
                return name.at.fault(format!("expected a value, found {}", name.quoted()));
            }
            let part = if this.tokens.peek().is_marked('#') { this.number_of_results()? } else { 0 };
            match this.names.get(name.text) {
                Some(&(first, count)) if part < count => operands.push(Value::numbered(first.number() as u32 + part)),
                Some(_) => return name.at.fault(format!("`{}` has no result {part}", name.text)),
                None => return name.at.fault(format!("the value `{}` is not defined here", name.text)),
            }
            Ok(())
        })?;
        Ok(operands)
    }

    /// Checks that the types in parentheses equal those of the operands.
    fn operand_types(&mut self, name: Token<'t>, operation: &Operation) -> Read {
        let mut operands = operation.operands.iter();
        self.list("(", ")", |this| {
            let at = this.tokens.peek().at;
            let ty = this.ty()?;
            match operands.next() {
                Some(operand) if this.types[operand.number()] == ty => Ok(()),
                Some(operand) => at.fault(format!("the operand is of type {}, not {ty}", this.types[operand.number()])),
                None => at.fault("more types than operands"),
            }
        })?;
        if operands.next().is_some() {
            return name.at.fault("more operands than types of operands");
        }
        Ok(())
    }

    fn define_results(&mut self, op: Token<'t>, names: &[(Token<'t>, u32)], types: Vec<Type>) -> Read<Vec<Value>> {
        let named = names.iter().map(|&(_, count)| count as usize).sum::<usize>();
        if named != types.len() && !names.is_empty() {
            let types = types.len();
            return op.at.fault(format!("the operation has {types} results, {named} are named"));
        }
        let first = self.types.len() as u32;
        let mut next = first;
        for &(name, count) in names {
            self.name(name, Value::numbered(next), count)?;
            self.numbers.resize(next as usize, None);
            if count == 1 {
                self.numbers.push(number_of(name));
            }
            next += count;
        }
        self.types.extend(types);
        self.numbers.resize(self.types.len(), None);
        Ok((first..self.types.len() as u32).map(Value::numbered).collect())
    }

    fn name(&mut self, name: Token<'t>, value: Value, count: u32) -> Read {
        if self.names.insert(name.text, (value, count)).is_some() {
            return name.at.fault(format!("there is a value `{}` already", name.text));
        }
        self.defined.push(name.text);
        Ok(())
    }

    /// Reads `{ ^label(%a: type): operation … }`. Names defined in the region go out of scope at
    /// its end.
    fn region(&mut self, depth: usize) -> Read<Region> {
        let brace = self.tokens.peek();
        self.expect("{")?;
        at_most(brace, "nested regions", depth, limits::MOST_NESTED_REGIONS)?;
        let mut region = Region::default();
        let outside = self.defined.len();
        if self.tokens.peek().is_marked('^') {
            self.tokens.next()?;
            if self.tokens.peek().is("(") {
                self.list("(", ")", |this| {
                    region.arguments.push(this.argument()?);
                    Ok(())
                })?;
            }
            self.expect(":")?;
        }
        while !self.tokens.peek().is("}") {
            let next = self.tokens.peek();
            if next.is_marked('^') {
                return next.at.fault("a region has one block");
            }
            region.operations.push(self.operation(depth)?);
        }
        self.expect("}")?;
        for name in self.defined.drain(outside..) {
            self.names.remove(name);
        }
        Ok(region)
    }

    /// Reads an argument of a region, `%a: type`.
    fn argument(&mut self) -> Read<Value> {
        let name = self.tokens.next()?;
        if !name.is_marked('%') {
            return name.at.fault("expected the name of an argument");
        }
        let value = Value::numbered(self.types.len() as u32);
        self.expect(":")?;
        let ty = self.ty()?;
        self.place(name)?;
        self.name(name, value, 1)?;
        self.types.push(ty);
        self.numbers.push(number_of(name));
        Ok(value)
    }

    /// Numbers all values by their names, if these names are numbers without gaps.
    fn keep_numbers(&mut self, body: &mut Region) {
        let count = self.types.len();
        let numbers: Option<Vec<u32>> = self.numbers.iter().copied().collect();
        let Some(numbers) = numbers else { return };
        // Maps the new number of each value to the present index of the value's type. If two values
        // in different scopes have the same name, the function returns without a change.
        let mut from = vec![None; count];
        for (at, &number) in numbers.iter().enumerate() {
            match from.get_mut(number as usize) {
                Some(free @ None) => *free = Some(at),
                _ => return,
            }
        }
        if numbers.iter().enumerate().all(|(at, &number)| at == number as usize) {
            return;
        }
        self.types = from.into_iter().flatten().map(|at| self.types[at].clone()).collect();
        body.rename(&numbers);
    }

    fn accept(&mut self, mark: &str) -> Read<bool> {
        let found = self.tokens.peek().is(mark);
        if found {
            self.tokens.next()?;
        }
        Ok(found)
    }

    fn expect(&mut self, mark: &str) -> Read {
        let token = self.tokens.peek();
        if !token.is(mark) {
            return token.at.fault(format!("expected `{mark}`, found {}", token.quoted()));
        }
        self.tokens.next().map(drop)
    }

    /// Reads a list between the brackets `open` and `close`. Commas separate the items, and `each`
    /// reads one item.
    fn list(&mut self, open: &str, close: &str, mut each: impl FnMut(&mut Self) -> Read) -> Read {
        self.open(open)?;
        if !self.tokens.peek().is(close) {
            loop {
                each(self)?;
                if !self.accept(",")? {
                    break;
                }
            }
        }
        self.close(close)
    }

    /// Reads an opening bracket of a type, attribute or location, and checks the depth of nesting.
    fn open(&mut self, bracket: &str) -> Read {
        let token = self.tokens.peek();
        self.expect(bracket)?;
        self.brackets += 1;
        at_most(token, "nested brackets", self.brackets, limits::MOST_NESTED_BRACKETS)
    }

    fn close(&mut self, bracket: &str) -> Read {
        self.brackets -= 1;
        self.expect(bracket)
    }
}

/// Returns the name of a value as a number, or `None` if the name is not a number.
fn number_of(name: Token<'_>) -> Option<u32> {
    let digits = &name.text[1..];
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    digits.parse().ok().filter(|_| canonical)
}

/// Replaces the text of the attribute `map` by the indexing map that the text describes.
fn read_map(name: Token<'_>, operation: &mut Operation) -> Read {
    let map = operation.attributes.iter_mut().find(|(known, _)| known == "map");
    let Some((_, map @ Attribute::Str(_))) = map else { return Ok(()) };
    let Attribute::Str(text) = &*map else { return Ok(()) };
    match IndexingMap::parse(text) {
        Ok(parsed) => *map = Attribute::Map(Arc::new(parsed)),
        Err(error) => return name.at.fault(format!("'{}' has a map that does not parse: {error}", operation.kind)),
    }
    Ok(())
}

/// Moves the attributes of a `func.func` to the fields of a function.
fn header(name: Token<'_>, function: &mut Function, attributes: Attributes) -> Read {
    let mut named = false;
    for (key, value) in attributes {
        match (&*key, value) {
            ("sym_name", Attribute::Str(symbol)) => (function.name, named) = (symbol, true),
            ("sym_visibility", Attribute::Str(text)) if text == "private" => function.private = true,
            ("sym_visibility", Attribute::Str(text)) if text == "public" => {}
            ("arg_attrs", Attribute::Array(lists)) if lists.len() == function.argument_attributes.len() => {
                for (of_argument, list) in function.argument_attributes.iter_mut().zip(lists) {
                    let Attribute::Dictionary(entries) = list else {
                        return name.at.fault("`arg_attrs` has a dictionary for each argument");
                    };
                    *of_argument = entries;
                }
            }
            ("sym_name" | "sym_visibility" | "arg_attrs", _) => {
                return name.at.fault(format!("the function's attribute `{key}` has a wrong type or length"));
            }
            (_, value) => function.attributes.push((key, value)),
        }
    }
    if named { Ok(()) } else { name.at.fault("the function needs the attribute `sym_name`, its name in quotes") }
}
