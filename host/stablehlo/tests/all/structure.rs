//! Compares what modules compute, without regard to names, the order of instructions, instructions
//! that nothing uses, and the tuples that loops, branches and calls need in HLO.

use std::collections::{BTreeMap, HashMap};

use fusebox_core::hlo::{ComputationId, Instruction, Module, Op, Shape, WindowDim};

/// Returns the first difference between what two modules compute, if there is one.
pub fn difference(left: &Module, right: &Module) -> Option<String> {
    let mut numbers = Numbers::default();
    let [left, right] = [left, right].map(|module| {
        let mut structure = Structure { module, numbers: &mut numbers, depth: 0 };
        let entry = module.entry.unwrap();
        let arguments = structure.arguments(entry);
        let root = structure.computation(entry, &arguments);
        let computation = module.computation(entry);
        let parameters = computation.parameters().into_iter().map(|id| annotations(computation.instruction(id)));
        let meshes = module.other_attributes.iter().find(|(name, _)| name == "frontend_attributes");
        let aliases = (&module.input_output_alias, &module.buffer_donor);
        let header = format!("{:?} {meshes:?} {} {aliases:?}", parameters.collect::<Vec<_>>(), module.num_partitions);
        (root, header)
    });
    if left.1 != right.1 {
        return Some(format!("{}\n{}", left.1, right.1));
    }
    let leaves = left.0.leaves().into_iter().zip(right.0.leaves()).enumerate();
    let differing = leaves.into_iter().find(|(_, (left, right))| left != right);
    let differing = differing.map(|(at, (left, right))| {
        let [left, right] = [left, right].map(|number| numbers.expression(number, 4));
        format!("result {at}:\n{left}\n{right}")
    });
    differing.or_else(|| (left.0 != right.0).then(|| "the results have other tuples".to_owned()))
}

/// Returns the sharding and the users' attributes of an instruction.
fn annotations(instruction: &Instruction) -> (Option<String>, Option<BTreeMap<String, String>>) {
    let extra = instruction.extra.as_ref();
    let attributes = extra.map(|extra| extra.frontend_attributes.clone()).filter(|it| !it.is_empty());
    (extra.and_then(|extra| extra.sharding.clone()), attributes)
}

/// Equal operations with equal operands have equal numbers.
#[derive(Default)]
struct Numbers(HashMap<(String, Vec<u32>), u32>);

impl Numbers {
    fn of(&mut self, description: String, operands: Vec<u32>) -> Node {
        let next = self.0.len() as u32;
        Node::Leaf(*self.0.entry((description, operands)).or_insert(next))
    }
}

impl Numbers {
    /// Returns a number's operation, and the operations of its operands down to a depth.
    fn expression(&self, number: u32, depth: usize) -> String {
        let found = self.0.iter().find(|(_, own)| **own == number);
        let Some(((description, operands), _)) = found.filter(|_| depth > 0) else { return "…".to_owned() };
        let operands: Vec<String> = operands.iter().map(|&operand| self.expression(operand, depth - 1)).collect();
        format!("{description}({})", operands.join(", "))
    }
}

/// A result: a number, or the elements of a tuple.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Leaf(u32),
    Tuple(Vec<Node>),
}

impl Node {
    fn leaves(&self) -> Vec<u32> {
        match self {
            Node::Leaf(number) => vec![*number],
            Node::Tuple(elements) => elements.iter().flat_map(Node::leaves).collect(),
        }
    }
}

struct Structure<'m, 'n> {
    module: &'m Module,
    numbers: &'n mut Numbers,
    depth: usize,
}

impl Structure<'_, '_> {
    fn leaf(&mut self, description: String, operands: &[u32]) -> Node {
        self.numbers.of(description, operands.to_vec())
    }

    /// Returns a result of this shape with a number for each leaf.
    fn spread(&mut self, shape: &Shape, description: &str, operands: &[u32], next: &mut usize) -> Node {
        match shape {
            Shape::Tuple(elements) => {
                Node::Tuple(elements.iter().map(|it| self.spread(it, description, operands, next)).collect())
            }
            leaf => {
                *next += 1;
                let shape = leaf.as_array().map(|array| (array.element_type, array.dims.clone()));
                self.leaf(format!("{description} {next} {shape:?}"), operands)
            }
        }
    }

    /// Returns new arguments for a computation.
    fn arguments(&mut self, id: ComputationId) -> Vec<Node> {
        let computation = self.module.computation(id);
        let description = format!("argument {}", self.depth);
        let mut next = 0;
        let shapes = computation.parameters().into_iter().map(|id| &computation.instruction(id).shape);
        shapes.map(|shape| self.spread(shape, &description, &[], &mut next)).collect()
    }

    /// Returns the number of a computation that is applied to new arguments.
    fn applied(&mut self, id: ComputationId) -> u32 {
        self.depth += 1;
        let arguments = self.arguments(id);
        let leaves = self.computation(id, &arguments).leaves();
        self.depth -= 1;
        let Node::Leaf(number) = self.leaf(format!("computation {}", self.depth), &leaves) else { unreachable!() };
        number
    }

    fn computation(&mut self, id: ComputationId, arguments: &[Node]) -> Node {
        let computation = self.module.computation(id);
        let mut results: Vec<Node> = Vec::new();
        for instruction in &computation.instructions {
            let operands: Vec<Node> = instruction.operands.iter().map(|id| results[id.index()].clone()).collect();
            results.push(self.instruction(instruction, &operands, arguments));
        }
        results[computation.root.index()].clone()
    }

    fn instruction(&mut self, instruction: &Instruction, operands: &[Node], arguments: &[Node]) -> Node {
        let leaves: Vec<u32> = operands.iter().flat_map(Node::leaves).collect();
        match &instruction.op {
            Op::Parameter { number } => arguments[*number as usize].clone(),
            Op::Tuple => Node::Tuple(operands.to_vec()),
            Op::GetTupleElement { index } => match &operands[0] {
                Node::Tuple(elements) => elements[*index as usize].clone(),
                Node::Leaf(_) => panic!("{} is no tuple", instruction.name),
            },
            Op::Copy => operands[0].clone(),
            Op::Call { to_apply } => self.computation(*to_apply, operands),
            Op::Conditional { branches } => {
                let mut numbers = operands[0].leaves();
                for (&branch, argument) in branches.iter().zip(&operands[1..]) {
                    let result = self.computation(branch, std::slice::from_ref(argument)).leaves();
                    let Node::Leaf(number) = self.leaf("branch".into(), &result) else { unreachable!() };
                    numbers.push(number);
                }
                self.spread(&instruction.shape, "conditional", &numbers, &mut 0)
            }
            op => {
                let mut numbers = leaves;
                numbers.extend(op.called().into_iter().map(|id| self.applied(id)));
                let description = description(instruction);
                self.spread(&instruction.shape, &description, &numbers, &mut 0)
            }
        }
    }
}

/// Returns the attributes that affect what an instruction computes.
fn description(instruction: &Instruction) -> String {
    let mut op = instruction.op.clone();
    op.called_mut().into_iter().for_each(|id| *id = ComputationId(0));
    match &mut op {
        // A bitcast of a row-major array.
        Op::Bitcast => op = Op::Reshape,
        // The largest elements have one order.
        Op::Topk { is_stable, .. } => *is_stable = true,
        Op::ReduceWindow { window, .. } | Op::SelectAndScatter { window, .. } => {
            let rank = instruction.shape.leaves()[0].as_array().unwrap().rank();
            window.dims.resize(rank, WindowDim::default());
        }
        _ => {}
    }
    let extra = instruction.extra.as_ref();
    let precision = extra.map(|extra| extra.other.iter().filter(|(name, _)| name == "operand_precision"));
    let precision: Vec<&(String, String)> =
        precision.into_iter().flatten().filter(|(_, value)| value.contains("high")).collect();
    let config = extra.and_then(|extra| extra.backend_config.as_ref());
    let config = config.filter(|_| matches!(op, Op::CustomCall(_)));
    // Shardings of other operations are hints.
    let annotations = matches!(op, Op::CustomCall(_)).then(|| annotations(instruction));
    format!("{op:?} {precision:?} {config:?} {annotations:?}")
}
