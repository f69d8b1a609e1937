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
    /// Names of the manual axes. Devices whose coordinates differ only along other axes share one
    /// run of the computation.
    pub axes: Vec<String>,
    /// For each operand, the manual axes that divide it.
    pub inputs: Vec<AxisSharding>,
    /// For each result, the manual axes that divide it.
    pub outputs: Vec<AxisSharding>,
}

/// Names of the frontend attributes that describe a manual computation.
const INPUTS: &str = "xla.sdy.in_shardings";
const OUTPUTS: &str = "xla.sdy.out_shardings";
const AXES: &str = "xla.sdy.manual_axes";

impl ManualComputation {
    /// Target of the custom call that stands for a whole manual computation. The custom call reads
    /// and returns whole arrays, and calls the computation for each device.
    pub const TARGET: &'static str = "fusebox.manual_computation";
    /// Target of the custom call that divides a manual computation's operands among the devices.
    pub const DIVIDE: &'static str = "xla.sdy.GlobalToLocalShape";
    /// Target of the custom call that joins the devices' parts of a manual computation's results.
    pub const JOIN: &'static str = "xla.sdy.LocalToGlobalShape";
    /// Prefix of the names of computations that each device executes.
    pub const BODY: &'static str = "xla.sdy.manual_computation_body";

    /// Reads frontend attributes. If the attributes lack a list of shardings, the list is empty.
    ///
    /// # Errors
    /// Fails if an attribute is malformed.
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

    /// Returns the frontend attributes of the computation. [`ManualComputation::read`] can read the
    /// returned attributes without the module's meshes.
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

    /// Returns the devices that execute the computation: for each combination of coordinates along
    /// the manual axes, the device whose other coordinates are 0.
    pub fn devices(&self) -> Vec<i64> {
        let is_first = |position: &i64| {
            let coordinates = self.mesh.coordinates(*position);
            let mut places = coordinates.iter().zip(&self.mesh.axes);
            places.all(|(&coordinate, (name, _))| coordinate == 0 || self.axes.contains(name))
        };
        (0..self.mesh.size()).filter(is_first).map(|position| self.mesh.device(position)).collect()
    }

    /// Returns the devices that execute the computation together with `device`: all devices whose
    /// coordinates differ from those of `device` only along manual axes.
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

    /// Returns the tiling of operand number `number`, which states the part that each device of the
    /// mesh receives.
    ///
    /// # Errors
    /// Fails if there is no such operand, or if the mesh lacks an axis of the sharding.
    pub fn input(&self, number: usize) -> Result<Tiling, String> {
        self.inputs.get(number).map_or_else(|| Err(missing("operand", number)), Tiling::of_axes)
    }

    /// Returns the tiling of result number `number`, which states the part that each device of the
    /// mesh computes.
    ///
    /// # Errors
    /// Fails if there is no such result, or if the mesh lacks an axis of the sharding.
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
