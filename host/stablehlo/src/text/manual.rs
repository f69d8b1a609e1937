//! Operations of the dialect `sdy`, which have a syntax of their own.

use super::attributes::{dictionary, text};
use super::cursor::{Cursor, Read};
use super::reader::{Draft, Reader};
use super::sharding::{manual_axes, mesh, shardings};
use super::types::{results, r#type};
use crate::program::Attribute;

/// Reads a mesh with its name: `@mesh = <["x"=2]>`.
pub(super) fn named_mesh(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    draft.set("sym_name", Attribute::Symbol(cursor.marked("@")?.into()));
    cursor.expect("=")?;
    draft.set("mesh", mesh(cursor)?);
    if cursor.is_at("{") {
        dictionary(cursor, &mut draft.attributes)?;
    }
    Ok(())
}

/// Reads a manual or named computation with its operands, shardings, arguments and types:
///
/// ```text
/// (%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"}
///   (%b: tensor<4xf32>) { … } : (tensor<8xf32>) -> tensor<4xf32>
/// ```
pub(super) fn computation<'t>(reader: &mut Reader<'t>, cursor: &mut Cursor<'t>, draft: &mut Draft) -> Read<()> {
    if cursor.eat("<") {
        draft.set("name", text(cursor.string()?));
        cursor.expect(">")?;
    }
    draft.operands = cursor.list(["(", ")"], |cursor| reader.names.operand(cursor))?;
    for name in ["in_shardings", "out_shardings", "manual_axes"] {
        if cursor.eat_word(name) {
            cursor.expect("=")?;
            let value = if name == "manual_axes" { manual_axes(cursor)? } else { shardings(cursor)? };
            draft.set(name, value);
        }
    }
    let arguments = cursor.list(["(", ")"], |cursor| reader.argument(cursor))?;
    draft.regions.push(reader.region(cursor, arguments, false)?);
    cursor.expect(":")?;
    cursor.list(["(", ")"], r#type)?;
    cursor.expect("->")?;
    draft.types = results(cursor)?;
    Ok(())
}
