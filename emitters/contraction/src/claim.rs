//! Claims for dots and convolutions.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, Configuration, HeroPlace};

use crate::depthwise;
use crate::gpu;
use crate::library::PlainDot;
use crate::orders::orders;
use crate::problem::ProductProblem;
use crate::row_sums::is_faster_as_sum;
use crate::tiles::TileSizes;

/// Returns the claim for a dot or convolution. A kernel of another kind computes each result
/// element as a sequential sum of products. A contraction kernel reads an operand element once for
/// each tile that packs it.
pub fn claim(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    let as_sum = is_faster_as_sum(hero, device);
    let claim = tiled(hero, device).or_else(|| of_library(hero, device)).or_else(|| of_other_kernels(hero, as_sum));
    claim.map(|claim| Claim { as_sum, ..claim })
}

/// Returns the claim for a dot whose elements the kernels of other emitters compute one by one. The
/// claim states only the preferred orders of the operands, and whether a multiplication and a sum
/// are faster than the dot. The kernels of other emitters, too, are faster if a vector holds
/// adjacent elements of the result.
fn of_other_kernels(hero: &Candidate, as_sum: bool) -> Option<Claim> {
    let orders = orders(hero);
    let claim = Claim { place: HeroPlace::Nowhere, orders, as_sum, ..Claim::default() };
    let has_wishes = as_sum || claim.orders.iter().any(|order| !order.is_empty());
    has_wishes.then_some(claim)
}

/// Returns the claim for a dot that only the host's library computes fast. With this claim, the
/// host fuses no other instruction with the dot.
fn of_library(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    let analysed = hero.region.analysis::<PlainDot>();
    let plain = analysed.as_ref().as_ref().ok()?;
    plain.check(device).ok()?;
    let lost = plain.products;
    let operands = hero.region.computation().instruction(hero.anchor).operands.len();
    let place = HeroPlace::Root;
    let (reads, orders) = (vec![lost; operands], orders(hero));
    Some(Claim { place, lost_inside: lost, lost_beside: lost, reads, orders, ..Claim::default() })
}

fn tiled(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    let analysed = hero.region.analysis::<ProductProblem>();
    let problem = analysed.as_ref().as_ref();
    let (mut reads, lost) = if device.is_single_threaded_block() {
        let Some(problem) = problem.ok().filter(|problem| problem.check().is_ok()) else {
            return of_depthwise(hero);
        };
        let tiles = TileSizes::new(problem, device, &Configuration::default()).ok()?;
        (tiles.reads_per_result(), tiles.products() as f64)
    } else {
        gpu::claimed(problem.ok()?, device)?
    };
    let problem = problem.ok()?;
    let operands = &hero.region.computation().instruction(hero.anchor).operands;
    if problem.operands[0].instruction != operands[0] {
        reads.reverse();
    }
    Some(Claim {
        lost_inside: lost,
        lost_beside: lost,
        reads: reads.to_vec(),
        orders: orders(hero),
        ..Claim::default()
    })
}

/// Returns the claim for a convolution that is not computed as a matrix product. The kernel reads
/// an input element once for each row of the result that needs the element.
fn of_depthwise(hero: &Candidate) -> Option<Claim> {
    let analysed = hero.region.analysis::<depthwise::DepthwiseProblem>();
    let problem = analysed.as_ref().as_ref().ok()?;
    problem.check().ok()?;
    let lost = problem.products() as f64;
    Some(Claim { lost_inside: lost, lost_beside: lost, reads: problem.reads_per_result().to_vec(), ..Claim::default() })
}
