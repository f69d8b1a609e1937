//! Attributes of the dialect `sdy` in text, which describe shardings. An attribute from text has
//! the same parts as an attribute from a portable artifact.

use std::sync::Arc;

use super::cursor::{Cursor, Read};
use crate::program::{Attribute, Sharding};

/// Reads the rest of an attribute of the dialect `sdy`, after its name. For an attribute of another
/// dialect, reads nothing and returns `None`.
pub(super) fn attribute(cursor: &mut Cursor, name: &str) -> Read<Option<Attribute>> {
    Ok(Some(match name {
        "sdy.mesh" => mesh(cursor)?,
        "sdy.sharding" => sharding(cursor)?,
        "sdy.sharding_per_value" => {
            cursor.expect("<")?;
            let shardings = shardings(cursor)?;
            cursor.expect(">")?;
            shardings
        }
        "sdy" => {
            cursor.expect("<")?;
            let at = *cursor;
            let kind = cursor.name()?;
            if kind != "manual_axes" {
                return Err(at.error(format!("the attribute {kind} of the dialect sdy is not known")));
            }
            let axes = manual_axes(cursor)?;
            cursor.expect(">")?;
            axes
        }
        _ => return Ok(None),
    }))
}

/// Reads `{"x", "y"}`: the names of the axes along which a manual computation divides arrays.
pub(super) fn manual_axes(cursor: &mut Cursor) -> Read<Attribute> {
    let axes = cursor.list(["{", "}"], |cursor| Ok(Attribute::Text(cursor.string()?.into())))?;
    Ok(of("manual axes", vec![Attribute::List(axes.into())], Vec::new()))
}

/// Reads `[<@mesh, [{"x"}]>, …]`: one sharding per value.
pub(super) fn shardings(cursor: &mut Cursor) -> Read<Attribute> {
    let shardings = cursor.list(["[", "]"], sharding)?;
    Ok(of("shardings of values", vec![Attribute::List(shardings.into())], Vec::new()))
}

/// Reads a mesh: `<["x"=2, "y"=4], device_ids=[…]>`.
pub(super) fn mesh(cursor: &mut Cursor) -> Read<Attribute> {
    cursor.expect("<")?;
    let axes = cursor.list(["[", "]"], |cursor| {
        let name = Attribute::Text(cursor.string()?.into());
        cursor.expect("=")?;
        Ok(of("axis", vec![name], vec![cursor.integer()?]))
    })?;
    let mut device_ids = Vec::new();
    if cursor.eat(",") {
        cursor.expect("device_ids")?;
        cursor.expect("=")?;
        device_ids = cursor.integers()?;
    }
    cursor.expect(">")?;
    Ok(of("mesh", vec![Attribute::List(axes.into())], device_ids))
}

/// Reads a sharding: `<@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}>`.
pub(super) fn sharding(cursor: &mut Cursor) -> Read<Attribute> {
    cursor.expect("<")?;
    let on = if cursor.eat_word("mesh") { mesh(cursor)? } else { Attribute::Symbol(cursor.marked("@")?.into()) };
    cursor.expect(",")?;
    let dims = cursor.list(["[", "]"], dimension)?;
    let [mut replicated, mut unreduced] = [Vec::new(), Vec::new()];
    while cursor.eat(",") {
        let at = *cursor;
        let list = match cursor.name()? {
            "replicated" => &mut replicated,
            "unreduced" => &mut unreduced,
            other => return Err(at.error(format!("a sharding has no {other}"))),
        };
        cursor.expect("=")?;
        *list = cursor.list(["{", "}"], axis)?;
    }
    cursor.expect(">")?;
    let lists = [dims, replicated, unreduced].map(|list| Attribute::List(list.into()));
    Ok(of("sharding", [on].into_iter().chain(lists).collect(), Vec::new()))
}

/// Reads `{"x", ?}p1`: the axes that divide a dimension. The question mark says that further axes
/// may divide the dimension. The number after `p` is a priority.
fn dimension(cursor: &mut Cursor) -> Read<Attribute> {
    let mut is_closed = true;
    let axes = cursor.list(["{", "}"], |cursor| {
        if cursor.eat("?") {
            is_closed = false;
            return Ok(None);
        }
        axis(cursor).map(Some)
    })?;
    let mut numbers = vec![i64::from(is_closed)];
    if cursor.eat("p") {
        numbers.push(cursor.integer()?);
    }
    let axes: Vec<Attribute> = axes.into_iter().flatten().collect();
    Ok(of("dimension", vec![Attribute::List(axes.into())], numbers))
}

/// Reads an axis, `"x"`, or a part of an axis, `"x":(1)2`.
fn axis(cursor: &mut Cursor) -> Read<Attribute> {
    let mut parts = vec![Attribute::Text(cursor.string()?.into())];
    if cursor.eat(":") {
        cursor.expect("(")?;
        let before = cursor.integer()?;
        cursor.expect(")")?;
        parts.push(of("sub axis", Vec::new(), vec![before, cursor.integer()?]));
    }
    Ok(of("axis reference", parts, Vec::new()))
}

fn of(kind: &'static str, parts: Vec<Attribute>, numbers: Vec<i64>) -> Attribute {
    Attribute::Sharding(Arc::new(Sharding { kind, parts, numbers }))
}
