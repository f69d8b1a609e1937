//! The simulator: the GPU form of a kernel as code for this processor, which tells of what it does.

use super::{Form, TargetInfo, cpu};

pub(super) fn info() -> TargetInfo {
    TargetInfo {
        name: "simt".into(),
        form: Form::Thread,
        reports_accesses: true,
        warp: 32,
        splits_loops: false,
        ..cpu::info()
    }
}
