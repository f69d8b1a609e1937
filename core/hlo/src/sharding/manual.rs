//! Manual computations: every device executes a computation with its own parts of arrays.

use std::collections::{BTreeMap, BTreeSet};

use super::axes::{AxisSharding, axis_shardings};
use super::mesh::{Mesh, Meshes};
use super::tiling::Tiling;
use super::{expect, list, string};
use crate::text::lexer::Cursor;

/// How a manual computation divides its operands, and joins its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualComputation {
    /// The devices.
    pub mesh: Mesh,
    /// Names of the manual axes. The computation runs once for all devices that differ only along
    /// other axes.
    pub axes: Vec<String>,
    /// For each operand, the manual axes that divide it.
    pub inputs: Vec<AxisSharding>,
    /// For each result, the manual axes that divide it.
    pub outputs: Vec<AxisSharding>,
}

/// Names of the frontend attributes.
const INPUTS: &str = "xla.sdy.in_shardings";
const OUTPUTS: &str = "xla.sdy.out_shardings";
const AXES: &str = "xla.sdy.manual_axes";

impl ManualComputation {
    /// Target of the custom call that stands for a whole manual computation. Its operands and its
    /// results are whole arrays, and it calls the computation for each device.
    pub const TARGET: &'static str = "fusebox.manual_computation";
    /// Target of the custom call that divides operands.
    pub const DIVIDE: &'static str = "xla.sdy.GlobalToLocalShape";
    /// Target of the custom call that joins results.
    pub const JOIN: &'static str = "xla.sdy.LocalToGlobalShape";
    /// The beginning of the names of computations that devices execute.
    pub const BODY: &'static str = "xla.sdy.manual_computation_body";

    /// Reads frontend attributes. A missing list of shardings is empty.
    ///
    /// # Errors
    /// If an attribute is malformed.
    pub fn read(attributes: &BTreeMap<String, String>, meshes: &Meshes) -> Result<ManualComputation, String> {
        let shardings = |name| attributes.get(name).map_or(Ok(Vec::new()), |text| axis_shardings(text, meshes));
        let (inputs, outputs) = (shardings(INPUTS)?, shardings(OUTPUTS)?);
        let mesh = inputs.iter().chain(&outputs).map(|it| &it.mesh).max_by_key(|mesh| mesh.size());
        let mesh = mesh.or(meshes.largest()).cloned().unwrap_or_default();
        let axes = match attributes.get(AXES) {
            Some(text) => names(text)?,
            None => mesh.axes.iter().map(|(name, _)| name.clone()).collect(),
        };
        axes.iter().try_for_each(|name| mesh.axis(name).map(|_| ()))?;
        let along = |list: Vec<AxisSharding>| list.iter().map(|it| it.along(&axes)).collect();
        Ok(ManualComputation { inputs: along(inputs), outputs: along(outputs), mesh, axes })
    }

    /// Returns frontend attributes that [`ManualComputation::read`] reads without the meshes of the
    /// module.
    pub fn attributes(&self) -> BTreeMap<String, String> {
        let shardings = |list: &[AxisSharding]| {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            format!("#sdy.sharding_per_value<[{}]>", list.join(", "))
        };
        let axes: Vec<String> = self.axes.iter().map(|name| format!("{name:?}")).collect();
        let axes = format!("#sdy<manual_axes{{{}}}>", axes.join(", "));
        let entries = [(INPUTS, shardings(&self.inputs)), (OUTPUTS, shardings(&self.outputs)), (AXES, axes)];
        entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the devices that execute the computation, one for each combination of coordinates
    /// along the manual axes. Their coordinates along other axes are 0.
    pub fn devices(&self) -> Vec<i64> {
        let is_first = |position: &i64| {
            let coordinates = self.mesh.coordinates(*position);
            let mut places = coordinates.iter().zip(&self.mesh.axes);
            places.all(|(&coordinate, (name, _))| coordinate == 0 || self.axes.contains(name))
        };
        (0..self.mesh.size()).filter(is_first).map(|position| self.mesh.device(position)).collect()
    }

    /// Returns the devices that execute the computation together with a device: those that differ
    /// from it only along manual axes.
    pub fn together_with(&self, device: i64) -> BTreeSet<i64> {
        let others = |position: i64| {
            let coordinates = self.mesh.coordinates(position);
            let own = coordinates.iter().zip(&self.mesh.axes).filter(|(_, (name, _))| !self.axes.contains(name));
            own.map(|(&coordinate, _)| coordinate).collect::<Vec<i64>>()
        };
        let positions = || 0..self.mesh.size();
        let own = positions().find(|&position| self.mesh.device(position) == device).map(others);
        let same = positions().filter(|&position| Some(others(position)) == own);
        same.map(|position| self.mesh.device(position)).collect()
    }

    /// Returns the parts of operand number `number` that the devices of the mesh get.
    ///
    /// # Errors
    /// If there is no such operand, or an axis does not exist.
    pub fn input(&self, number: usize) -> Result<Tiling, String> {
        self.inputs.get(number).map_or_else(|| Err(missing("operand", number)), Tiling::of_axes)
    }

    /// Returns the parts of result number `number` that the devices of the mesh compute.
    ///
    /// # Errors
    /// If there is no such result, or an axis does not exist.
    pub fn output(&self, number: usize) -> Result<Tiling, String> {
        self.outputs.get(number).map_or_else(|| Err(missing("result", number)), Tiling::of_axes)
    }
}

fn missing(what: &str, number: usize) -> String {
    format!("a manual computation without a sharding of {what} {number}")
}

/// Reads `#sdy<manual_axes{"x", "y"}>`.
fn names(text: &str) -> Result<Vec<String>, String> {
    let mut cursor = Cursor::new(text);
    expect(&mut cursor, "#sdy<manual_axes{")?;
    list(&mut cursor, b'}', string)
}
