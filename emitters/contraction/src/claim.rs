//! Claims for dots and convolutions.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, Configuration, HeroPlace};

use crate::depthwise;
use crate::gpu;
use crate::library::PlainDot;
use crate::problem::ProductProblem;
use crate::tiles::TileSizes;

/// Returns the claim for a dot or convolution. Outside a kernel of the kind `contraction`, each
/// result element is a sequential sum of products. Operands are read as often as tiles pack them.
pub fn claim(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    tiled(hero, device).or_else(|| of_library(hero, device))
}

/// Returns the claim for a dot that only the library computes fast: nothing is fused with it.
fn of_library(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    let analysed = hero.region.analysis::<PlainDot>();
    let plain = analysed.as_ref().as_ref().ok()?;
    plain.check(device).ok()?;
    let lost = plain.products;
    let operands = hero.region.computation().instruction(hero.anchor).operands.len();
    let place = HeroPlace::Root;
    Some(Claim { place, lost_inside: lost, lost_beside: lost, reads: vec![lost; operands], ..Claim::default() })
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
    Some(Claim { lost_inside: lost, lost_beside: lost, reads: reads.to_vec(), ..Claim::default() })
}

/// Returns the claim for a convolution that is no matrix product: each element of the input is read
/// once per window position.
fn of_depthwise(hero: &Candidate) -> Option<Claim> {
    let analysed = hero.region.analysis::<depthwise::DepthwiseProblem>();
    let problem = analysed.as_ref().as_ref().ok()?;
    problem.check().ok()?;
    let lost = problem.products() as f64;
    Some(Claim { lost_inside: lost, lost_beside: lost, reads: problem.reads_per_result().to_vec(), ..Claim::default() })
}
