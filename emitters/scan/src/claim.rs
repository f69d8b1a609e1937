//! What scans ask for.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim};

use crate::plan::LINES;
use crate::problem::Scan;

/// Elements up to which one thread computes a scan as fast as several kernels do.
const FEW: i64 = 1 << 14;

/// Elsewhere than in a kernel of its own, each element combines all before it once more. A scan of fewer lines than keep all
/// cores busy is not asked for: it is better cut in many short ones.
pub fn claim(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    let found = hero.region.analysis::<Scan>();
    let scan = found.as_ref().as_ref().ok()?;
    if scan.lines() / LINES < i64::from(device.core_count) && scan.elements() > FEW {
        return None;
    }
    let lost = scan.elements() as f64 * scan.sizes.steps as f64 / 2.0 * scan.combination;
    Some(Claim { lost_inside: lost, lost_beside: lost, reads: vec![1.0, 0.0], ..Claim::default() })
}
