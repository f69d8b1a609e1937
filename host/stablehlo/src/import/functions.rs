//! Functions, and the module with its entry.

use std::collections::{BTreeMap, HashMap, HashSet};

use fusebox_core::hlo::{AliasKind, InputOutputAlias, InstrId, Module};
use fusebox_edit::{Builder, new_module};

use super::Imported;
use super::importer::{Importer, body, one_or_tuple};
use super::location::unsupported;
use super::manual;
use super::operations::operation;
use crate::StablehloError;
use crate::program::{Attribute, Operation, Program, ValueId};

/// Converts a program.
pub(super) fn module(program: &Program) -> Imported<Module> {
    let outermost = &program.module;
    let devices = count(outermost, "mhlo.num_partitions");
    let mut importer = Importer::new(program, functions(outermost)?, constants(outermost), devices, operation);
    let Some(&main) = importer.functions.get("main") else {
        return Err(unsupported(outermost, "the program has no function main"));
    };
    let name = outermost.text("sym_name").unwrap_or("module");
    let mut module = new_module(name, |edit| importer.entry(edit, main))?;
    module.source_file = program.file.clone();
    module.replica_count = count(outermost, "mhlo.num_replicas");
    module.num_partitions = devices;
    if devices > 1 {
        module.other_attributes.extend(manual::meshes(outermost));
    }
    (module.input_output_alias, module.buffer_donor) = donations(main);
    Ok(module)
}

fn count(outermost: &Operation, name: &str) -> i64 {
    outermost.integer(name).unwrap_or(1)
}

/// Returns the functions of a program by their names.
fn functions(outermost: &Operation) -> Imported<HashMap<&str, &Operation>> {
    let mut functions = HashMap::new();
    let blocks = outermost.regions.iter().flat_map(|region| &region.blocks);
    for inside in blocks.flat_map(|block| &block.operations) {
        match &*inside.name {
            "func" => {
                functions.insert(inside.text("sym_name")?, inside);
            }
            "sdy.mesh" => {}
            _ => return Err(unsupported(inside, "an operation outside of functions is not supported")),
        }
    }
    Ok(functions)
}

/// Returns the functions that `main` calls, directly or indirectly, callees before callers. If
/// functions call each other, one of them precedes its callee.
fn callees_first<'p>(
    functions: &HashMap<&'p str, &'p Operation>,
    main: &'p Operation,
) -> Vec<(&'p str, &'p Operation)> {
    let mut order = Vec::new();
    let mut visited = HashSet::new();
    let mut open = vec![(None, called(main).into_iter())];
    while let Some((function, callees)) = open.last_mut() {
        match callees.next() {
            None => {
                order.extend(*function);
                open.pop();
            }
            Some(name) => {
                if let Some((&name, &function)) = functions.get_key_value(name)
                    && visited.insert(name)
                {
                    open.push((Some((name, function)), called(function).into_iter()));
                }
            }
        }
    }
    order
}

/// Returns the names of the functions that the operations of a function call.
fn called(function: &Operation) -> Vec<&str> {
    let mut names = Vec::new();
    let mut open = vec![function];
    while let Some(next) = open.pop() {
        match &*next.name {
            "call" => names.extend(next.attribute("callee").and_then(Attribute::as_text)),
            "composite" => names.extend(next.attribute("decomposition").and_then(Attribute::as_text)),
            "custom_call" => {
                if let Some(Attribute::List(called)) = next.attribute("called_computations") {
                    names.extend(called.iter().filter_map(Attribute::as_text));
                }
            }
            _ => {}
        }
        open.extend(next.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.operations));
    }
    names
}

/// Returns the operations that compute constants, by their results.
fn constants(outermost: &Operation) -> HashMap<ValueId, &Operation> {
    let mut constants = HashMap::new();
    let mut open = vec![outermost];
    while let Some(next) = open.pop() {
        if let ("constant", [result]) = (&*next.name, &next.results[..]) {
            constants.insert(*result, next);
        }
        open.extend(next.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.operations));
    }
    constants
}

impl<'p> Importer<'p> {
    /// Adds the instructions of the entry computation. Returns its root.
    fn entry(&mut self, edit: &mut Builder, main: &'p Operation) -> Imported<InstrId> {
        self.callees(edit, main)?;
        let block = body(main)?;
        let mut scope = self.parameters(edit, main, block)?;
        if self.devices > 1 {
            for (argument, attributes) in block.arguments.iter().zip(attributes(main, "arg_attrs")) {
                let parameter = scope.get(*argument);
                if let (Some(parameter), Some(extra)) = (parameter, manual::sharded(&attributes)) {
                    edit.set_sharding(parameter, extra);
                }
            }
        }
        let mut results = self.block(edit, &mut scope, block)?;
        if self.devices > 1 {
            for (result, attributes) in results.iter_mut().zip(attributes(main, "res_attrs")) {
                if let Some(extra) = manual::sharded(&attributes) {
                    *result = manual::marked_result(edit, *result, extra);
                }
            }
        }
        Ok(one_or_tuple(edit, results))
    }

    /// Converts all functions that the entry calls, directly or indirectly.
    fn callees(&mut self, edit: &mut Builder, main: &'p Operation) -> Imported<()> {
        for (name, function) in callees_first(&self.functions, main) {
            let block = body(function)?;
            let id = edit.try_computation(name, |edit| {
                let mut scope = self.parameters(edit, function, block)?;
                let results = self.block(edit, &mut scope, block)?;
                Ok::<_, StablehloError>(one_or_tuple(edit, results))
            })?;
            self.converted.insert(name, id);
        }
        Ok(())
    }
}

/// Returns the attributes of each argument or each result of a function.
fn attributes<'o>(function: &'o Operation, name: &str) -> impl Iterator<Item = BTreeMap<&'o str, &'o Attribute>> {
    let lists = match function.attribute(name) {
        Some(Attribute::List(lists)) => &lists[..],
        _ => &[],
    };
    lists.iter().map(|list| match list {
        Attribute::Dictionary(entries) => entries.iter().map(|(name, value)| (&**name, value)).collect(),
        _ => BTreeMap::new(),
    })
}

/// Returns the outputs that share memory with parameters, and the parameters whose memory any
/// output may take.
fn donations(main: &Operation) -> (Vec<InputOutputAlias>, Vec<(i64, Vec<i64>)>) {
    let results = match main.attribute("function_type") {
        Some(Attribute::Type(crate::program::Type::Function { results, .. })) => results.len(),
        _ => 0,
    };
    let (mut aliases, mut donors) = (Vec::new(), Vec::new());
    for (parameter, attributes) in (0..).zip(attributes(main, "arg_attrs")) {
        if let Some(Attribute::Integer(_, output)) = attributes.get("tf.aliasing_output") {
            let output = if results == 1 { Vec::new() } else { vec![*output] };
            let kind = AliasKind::May;
            aliases.push(InputOutputAlias { output, parameter, parameter_index: Vec::new(), kind });
        }
        if let Some(Attribute::Bool(true) | Attribute::Unit) = attributes.get("jax.buffer_donor") {
            donors.push((parameter, Vec::new()));
        }
    }
    (aliases, donors)
}
