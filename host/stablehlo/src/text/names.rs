//! Finds values by their names in the text.

use std::collections::HashMap;

use super::cursor::{Cursor, Read};
use crate::program::{Type, ValueId};

/// Values that an operation at the current position may use.
#[derive(Default)]
pub(super) struct Names {
    /// Types of all values.
    pub values: Vec<Type>,
    /// The values by name in each region that encloses the current position, the outermost region
    /// first.
    regions: Vec<HashMap<String, Vec<ValueId>>>,
    /// Number of regions whose names are visible, counted from the innermost region outwards.
    visible: usize,
}

impl Names {
    /// Begins a region. In an isolated region, names from outside are not visible. Returns the
    /// number that [`leave`](Self::leave) needs.
    pub(super) fn enter(&mut self, is_isolated: bool) -> usize {
        let before = self.visible;
        self.regions.push(HashMap::new());
        self.visible = if is_isolated { 1 } else { before + 1 };
        before
    }

    /// Ends a region.
    pub(super) fn leave(&mut self, before: usize) {
        self.regions.pop();
        self.visible = before;
    }

    /// Adds one new value for each of the types `types`. The new values share one name.
    pub(super) fn define(&mut self, cursor: &Cursor, name: &str, types: Vec<Type>) -> Read<Vec<ValueId>> {
        let first =
            u32::try_from(self.values.len()).ok().filter(|first| first.checked_add(types.len() as u32).is_some());
        let first = first.ok_or_else(|| cursor.error("the program has too many values"))?;
        let ids: Vec<ValueId> = (first..first + types.len() as u32).map(ValueId).collect();
        self.values.extend(types);
        if let Some(region) = self.regions.last_mut() {
            region.insert(name.to_owned(), ids.clone());
        }
        Ok(ids)
    }

    /// Reads the use of a value: `%name`, or `%name#2` for one of several results.
    pub(super) fn operand(&self, cursor: &mut Cursor) -> Read<ValueId> {
        let at = *cursor;
        let name = cursor.marked("%")?;
        let number = if cursor.eat("#") { cursor.integer()? } else { 0 };
        let visible = self.regions.iter().rev().take(self.visible);
        let values = visible.into_iter().find_map(|region| region.get(&name));
        let value = values.and_then(|values| values.get(usize::try_from(number).ok()?));
        value.copied().ok_or_else(|| at.error(format!("there is no value %{name}#{number} before")))
    }

    pub(super) fn r#type(&self, value: ValueId) -> &Type {
        &self.values[value.index()]
    }
}
