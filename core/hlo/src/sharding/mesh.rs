//! Meshes: devices in a grid whose axes have names.

use std::collections::BTreeMap;
use std::fmt;

use super::{MOST_DEVICES, expect, integer, list, string, unexpected};
use crate::Module;
use crate::text::lexer::Cursor;

/// Devices in a grid. The positions of the grid are numbered from 0, and the last axis varies
/// fastest.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mesh {
    /// Names and sizes of the axes, the major one first.
    pub axes: Vec<(String, i64)>,
    /// The device at each position; `None` if the device at position `n` is device `n`.
    pub device_ids: Option<Vec<i64>>,
}

/// The meshes of a module by name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Meshes(BTreeMap<String, Mesh>);

impl Mesh {
    /// Returns the number of devices.
    pub fn size(&self) -> i64 {
        self.axes.iter().fold(1, |product, (_, size)| product.saturating_mul(*size))
    }

    /// Returns the coordinates of a position, one per axis.
    pub fn coordinates(&self, position: i64) -> Vec<i64> {
        let mut rest = position;
        let mut coordinates = vec![0; self.axes.len()];
        for (coordinate, (_, size)) in coordinates.iter_mut().zip(&self.axes).rev() {
            *coordinate = rest % size;
            rest /= size;
        }
        coordinates
    }

    /// Returns the device at a position.
    pub fn device(&self, position: i64) -> i64 {
        let listed = self.device_ids.as_ref().and_then(|ids| ids.get(usize::try_from(position).ok()?));
        listed.copied().unwrap_or(position)
    }

    /// Returns the number of the axis with this name.
    pub fn axis(&self, name: &str) -> Result<usize, String> {
        let found = self.axes.iter().position(|(own, _)| own == name);
        found.ok_or_else(|| format!("the mesh {self} has no axis {name}"))
    }

    /// Reads the content of `<["x"=2,"y"=4]>` or `['x'=2,'y'=4]`, and `device_ids=[…]` after it.
    pub(super) fn read(cursor: &mut Cursor) -> Result<Mesh, String> {
        expect(cursor, "[")?;
        let axes = list(cursor, b']', |cursor| {
            let name = string(cursor)?;
            expect(cursor, "=")?;
            Ok((name, integer(cursor)?))
        })?;
        let mut mesh = Mesh { axes, device_ids: None };
        let size = mesh.size();
        if !(1..=MOST_DEVICES).contains(&size) {
            return Err(format!("a mesh of {size} devices is not supported"));
        }
        if cursor.eat_symbol(", device_ids") || cursor.eat_symbol(",device_ids") {
            expect(cursor, "=")?;
            expect(cursor, "[")?;
            let ids = list(cursor, b']', integer)?;
            // A mesh without axes stands for a single device, which may have any number.
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            if !mesh.axes.is_empty() && !sorted.iter().copied().eq(0..size) {
                return Err(format!("the devices {ids:?} are not the {size} devices of the mesh"));
            }
            mesh.device_ids = (!mesh.axes.is_empty() && !ids.is_sorted()).then_some(ids);
        }
        Ok(mesh)
    }
}

impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(|(name, size)| format!("{name:?}={size}")).collect();
        write!(f, "mesh<[{}]", axes.join(", "))?;
        if let Some(ids) = &self.device_ids {
            write!(f, ", device_ids={ids:?}")?;
        }
        f.write_str(">")
    }
}

impl Meshes {
    /// Reads the meshes of a module, which are in its frontend attributes.
    ///
    /// # Errors
    /// Fails if the text is malformed.
    pub fn of(module: &Module) -> Result<Meshes, String> {
        let frontend = module.other_attributes.iter().find(|(name, _)| name == "frontend_attributes");
        let Some((_, text)) = frontend.and_then(|(_, text)| text.split_once("xla.sdy.meshes=")) else {
            return Ok(Meshes::default());
        };
        if text.starts_with('"') {
            let unquoted = string(&mut Cursor::new(text))?;
            return Meshes::read(&mut Cursor::new(&unquoted));
        }
        Meshes::read(&mut Cursor::new(text))
    }

    /// Returns the mesh with this name.
    pub fn get(&self, name: &str) -> Option<&Mesh> {
        self.0.get(name)
    }

    /// Returns the mesh with the most devices.
    pub fn largest(&self) -> Option<&Mesh> {
        self.0.values().max_by_key(|mesh| mesh.size())
    }

    fn read(cursor: &mut Cursor) -> Result<Meshes, String> {
        expect(cursor, "{")?;
        let meshes = list(cursor, b'}', |cursor| {
            let name = cursor.word().map(str::to_owned).ok_or_else(|| unexpected(cursor, "a name"))?;
            expect(cursor, "=")?;
            expect(cursor, "#sdy.mesh<")?;
            let mesh = Mesh::read(cursor)?;
            expect(cursor, ">")?;
            Ok((name, mesh))
        })?;
        Ok(Meshes(meshes.into_iter().collect()))
    }
}
