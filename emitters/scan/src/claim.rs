//! Claims for scans.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim};

use crate::plan::LINES;
use crate::problem::Scan;

/// Largest number of elements of a scan for which one thread is as fast as several kernels that
/// split the scan into short scans.
const FEW: i64 = 1 << 14;

/// Returns the claim for a scan. If the kernel of another operation computed the scan, the kernel
/// would combine all previous elements again for each result. Returns `None` for a scan with too
/// few lines to keep all cores busy, because splitting such a scan into many short scans is faster.
pub fn claim(hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
    let analysed = hero.region.analysis::<Scan>();
    let scan = analysed.as_ref().as_ref().ok()?;
    if scan.lines() / LINES < i64::from(device.core_count) && scan.elements() > FEW {
        return None;
    }
    let lost = scan.elements() as f64 * scan.sizes.steps as f64 / 2.0 * scan.combination;
    Some(Claim { lost_inside: lost, lost_beside: lost, reads: vec![1.0, 0.0], ..Claim::default() })
}
