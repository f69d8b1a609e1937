//! Checks the size of every answer before the host processes the answer. The checks apply to
//! linked, loaded and isolated emitters.
//!
//! The limits, and the reasons for each limit, are in [`limits`].

use std::collections::HashSet;

use fusebox_core::emitter::{
    Bid, Candidate, Claim, Configuration, Decline, Descriptor, EmitError, Fusion, HeroPlace, Kernel, KernelCode, Parts,
    Plan, SubgraphKind, Verdict,
};
use fusebox_core::hlo::{ArrayShape, InstrId, Op, Opcode};
use fusebox_core::indexing::IndexingMap;
use fusebox_core::plugin::limits;

use crate::description::EmitterDescription;
use crate::failure::FailureKind;

type CheckResult = Result<(), FailureKind>;

fn at_most(what: &'static str, found: usize, most: usize) -> CheckResult {
    if found <= most { Ok(()) } else { Err(FailureKind::Limit { what, found: found as u64, most: most as u64 }) }
}

/// Cuts a text for the user at the length limit.
pub fn shortened(mut text: String) -> String {
    if text.len() > limits::MOST_MESSAGE_BYTES {
        let end = (0..=limits::MOST_MESSAGE_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" … (cut)");
    }
    text
}

/// Cuts the texts of a refusal at the length limit.
pub fn shortened_error(error: EmitError) -> EmitError {
    EmitError { message: shortened(error.message), instruction: error.instruction.map(shortened) }
}

/// Checks the descriptions of a library's emitters.
pub fn check_descriptions(descriptions: &[EmitterDescription]) -> CheckResult {
    at_most("the number of emitters", descriptions.len(), limits::MOST_EMITTERS)?;
    descriptions.iter().try_for_each(
        |EmitterDescription { descriptor: Descriptor { kind, name, version }, anchors, heroes }| {
            at_most("the number of anchors", anchors.len(), Opcode::ALL.len())?;
            at_most("the number of heroes", heroes.len(), Opcode::ALL.len())?;
            [&kind.0, name, version]
                .into_iter()
                .try_for_each(|text| at_most("the bytes of a name", text.len(), limits::MOST_NAME_BYTES))
        },
    )
}

/// Cuts the texts of a verdict at the length limit.
pub fn shortened_verdict(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Accept | Verdict::OnRequest => verdict,
        Verdict::Decline(decline) => Verdict::Decline(shortened_decline(decline)),
    }
}

fn shortened_decline(Decline { reason, instruction }: Decline) -> Decline {
    Decline { reason: shortened(reason), instruction: instruction.map(shortened) }
}

/// Checks the size of a bid, and cuts its texts at the length limit.
///
/// # Errors
/// If the bid names more instructions than the region has.
pub fn checked_bid(bid: Bid, region: &Fusion) -> Result<Bid, FailureKind> {
    match bid {
        Bid::Take { instructions } => {
            let most = region.computation().instructions.len();
            at_most("the number of instructions of a bid", instructions.len(), most)?;
            Ok(Bid::Take { instructions })
        }
        Bid::Decline(decline) => Ok(Bid::Decline(shortened_decline(decline))),
    }
}

/// Checks a claim.
///
/// # Errors
/// If the claim names more operands than the operation has, if it is too long, or if its numbers
/// are invalid.
pub fn checked_claim(claim: Claim, hero: &Candidate) -> Result<Claim, FailureKind> {
    let operands = hero.region.computation().instruction(hero.anchor).operands.len();
    let wrong = |reason: &str| Err(FailureKind::Claim(reason.into()));
    at_most("the bytes of a claim's form", claim.form.len(), limits::MOST_FORM_BYTES)?;
    at_most("the operands that the results start from", claim.starts_from, operands)?;
    at_most("the operands that are updated", claim.updates, operands)?;
    if let Some(pass) = &claim.pass {
        at_most("the dimensions of a pass", pass.dims.len(), limits::MOST_DIMENSIONS)?;
        at_most("the operands that a pass reads", pass.operands, operands)?;
    }
    if [claim.lost_inside, claim.lost_beside].iter().any(|lost| lost.is_nan() || *lost < 0.0) {
        return wrong("the loss without its kernel must be a number of additions, and not negative");
    }
    if claim.reads.iter().any(|read| !read.is_finite() || *read < 0.0) {
        return wrong("the elements that it reads of an operand must be a finite number, and not negative");
    }
    match claim.reads.len() {
        0 => {}
        count if count == operands => {}
        _ => return wrong("it states the elements read for some operands and not for others"),
    }
    if !claim.orders.is_empty() && !are_orders(&claim.orders, hero) {
        return wrong("an order of an operand must be empty or a permutation of its dimensions, one for each operand");
    }
    if let Some(parts) = &claim.parts {
        check_parts(parts, hero)?;
    }
    match claim.place {
        HeroPlace::BeforeEpilogue if claim.starts_from > 0 => {
            wrong("its results start from operands' values, so it must be the root")
        }
        _ => Ok(claim),
    }
}

/// Checks the parts into which a claim divides an operation.
fn check_parts(parts: &Parts, hero: &Candidate) -> CheckResult {
    let wrong = |reason: &str| Err(FailureKind::Claim(reason.into()));
    let Op::Reduce { dimensions, .. } = &hero.region.computation().instruction(hero.anchor).op else {
        return wrong("it wants parts of an operation that is no reduction");
    };
    let is_ascending = parts.second.is_sorted_by(|one, two| one < two);
    if !is_ascending || !parts.second.iter().all(|dimension| dimensions.contains(dimension)) {
        return wrong("the dimensions of the second step must be dimensions that it reduces, in ascending order");
    }
    if parts.count < 1 || parts.together < 1 {
        return wrong("the number of parts, and of results that are reduced together, must be at least 1");
    }
    at_most("the parts of a reduction", usize::try_from(parts.count).unwrap_or(usize::MAX), limits::MOST_PARTS)?;
    if parts.arithmetic.is_nan() || parts.arithmetic <= 0.0 {
        return wrong("the arithmetic that takes as long as reading an element must be a positive number");
    }
    Ok(())
}

/// Whether `orders` contains one order for each operand, and each order is empty or a permutation
/// of the operand's dimensions.
fn are_orders(orders: &[Vec<i64>], hero: &Candidate) -> bool {
    let computation = hero.region.computation();
    let operands = &computation.instruction(hero.anchor).operands;
    let is_order = |(order, &operand): (&Vec<i64>, &InstrId)| {
        let rank = computation.instruction(operand).shape.as_array().map_or(0, ArrayShape::rank);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        order.is_empty() || sorted.into_iter().eq(0..rank as i64)
    };
    orders.len() == operands.len() && orders.iter().zip(operands).all(is_order)
}

/// Checks the size of all parts of a plan.
pub fn check_plan_size(plan: &Plan) -> CheckResult {
    at_most("the number of the plan's remarks", plan.notes.len(), limits::MOST_NOTES)?;
    for note in &plan.notes {
        at_most("the bytes of a remark", note.len(), limits::MOST_MESSAGE_BYTES)?;
    }
    at_most("the number of alternative configurations", plan.alternatives.len(), limits::MOST_ALTERNATIVES)?;
    std::iter::once(&plan.configuration).chain(&plan.alternatives).try_for_each(check_configuration)?;
    let mut nodes = 0;
    for output in &plan.outputs {
        at_most("the number of an output's maps", output.maps.len(), limits::MOST_MAPS)?;
        for map in &output.maps {
            nodes += check_map(map)?;
        }
    }
    at_most("the number of visits", plan.visits.len(), limits::MOST_VISITS)?;
    for visit in &plan.visits {
        nodes += check_map(&visit.map)?;
    }
    let listed = plan.visits.iter().map(|visit| visit.values.len() + visit.given.len()).sum();
    at_most("the instructions of all visits", listed, limits::MOST_VISITED_INSTRUCTIONS)?;
    at_most("the parts of the plan's maps", nodes, limits::MOST_PLAN_NODES)
}

fn check_configuration(configuration: &Configuration) -> CheckResult {
    at_most("the number of knobs", configuration.0.len(), limits::MOST_KNOBS)?;
    let mut names = configuration.0.keys();
    names.try_for_each(|name| at_most("the bytes of a knob's name", name.len(), limits::MOST_NAME_BYTES))
}

/// Checks the size of a map, and returns its number of nodes.
fn check_map(map: &IndexingMap) -> Result<usize, FailureKind> {
    let variables = map.dims.len() + map.ranges.len() + map.runtime.len();
    at_most("the variables of a map", variables, limits::MOST_VARIABLES)?;
    at_most("the constraints of a map", map.constraints.len(), limits::MOST_CONSTRAINTS)?;
    let nodes = map.node_count();
    at_most("the parts of a map", nodes, limits::MOST_MAP_NODES)?;
    let exprs = map.results.iter().chain(map.constraints.iter().map(|constraint| &constraint.expr));
    let depth = exprs.map(fusebox_core::indexing::Expr::depth).max().unwrap_or(0);
    at_most("the depth of a map's expressions", depth as usize, limits::MOST_EXPRESSION_DEPTH as usize)?;
    Ok(nodes)
}

/// Checks the size of a kernel and of the functions that it calls.
pub fn check_kernel_size(kernel: &Kernel, fusion: &Fusion) -> CheckResult {
    if let KernelCode::Text(text) = &kernel.code {
        at_most("the bytes of the kernel's text", text.len(), limits::MOST_KERNEL_BYTES)?;
    }
    at_most("the number of functions that the kernel calls", kernel.calls.len(), limits::MOST_CALLS)?;
    let mut instructions = 0;
    for call in &kernel.calls {
        let own = call.symbol.len().saturating_sub(fusion.name.len());
        at_most("the bytes of a function's name", own, limits::MOST_SYMBOL_BYTES)?;
        let what = "the instructions of all functions that the kernel calls";
        at_most(what, listed(&call.kind), limits::MOST_CALLED_INSTRUCTIONS)?;
        instructions += reached(&call.kind, fusion);
        at_most(what, instructions, limits::MOST_CALLED_INSTRUCTIONS)?;
    }
    Ok(())
}

fn listed(kind: &SubgraphKind) -> usize {
    match kind {
        SubgraphKind::Values { instructions } => instructions.len(),
        SubgraphKind::Epilogue { roots, heroes } => roots.len() + heroes.len(),
        SubgraphKind::Combiner { .. } => 1,
    }
}

/// Returns the number of instructions that a subgraph function computes. The function's computation
/// starts at parameters and heroes.
fn reached(kind: &SubgraphKind, fusion: &Fusion) -> usize {
    let (roots, given) = match kind {
        SubgraphKind::Values { instructions } => (instructions.as_slice(), [].as_slice()),
        SubgraphKind::Epilogue { roots, heroes } => (roots.as_slice(), heroes.as_slice()),
        SubgraphKind::Combiner { .. } => return 1,
    };
    let computation = fusion.computation();
    let mut seen: HashSet<InstrId> = given.iter().copied().collect();
    let mut open: Vec<InstrId> = roots.to_vec();
    let mut count = listed(kind);
    while let Some(id) = open.pop() {
        let Some(instruction) = computation.instructions.get(id.index()).filter(|_| seen.insert(id)) else { continue };
        count += 1;
        open.extend(&instruction.operands);
    }
    count
}
