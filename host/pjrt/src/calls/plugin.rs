//! The library itself.

use std::sync::OnceLock;

use crate::abi::{Call, List, NamedValue, arguments};
use crate::error::Answer;

/// Version of StableHLO in which JAX writes programs for fusebox.
const STABLEHLO: &[i64] = &[1, 13, 7];
/// Oldest version of StableHLO that fusebox reads.
const OLDEST_STABLEHLO: &[i64] = &[0, 9, 0];
/// Version of the MLIR dialect `sdy`, in which programs state shardings.
const SHARDINGS: &[i64] = &[0, 0, 1];

arguments! {
    PluginInitialize("PJRT_Plugin_Initialize") {}
    PluginAttributes("PJRT_Plugin_Attributes") { attributes: List<NamedValue>, }
}

impl Call for PluginInitialize {
    fn call(&mut self) -> Answer {
        Ok(())
    }
}

impl Call for PluginAttributes {
    fn call(&mut self) -> Answer {
        static ATTRIBUTES: OnceLock<[NamedValue; 4]> = OnceLock::new();
        let attributes = ATTRIBUTES.get_or_init(|| {
            [
                NamedValue::integer("xla_version", 2),
                NamedValue::integers("stablehlo_current_version", STABLEHLO),
                NamedValue::integers("stablehlo_minimum_version", OLDEST_STABLEHLO),
                NamedValue::integers("sdy_current_version", SHARDINGS),
            ]
        });
        self.attributes = List::of(attributes);
        Ok(())
    }
}
