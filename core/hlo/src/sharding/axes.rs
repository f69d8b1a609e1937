//! Shardings by the axes of a mesh, in the text form of the dialect `sdy`.

use std::fmt;

use super::mesh::{Mesh, Meshes};
use super::{expect, integer, list, string, unexpected};
use crate::text::lexer::Cursor;

/// A sharding of an array: for each dimension of the array, the axes of a mesh that divide this
/// dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisSharding {
    /// The mesh.
    pub mesh: Mesh,
    /// For each dimension, the axes that divide it, the major one first.
    pub dims: Vec<Vec<MeshAxis>>,
    /// For each dimension, whether further axes may divide it.
    pub open: Vec<bool>,
    /// The axes along which devices hold partial sums of the array.
    pub unreduced: Vec<MeshAxis>,
}

/// An axis of a mesh, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshAxis {
    /// Name of the axis.
    pub name: String,
    /// If the sharding uses only a part of the axis: the product of the sizes of all more major
    /// parts, and the size of this part.
    pub part: Option<(i64, i64)>,
}

impl MeshAxis {
    /// Returns the size of the axis, and the position that the device at `coordinates` has along
    /// this axis.
    pub(super) fn place(&self, mesh: &Mesh, coordinates: &[i64]) -> Result<(i64, i64), String> {
        let number = mesh.axis(&self.name)?;
        let (whole, coordinate) = (mesh.axes[number].1, coordinates[number]);
        match self.part {
            None => Ok((whole, coordinate)),
            Some((before, size)) => {
                let product = before.checked_mul(size).filter(|&product| product > 0 && whole % product == 0);
                let product = product.ok_or_else(|| format!("the axis {} has no part ({before}){size}", self.name))?;
                Ok((size, coordinate / (whole / product) % size))
            }
        }
    }

    fn read(cursor: &mut Cursor) -> Result<MeshAxis, String> {
        let name = string(cursor)?;
        if !cursor.eat(b':') {
            return Ok(MeshAxis { name, part: None });
        }
        expect(cursor, "(")?;
        let before = integer(cursor)?;
        expect(cursor, ")")?;
        Ok(MeshAxis { name, part: Some((before, integer(cursor)?)) })
    }
}

impl fmt::Display for MeshAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)?;
        self.part.map_or(Ok(()), |(before, size)| write!(f, ":({before}){size}"))
    }
}

impl AxisSharding {
    /// Returns the sharding, but keeps only the axes that `names` lists.
    #[must_use]
    pub fn along(&self, names: &[String]) -> AxisSharding {
        let kept = |axes: &Vec<MeshAxis>| axes.iter().filter(|axis| names.contains(&axis.name)).cloned().collect();
        AxisSharding {
            mesh: self.mesh.clone(),
            dims: self.dims.iter().map(kept).collect(),
            open: vec![false; self.dims.len()],
            unreduced: kept(&self.unreduced),
        }
    }

    /// Reads `<@mesh, [{"x"}, {"y", ?}], replicated={"z"}>` after the opening bracket.
    fn read(cursor: &mut Cursor, meshes: &Meshes) -> Result<AxisSharding, String> {
        let mesh = if cursor.eat(b'@') {
            let name = cursor.word().ok_or_else(|| unexpected(cursor, "the name of a mesh"))?;
            meshes.get(name).cloned().ok_or_else(|| format!("the module has no mesh {name}"))?
        } else {
            expect(cursor, "mesh<")?;
            let mesh = Mesh::read(cursor)?;
            expect(cursor, ">")?;
            mesh
        };
        expect(cursor, ",")?;
        expect(cursor, "[")?;
        let dims = list(cursor, b']', |cursor| {
            expect(cursor, "{")?;
            let (axes, is_open) = axes(cursor)?;
            // A priority orders the propagation of shardings.
            if cursor.eat(b'p') {
                integer(cursor)?;
            }
            Ok((axes, is_open))
        })?;
        let (dims, open) = dims.into_iter().unzip();
        let mut sharding = AxisSharding { mesh, dims, open, unreduced: Vec::new() };
        while cursor.eat(b',') {
            let name = cursor.word().ok_or_else(|| unexpected(cursor, "replicated or unreduced"))?;
            expect(cursor, "=")?;
            expect(cursor, "{")?;
            let (axes, _) = axes(cursor)?;
            if name == "unreduced" {
                sharding.unreduced = axes;
            }
        }
        expect(cursor, ">")?;
        Ok(sharding)
    }
}

/// Reads axes up to the closing brace. A `?` after the axes means that further axes may divide the
/// dimension.
fn axes(cursor: &mut Cursor) -> Result<(Vec<MeshAxis>, bool), String> {
    let mut is_open = false;
    let axes = list(cursor, b'}', |cursor| {
        is_open |= cursor.looks_at("?");
        if cursor.eat(b'?') { Ok(None) } else { MeshAxis::read(cursor).map(Some) }
    })?;
    Ok((axes.into_iter().flatten().collect(), is_open))
}

impl fmt::Display for AxisSharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let braced = |axes: &[MeshAxis]| {
            let names: Vec<String> = axes.iter().map(ToString::to_string).collect();
            format!("{{{}}}", names.join(", "))
        };
        let dims = self.dims.iter().zip(&self.open).map(|(axes, is_open)| match (axes.is_empty(), is_open) {
            (_, false) => braced(axes),
            (true, true) => "{?}".to_owned(),
            (false, true) => braced(axes).replace('}', ", ?}"),
        });
        let dims: Vec<String> = dims.collect();
        write!(f, "<{}, [{}]", self.mesh, dims.join(", "))?;
        if !self.unreduced.is_empty() {
            write!(f, ", unreduced={}", braced(&self.unreduced))?;
        }
        f.write_str(">")
    }
}

/// Reads the shardings of one value or of several values: `#sdy.sharding<…>` or
/// `#sdy.sharding_per_value<[<…>, <…>]>`.
///
/// # Errors
/// Fails if the text is malformed, or names a mesh that does not exist.
pub fn axis_shardings(text: &str, meshes: &Meshes) -> Result<Vec<AxisSharding>, String> {
    let mut cursor = Cursor::new(text);
    if cursor.eat_symbol("#sdy.sharding<") {
        return Ok(vec![AxisSharding::read(&mut cursor, meshes)?]);
    }
    expect(&mut cursor, "#sdy.sharding_per_value<[")?;
    list(&mut cursor, b']', |cursor| {
        expect(cursor, "<")?;
        AxisSharding::read(cursor, meshes)
    })
}
