//! Whether the values of a kernel are of sizes that code can be made for, and its functions form no circle.

use std::collections::{HashMap, HashSet};

use fusebox_core::plugin::limits;

use super::source::Source;
use super::{Operation, Type, Value};
use crate::dialect::map_of;
use crate::error::Diagnostic;

/// Checks a kernel that is valid in itself.
pub(super) fn check(source: &Source) -> Result<(), Diagnostic> {
    let mut fault = None;
    source.operation().walk(&mut |op| {
        if fault.is_none() {
            fault = values(op).err().map(|message| Diagnostic { location: op.location(), message });
        }
    });
    fault.map_or_else(|| Functions::of(source).check(), Err)
}

fn values(op: Operation) -> Result<(), String> {
    for value in op.results().chain(arguments(op)) {
        check_type(&value.ty()).map_err(|reason| format!("'{}' has a value {reason}", op.name()))?;
    }
    Ok(())
}

/// Arguments of the operation's regions, which have one block each.
fn arguments(op: Operation) -> impl Iterator<Item = Value> {
    (0..op.region_count()).filter_map(move |region| op.block(region)).flat_map(|block| block.arguments())
}

fn check_type(ty: &Type) -> Result<(), String> {
    match ty {
        Type::Integer(bits) if *bits > limits::MOST_BITS => {
            Err(format!("of {bits} bits; integers have at most {}", limits::MOST_BITS))
        }
        Type::Vector { lanes, .. } if u64::from(*lanes) > limits::MOST_LANES => {
            Err(format!("of {lanes} lanes; vectors have at most {}", limits::MOST_LANES))
        }
        Type::Vector { element, .. } => check_type(element),
        Type::Tensor { shape, .. } if shape.len() > limits::MOST_DIMENSIONS => {
            Err(format!("of {} dimensions; tensors have at most {}", shape.len(), limits::MOST_DIMENSIONS))
        }
        Type::Tensor { shape, element } => {
            let elements = shape.iter().try_fold(1i64, |all, &size| all.checked_mul(size).filter(|_| size >= 0));
            match elements.and_then(|elements| elements.checked_mul(16)) {
                Some(_) => check_type(element),
                None => Err("whose tensor is not statically shaped, or larger than any memory".into()),
            }
        }
        _ => Ok(()),
    }
}

/// The functions of a kernel and whom each calls.
struct Functions {
    functions: Vec<Operation>,
    by_name: HashMap<&'static str, usize>,
    callees: Vec<Vec<usize>>,
}

impl Functions {
    fn of(source: &Source) -> Functions {
        let functions: Vec<Operation> = source.functions().collect();
        let name = |function: &Operation| function.attribute("sym_name").and_then(|name| name.string());
        let by_name = functions.iter().enumerate().filter_map(|(at, function)| Some((name(function)?, at))).collect();
        let mut found = Functions { callees: vec![Vec::new(); functions.len()], functions, by_name };
        for caller in 0..found.functions.len() {
            let mut callees = Vec::new();
            found.functions[caller].walk(&mut |op| callees.extend(found.callee(op)));
            found.callees[caller] = callees;
        }
        found
    }

    fn callee(&self, op: Operation) -> Option<usize> {
        let symbol = op.attribute("callee").filter(|_| op.name() != "func.func")?.symbol()?;
        self.by_name.get(symbol).copied()
    }

    fn check(&self) -> Result<(), Diagnostic> {
        let mut written = vec![0; self.functions.len()];
        let order = self.callees_first();
        for &function in &order {
            written[function] = self.written(self.functions[function], &written);
            if written[function] > limits::MOST_WRITTEN {
                let message = format!(
                    "with loops unrolled and combiners written out the function has {} operations; kernels have at most {}",
                    written[function],
                    limits::MOST_WRITTEN
                );
                return Err(Diagnostic { location: self.functions[function].location(), message });
            }
        }
        let ordered: HashSet<usize> = order.into_iter().collect();
        match (0..self.functions.len()).find(|function| !ordered.contains(function)) {
            None => Ok(()),
            Some(function) => Err(Diagnostic {
                location: self.functions[function].location(),
                message: "functions call each other in a circle".into(),
            }),
        }
    }

    /// Every function after those it calls; those that call each other in a circle are left out.
    fn callees_first(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.callees.iter().map(Vec::len).collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); self.functions.len()];
        for (caller, callees) in self.callees.iter().enumerate() {
            callees.iter().for_each(|&callee| callers[callee].push(caller));
        }
        let mut order: Vec<usize> = (0..open.len()).filter(|&function| open[function] == 0).collect();
        let mut next = 0;
        while let Some(&function) = order.get(next) {
            next += 1;
            for &caller in &callers[function] {
                open[caller] -= 1;
                if open[caller] == 0 {
                    order.push(caller);
                }
            }
        }
        order
    }

    /// Operations that an operation and what is in it become, given those of functions that are called.
    fn written(&self, op: Operation, of_functions: &[u64]) -> u64 {
        let mut inside = 1u64;
        for block in (0..op.region_count()).filter_map(|region| op.block(region)) {
            for op in block.operations() {
                inside = inside.saturating_add(self.written(op, of_functions));
            }
        }
        let times = match op.name() {
            "xla_gpu.loop" => copies(op),
            "xla_gpu.shuffle_reduce" => {
                let distance = op.attribute("max_distance").and_then(|distance| distance.integer()).unwrap_or(1);
                inside = inside.saturating_add(self.callee(op).map_or(0, |callee| of_functions[callee]));
                u64::from(64 - distance.leading_zeros())
            }
            _ => 1,
        };
        inside.saturating_mul(times)
    }
}

/// How often the body of a loop is written. Each variable that is unrolled counts, those without values once.
fn copies(op: Operation) -> u64 {
    let Ok(map) = map_of(op) else { return 1 };
    let unroll = op.attribute("unroll").and_then(|ranges| ranges.integers()).unwrap_or_default();
    let unroll: HashSet<usize> = unroll.into_iter().filter_map(|range| usize::try_from(range).ok()).collect();
    let sizes = unroll.into_iter().filter_map(|range| Some(map.ranges.get(range)?.bounds.size().max(1)));
    sizes.fold(1, u64::saturating_mul)
}
