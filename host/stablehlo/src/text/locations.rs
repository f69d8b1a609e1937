//! Locations in text: `loc("file.py":3:7)`, `loc("name"(…))`, `loc(callsite(… at …))`, and aliases.

use std::collections::HashMap;
use std::sync::Arc;

use super::cursor::{Cursor, Read};
use crate::program::{Location, Place};

/// Largest nesting of aliases. A more deeply nested alias is read as an unknown location, so that
/// reading needs a bounded stack.
const MAX_DEPTH: usize = 64;

/// The aliases that a text defines outside of all operations: `#loc1 = loc(…)`.
pub(super) struct Aliases<'t> {
    places: HashMap<&'t str, Cursor<'t>>,
    known: HashMap<&'t str, Location>,
}

impl<'t> Aliases<'t> {
    /// Finds the aliases in a text.
    pub(super) fn find(text: &'t str, file: &'t str) -> Read<Self> {
        let mut places = HashMap::new();
        let mut cursor = Cursor::new(text, file);
        for line in text.split_inclusive('\n') {
            let mut at = cursor;
            cursor.skip(line.len());
            if line.starts_with("#loc") {
                at.expect("#")?;
                let name = at.name()?;
                if at.eat("=") {
                    places.insert(name, at);
                }
            }
        }
        Ok(Aliases { places, known: HashMap::new() })
    }

    /// Reads a location, `loc(…)`, if the text continues with one.
    pub(super) fn location(&mut self, cursor: &mut Cursor<'t>) -> Read<Location> {
        if cursor.eat("loc(") {
            let location = self.inside(cursor, 0)?;
            cursor.expect(")")?;
            return Ok(location);
        }
        Ok(Location::UNKNOWN)
    }

    fn inside(&mut self, cursor: &mut Cursor<'t>, depth: usize) -> Read<Location> {
        if depth == MAX_DEPTH {
            return Err(cursor.error(format!("locations are nested more than {MAX_DEPTH} deep")));
        }
        if cursor.eat("#") {
            let name = cursor.name()?;
            return self.alias(name, depth);
        }
        if cursor.is_at("\"") {
            return self.named(cursor, depth);
        }
        if cursor.eat("callsite(") {
            let callee = self.inside(cursor, depth + 1)?;
            cursor.expect("at")?;
            let caller = self.inside(cursor, depth + 1)?;
            cursor.expect(")")?;
            return Ok(Location(Some(Arc::new(Place::Call { callee, caller }))));
        }
        if cursor.eat_word("fused") {
            if cursor.is_at("<") {
                cursor.skip_bracketed('<', '>')?;
            }
            let places = cursor.list(["[", "]"], |cursor| self.inside(cursor, depth + 1))?;
            return Ok(Location(Some(Arc::new(Place::Fused(places)))));
        }
        cursor.expect("unknown")?;
        Ok(Location::UNKNOWN)
    }

    /// Reads a file with line and column, or a name with the place that it names.
    fn named(&mut self, cursor: &mut Cursor<'t>, depth: usize) -> Read<Location> {
        let name: Arc<str> = cursor.string()?.into();
        let place = if cursor.eat(":") {
            let line = cursor.integer()?;
            let column = if cursor.eat(":") { cursor.integer()? } else { 0 };
            // A range has an end, of which the line may be left out.
            if cursor.eat_word("to") {
                cursor.while_is(|c| c == ':' || c.is_ascii_digit());
            }
            Place::File { name, line, column }
        } else {
            let mut at = Location::UNKNOWN;
            if cursor.eat("(") {
                at = self.inside(cursor, depth + 1)?;
                cursor.expect(")")?;
            }
            Place::Name { name, at }
        };
        Ok(Location(Some(Arc::new(place))))
    }

    fn alias(&mut self, name: &'t str, depth: usize) -> Read<Location> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let place = self.places.get(name).copied().filter(|_| depth < MAX_DEPTH - 1);
        let Some(mut place) = place else { return Ok(Location::UNKNOWN) };
        place.expect("loc(")?;
        let location = self.inside(&mut place, depth + 1)?;
        self.known.insert(name, location.clone());
        Ok(location)
    }
}
