//! Converts functions, and the module with its entry computation.

use std::collections::{BTreeMap, HashMap, HashSet};

use fusebox_core::hlo::{AliasKind, InputOutputAlias, InstrId, Module};
use fusebox_edit::{Builder, new_module};

use super::Imported;
use super::importer::{Importer, body, one_or_tuple};
use super::location::unsupported;
use super::manual;
use super::operations::operation;
use super::types::{check_sizes, is_unknown};
use crate::StablehloError;
use crate::program::{Attribute, Operation, Program, Type, ValueId};

/// Converts a program.
pub(super) fn module(program: &Program) -> Imported<Module> {
    let outermost = &program.module;
    let devices = count(outermost, "mhlo.num_partitions");
    let mut importer = Importer::new(program, functions(outermost)?, constants(outermost), devices, operation);
    let Some(&main) = importer.functions.get("main") else {
        return Err(unsupported(outermost, "the program has no function main"));
    };
    check_arguments(program)?;
    let name = outermost.text("sym_name").unwrap_or("module");
    let mut module = new_module(name, |edit| importer.entry(edit, main))?;
    module.source_file = program.file.clone();
    module.replica_count = count(outermost, "mhlo.num_replicas");
    module.num_partitions = devices;
    if devices > 1 {
        let meshes = manual::meshes(outermost).or_else(|| manual::frontend_attributes(outermost));
        module.other_attributes.extend(meshes);
    }
    (module.input_output_alias, module.buffer_donor) = donations(main);
    Ok(module)
}

/// Returns the number of the first argument of `main` that has a dimension of unknown size.
pub(super) fn unknown_argument(program: &Program) -> Option<usize> {
    let functions = functions(&program.module).ok()?;
    let arguments = &body(functions.get("main")?).ok()?.arguments;
    arguments.iter().position(|&argument| is_unknown(program.value(argument)))
}

/// Checks that the sizes of all arguments are known.
fn check_arguments(program: &Program) -> Imported<()> {
    match unknown_argument(program) {
        None => Ok(()),
        Some(number) => Err(StablehloError::Unsupported {
            location: program.file.clone(),
            operation: "main".into(),
            message: format!(
                "argument {number} has dimensions of unknown size: give the sizes of all arguments, with --shapes or \
                 as the arrays of --inputs"
            ),
        }),
    }
}

/// Returns a copy of the program in which the arguments of `main` have the sizes `arguments`.
pub(super) fn with_arguments(program: &Program, arguments: &[Vec<i64>]) -> Imported<Program> {
    let refused = |message: String| {
        let (location, operation) = (program.file.clone(), "main".into());
        Err(StablehloError::Unsupported { location, operation, message })
    };
    let functions = functions(&program.module)?;
    let Some(main) = functions.get("main") else { return refused("the program has no function main".into()) };
    let block = body(main)?;
    if block.arguments.len() != arguments.len() {
        let (own, given) = (block.arguments.len(), arguments.len());
        return refused(format!("the program has {own} arguments, but the shapes of {given} are given"));
    }
    let mut refined = program.clone();
    for (number, (&argument, sizes)) in block.arguments.iter().zip(arguments).enumerate() {
        let Type::Array { element, dims } = program.value(argument) else {
            return refused(format!("argument {number} is no array"));
        };
        let fits = |(own, given): (&Option<i64>, &i64)| own.is_none_or(|own| own == *given) && *given >= 0;
        if dims.len() != sizes.len() || !dims.iter().zip(sizes).all(fits) {
            let own: Vec<String> = dims.iter().map(|dim| dim.map_or("?".into(), |dim| dim.to_string())).collect();
            return refused(format!("argument {number} has the sizes [{}], not {sizes:?}", own.join(", ")));
        }
        if let Err(message) = check_sizes(sizes) {
            return refused(format!("argument {number}: {message}"));
        }
        refined.values[argument.index()] =
            Type::Array { element: *element, dims: sizes.iter().copied().map(Some).collect() };
    }
    Ok(refined)
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
/// functions call each other recursively, one of these functions precedes its callee.
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

/// Returns the names of the functions that custom calls list in `called_computations`, and of all
/// functions that these functions call, directly or indirectly.
fn called_outside<'p>(functions: &HashMap<&'p str, &'p Operation>) -> HashSet<&'p str> {
    let mut found = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut operations: Vec<&Operation> = functions.values().copied().collect();
    while let Some(next) = operations.pop() {
        if let Some(Attribute::List(called)) = next.attribute("called_computations") {
            open.extend(called.iter().filter_map(Attribute::as_text));
        }
        operations.extend(next.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.operations));
    }
    while let Some(name) = open.pop() {
        if let Some((&name, function)) = functions.get_key_value(name)
            && found.insert(name)
        {
            open.extend(called(function));
        }
    }
    found
}

/// Returns a map from the result of each constant operation to the operation.
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
        let needed = self.is_refining.then(|| called_outside(&self.functions));
        for (name, function) in callees_first(&self.functions, main) {
            // Calls of other functions are inlined, because each call may have other sizes.
            if needed.as_ref().is_some_and(|needed| !needed.contains(name)) {
                continue;
            }
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
/// output may reuse.
fn donations(main: &Operation) -> (Vec<InputOutputAlias>, Vec<(i64, Vec<i64>)>) {
    let results = match main.attribute("function_type") {
        Some(Attribute::Type(Type::Function { results, .. })) => results.len(),
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
