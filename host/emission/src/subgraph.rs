//! Writes the functions of a partition.

use fusebox_core::builder::Value;
use fusebox_core::hlo::InstrId;
use fusebox_core::ir::Function;

use crate::EmissionError;
use crate::elemental;
use crate::error::Result;
use crate::index::{Atom, IndexId, RuntimeIndex};
use crate::partition::{InstructionRead, Partition};
use crate::schedule::{ScheduleItem, schedule};
use crate::scope::{FunctionId, ScopeId};
use crate::writer::{FunctionWriter, SiteOperands};

/// Returns all functions of a partition. `heroes` are the injected instructions, in the order of
/// the arguments that pass the heroes' values to the functions.
pub fn functions(partition: &mut Partition<'_>, heroes: &[InstrId]) -> Result<Vec<Function>> {
    let mut scopes: Vec<Vec<ScopeId>> = vec![Vec::new(); partition.functions.len()];
    for (i, scope) in partition.scopes.iter().enumerate() {
        scopes[scope.function.0 as usize].push(ScopeId(i as u32));
    }
    let mut functions = Vec::with_capacity(scopes.len());
    for (i, scopes) in scopes.iter().enumerate() {
        let writer = FunctionWriter::new(partition, FunctionId(i as u32), heroes, scopes);
        functions.push(writer.write()?);
    }
    Ok(functions)
}

impl FunctionWriter<'_, '_> {
    fn write(mut self) -> Result<Function> {
        for item in schedule(self.partition, self.function) {
            match item {
                ScheduleItem::Value(id) => self.write_value(id)?,
                ScheduleItem::Index(index) => self.write_index(index)?,
            }
        }
        self.b.set_place(None);
        let mut results = Vec::new();
        for read in self.partition.function(self.function).results.clone() {
            results.extend(self.fetch(&read)?);
        }
        self.b.ret(&results);
        Ok(self.b.finish()?)
    }

    fn write_value(&mut self, id: InstrId) -> Result<()> {
        let (Some(recipe), Some(site)) =
            (self.partition.recipes[id.index()].clone(), self.partition.sites[id.index()].clone())
        else {
            return Ok(());
        };
        let name = self.partition.instruction(id).name.clone();
        self.b.set_place(Some(&name));
        let mut operands = Vec::with_capacity(recipe.reads.len());
        for read in &recipe.reads {
            operands.push(self.fetch(read)?);
        }
        let reads = SiteOperands { id, recipe: &recipe, operands: &operands };
        let values = self.within(site.scope, |writer| elemental::emit(writer, &reads))?;
        self.set_values(id, values);
        Ok(())
    }

    fn write_index(&mut self, index: IndexId) -> Result<()> {
        if let Some(Atom::Runtime(runtime)) = self.partition.indices.as_atom(index).cloned() {
            let value = self.write_runtime(runtime)?;
            self.set_index(index, value);
            return Ok(());
        }
        let (map, operands) = self.partition.indices.map(index);
        let scope = self.partition.indices.scope(index).unwrap_or(self.partition.function(self.function).body);
        let results = self.within(scope, |writer| {
            let operands: Vec<Value> = operands.iter().map(|&operand| writer.index(operand)).collect();
            writer.b.apply_indexing(&map, &operands)
        });
        results.first().into_iter().for_each(|&value| self.set_index(index, value));
        Ok(())
    }

    /// Reads an integer and clamps it in its own type, so that the conversion to `index` loses
    /// nothing.
    fn write_runtime(&mut self, runtime: RuntimeIndex) -> Result<Value> {
        let RuntimeIndex { instruction, at, scope, limit } = runtime;
        let name = self.partition.instruction(instruction).name.clone();
        self.b.set_place(Some(&name));
        let value = self.fetch(&InstructionRead { instruction, scope, token: at })?;
        let ty = self.partition.array(instruction)?.element_type;
        let Some(&value) = value.first().filter(|_| ty.is_integer()) else {
            let instruction = self.partition.instruction(instruction);
            return Err(EmissionError::at(self.partition.module, instruction, "is used as an index but is no integer"));
        };
        Ok(self.within(scope, |writer| writer.b.clamped_index(value, ty, limit)))
    }
}
