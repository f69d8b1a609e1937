//! The simulator as a target. A kernel for the simulator has the form of a GPU kernel, but lowering
//! compiles it to code for this processor. The compiled code reports its memory accesses to the
//! simulator.

use fusebox_core::builder::Abilities;
use fusebox_core::device::{DeviceDescription, NarrowProducts};

use super::{Family, Form, Runner, TargetInfo, cpu};

pub(super) const FAMILY: Family = Family { names: "simt", named: |name| (name == "simt").then(info) };

pub(super) fn info() -> TargetInfo {
    let cpu = cpu::info();
    TargetInfo {
        device: DeviceDescription::simt(),
        runner: Some(Runner::Simulator),
        form: Form::Thread,
        reports_accesses: true,
        warp: 32,
        splits_loops: false,
        tile_products: NarrowProducts::default(),
        word_products: NarrowProducts::default(),
        // The simulator does not flush subnormal numbers, because GPUs do not.
        math: Abilities { flushes: false, ..cpu.math },
        ..cpu
    }
}
