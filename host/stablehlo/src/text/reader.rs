//! Operations, regions and the module. `forms.rs` reads the operations with a syntax of their own.

use std::sync::Arc;

use super::attributes::{Named, dictionary};
use super::cursor::{Cursor, Read};
use super::locations::Aliases;
use super::names::Names;
use super::types::{results, r#type};
use crate::program::{Block, Location, Operation, Region, Type, ValueId};
use crate::tables::name_in_program;

/// Maximum nesting depth of regions. The reader refuses more deeply nested regions, so that its
/// recursion needs a bounded stack.
const MAX_DEPTH: usize = 64;

/// Reads operations.
pub(super) struct Reader<'t> {
    pub names: Names,
    aliases: Aliases<'t>,
    form: Form<'t>,
    depth: usize,
}

/// Reads an operation in a syntax of its own. The reader calls this function for each operation
/// with a syntax of its own. If the operation contains regions, the function calls the reader in
/// turn, so the reader receives the function as a value.
pub(super) type Form<'t> = fn(&mut Reader<'t>, &mut Cursor<'t>) -> Read<Draft>;

/// An operation that is being read.
#[derive(Default)]
pub(super) struct Draft {
    pub name: String,
    pub operands: Vec<ValueId>,
    pub attributes: Named,
    pub regions: Vec<Region>,
    /// Types of the results.
    pub types: Vec<Type>,
}

impl Draft {
    /// Adds an attribute.
    pub(super) fn set(&mut self, name: &str, value: crate::program::Attribute) {
        self.attributes.push((name.into(), value));
    }
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, file: &'t str, form: Form<'t>) -> Read<Self> {
        Ok(Reader { names: Names::default(), aliases: Aliases::find(text, file)?, form, depth: 0 })
    }

    /// Reads the outermost operation. If the text contains no module, adds a module around the
    /// functions.
    pub(super) fn module(&mut self, cursor: &mut Cursor<'t>) -> Read<Operation> {
        let before = self.names.enter(true);
        skip_aliases(cursor);
        let module = if cursor.is_at("module") || cursor.is_at("\"builtin.module\"") {
            self.operation(cursor)?
        } else {
            let mut operations = Vec::new();
            while !cursor.is_at_end() {
                operations.push(self.operation(cursor)?);
                skip_aliases(cursor);
            }
            let regions = vec![Region { blocks: vec![Block { arguments: Vec::new(), operations }] }];
            let name = Arc::from("builtin.module");
            let (operands, results, attributes) = Default::default();
            Operation { name, operands, results, attributes, regions, location: Location::UNKNOWN }
        };
        self.names.leave(before);
        skip_aliases(cursor);
        if cursor.is_at_end() { Ok(module) } else { Err(cursor.error("the text goes on after the module")) }
    }

    fn operation(&mut self, cursor: &mut Cursor<'t>) -> Read<Operation> {
        let mut defined = Vec::new();
        let start = *cursor;
        if cursor.is_at("%") {
            loop {
                let name = cursor.marked("%")?;
                let count = if cursor.eat(":") { cursor.integer()? } else { 1 };
                defined.push((name, count));
                if !cursor.eat(",") {
                    break;
                }
            }
            cursor.expect("=")?;
        }
        let at = *cursor;
        let draft = if cursor.is_at("\"") { self.generic(cursor)? } else { (self.form)(self, cursor)? };
        let location = self.aliases.location(cursor)?;
        let wanted = defined.iter().map(|(_, count)| count).sum::<i64>();
        if wanted != draft.types.len() as i64 {
            let count = draft.types.len();
            return Err(start.error(format!("{wanted} results have names, but the operation has {count} results")));
        }
        let (mut types, mut results) = (draft.types.into_iter(), Vec::new());
        for (name, count) in defined {
            let own = types.by_ref().take(usize::try_from(count).unwrap_or_default()).collect();
            results.extend(self.names.define(&at, &name, own)?);
        }
        let Draft { operands, attributes, regions, .. } = draft;
        Ok(Operation { name: draft.name.into(), operands, results, attributes, regions, location })
    }

    /// Reads an operation in the syntax that all operations have.
    fn generic(&mut self, cursor: &mut Cursor<'t>) -> Read<Draft> {
        let full = cursor.string()?;
        let mut draft = Draft { name: name_in_program(&full).to_owned(), ..Draft::default() };
        draft.operands = cursor.list(["(", ")"], |cursor| self.names.operand(cursor))?;
        if cursor.is_at("[") {
            return Err(cursor.error(format!("{full} has successors, which StableHLO's operations do not have")));
        }
        if cursor.eat("<") {
            dictionary(cursor, &mut draft.attributes)?;
            cursor.expect(">")?;
        }
        if cursor.is_at("(") {
            let is_isolated = matches!(&*draft.name, "func" | "builtin.module");
            draft.regions = cursor.list(["(", ")"], |cursor| self.region(cursor, Vec::new(), is_isolated))?;
        }
        if cursor.is_at("{") {
            dictionary(cursor, &mut draft.attributes)?;
        }
        cursor.expect(":")?;
        cursor.list(["(", ")"], r#type)?;
        cursor.expect("->")?;
        draft.types = results(cursor)?;
        Ok(draft)
    }

    /// Reads a region in braces. `arguments` are the names and types of those arguments that the
    /// text states before the region.
    pub(super) fn region(
        &mut self,
        cursor: &mut Cursor<'t>,
        arguments: Vec<(String, Type)>,
        is_isolated: bool,
    ) -> Read<Region> {
        if self.depth == MAX_DEPTH {
            return Err(cursor.error(format!("regions are nested more than {MAX_DEPTH} deep")));
        }
        cursor.expect("{")?;
        self.depth += 1;
        let before = self.names.enter(is_isolated);
        let block = self.block(cursor, arguments);
        self.names.leave(before);
        self.depth -= 1;
        Ok(Region { blocks: block?.into_iter().collect() })
    }

    /// Reads a region's block, and the closing brace. Returns `None` if the region is empty.
    fn block(&mut self, cursor: &mut Cursor<'t>, mut arguments: Vec<(String, Type)>) -> Read<Option<Block>> {
        if cursor.is_at("^") {
            cursor.marked("^")?;
            if cursor.is_at("(") {
                arguments.extend(cursor.list(["(", ")"], |cursor| self.argument(cursor))?);
            }
            cursor.expect(":")?;
        }
        let mut block = Block::default();
        for (name, of) in arguments {
            block.arguments.extend(self.names.define(cursor, &name, vec![of])?);
        }
        while !cursor.eat("}") {
            if cursor.is_at("^") {
                return Err(cursor.error("a second block, which regions of StableHLO do not have"));
            }
            block.operations.push(self.operation(cursor)?);
        }
        Ok((block != Block::default()).then_some(block))
    }

    /// Reads the name and the type of an argument, and skips its location.
    pub(super) fn argument(&mut self, cursor: &mut Cursor<'t>) -> Read<(String, Type)> {
        let name = cursor.marked("%")?;
        cursor.expect(":")?;
        let of = r#type(cursor)?;
        self.location(cursor)?;
        Ok((name, of))
    }

    pub(super) fn location(&mut self, cursor: &mut Cursor<'t>) -> Read<Location> {
        self.aliases.location(cursor)
    }
}

/// Skips aliases of attributes and locations, each of which has its own line.
fn skip_aliases(cursor: &mut Cursor) {
    while cursor.is_at("#") {
        cursor.while_is(|c| c != '\n');
    }
}
