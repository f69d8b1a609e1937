//! Writes the report of `fusebox indexing`.

use std::fmt::Write;

use super::fusion::{RootMaps, fusion_maps};
use super::of_op::{Indexing, RuntimeValue, input_to_output, output_to_input};
use fusebox_hlo::{ComputationId, InstrId, Instruction, Module, Op};

/// Describes the maps of every operation in the entry and in the fusions that the entry calls. Also
/// describes the maps of the entry as a whole, and of each fusion as a whole. With `inverse`, also
/// describes the maps from operands to results.
pub fn describe(module: &Module, inverse: bool) -> String {
    let mut text = String::new();
    let Some(entry) = module.entry else { return "the module has no entry computation\n".into() };
    let fusions = module.computation(entry).instructions.iter().filter_map(|instruction| match instruction.op {
        Op::Fusion { calls, .. } => Some(calls),
        _ => None,
    });
    let mut seen = Vec::new();
    for computation in fusions.chain([entry]) {
        if !seen.contains(&computation) {
            seen.push(computation);
            // Writing to a string cannot fail.
            let _ = describe_computation(&mut text, module, computation, inverse);
        }
    }
    text
}

fn describe_computation(
    text: &mut String,
    module: &Module,
    computation: ComputationId,
    inverse: bool,
) -> std::fmt::Result {
    let body = module.computation(computation);
    writeln!(text, "{}", body.name)?;
    for id in body.ids() {
        let instruction = body.instruction(id);
        if instruction.operands.is_empty() || instruction.op == Op::Tuple {
            continue;
        }
        writeln!(text, "  {} = {}", instruction.name, instruction.opcode())?;
        let leaves = instruction.shape.leaves().len();
        for leaf in 0..leaves {
            let indent = if leaves > 1 { "      " } else { "    " };
            if leaves > 1 {
                writeln!(text, "    result {leaf}")?;
            }
            operands(text, module, computation, id, leaf, indent, inverse)?;
        }
    }
    writeln!(text, "  {} as a whole", body.name)?;
    for root in fusion_maps(module, computation) {
        whole(text, module, computation, &root)?;
    }
    text.push('\n');
    Ok(())
}

fn operands(
    text: &mut String,
    module: &Module,
    computation: ComputationId,
    id: InstrId,
    leaf: usize,
    indent: &str,
    inverse: bool,
) -> std::fmt::Result {
    let body = module.computation(computation);
    let instruction = body.instruction(id);
    let maps = output_to_input(module, computation, id, leaf);
    for (operand, indexing) in maps.iter().enumerate() {
        let name = operand_name(body.instructions.as_slice(), instruction, operand);
        indexing_lines(text, module, &format!("{indent}reads {name}: "), indexing)?;
        if inverse {
            let back = input_to_output(module, computation, id, operand, leaf);
            indexing_lines(text, module, &format!("{indent}from {name}: "), &back)?;
        }
    }
    Ok(())
}

fn operand_name<'i>(body: &'i [Instruction], instruction: &Instruction, operand: usize) -> &'i str {
    let id = instruction.operands.get(operand);
    id.and_then(|id| body.get(id.index())).map_or("?", |operand| operand.name.as_str())
}

fn whole(text: &mut String, module: &Module, computation: ComputationId, root: &RootMaps) -> std::fmt::Result {
    let body = module.computation(computation);
    let name = &body.instruction(root.root).name;
    let leaves = body.instruction(root.root).shape.leaves().len();
    let part = if leaves > 1 { format!("{name}, result {}", root.leaf) } else { name.clone() };
    for (parameter, indexing) in body.parameters().into_iter().zip(&root.parameters) {
        let parameter = &body.instruction(parameter).name;
        indexing_lines(text, module, &format!("    {part} reads {parameter}: "), indexing)?;
    }
    Ok(())
}

/// Writes one line per map. Aligns the maps in one column.
fn indexing_lines(text: &mut String, module: &Module, head: &str, indexing: &Indexing) -> std::fmt::Result {
    let readings = match indexing {
        Indexing::Unknown(reason) => return writeln!(text, "{head}unknown ({reason})"),
        Indexing::Known(readings) if readings.is_empty() => return writeln!(text, "{head}nothing"),
        Indexing::Known(readings) => readings,
    };
    for (i, reading) in readings.iter().enumerate() {
        let padding = " ".repeat(head.len());
        let head = if i == 0 { head } else { &padding };
        writeln!(text, "{head}{}", reading.map)?;
        for (k, value) in reading.runtime.iter().enumerate() {
            writeln!(text, "{padding}rt{k} = {}", runtime_value(module, value))?;
        }
    }
    Ok(())
}

/// Returns a text like `name[d0, 1]`.
fn runtime_value(module: &Module, value: &RuntimeValue) -> String {
    let name = value.computation.map_or("?", |id| &module.computation(id).instruction(value.instruction).name);
    let index: Vec<String> = value.index.iter().map(ToString::to_string).collect();
    format!("{name}[{}]", index.join(", "))
}
