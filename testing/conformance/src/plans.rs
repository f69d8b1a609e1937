//! Plans that keep what they promise, and kernels that come out of them.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan, Verdict};
use fusebox_core::hlo::parse_module;
use fusebox_plugins::{Produced, Registry, produce};

use crate::{Failure, Preferred};

/// The first plan of a fusion. It and those of all configurations that it offers are made twice, equal both times;
/// they reach every element as they should, keep within the device's limits, and give a kernel.
///
/// # Errors
/// The first thing that is wrong; that the emitter declines is, too.
pub fn check(emitter: &'static dyn Emitter, fusion: &Fusion, device: &DeviceDescription) -> Result<Plan, Failure> {
    let failed = |configuration: &Configuration, fault: String| {
        let place = format!("{} with {:?}", device.name, configuration.0);
        Failure::of(&emitter.descriptor().name, &place, fault, &fusebox_core::hlo::print_module(&fusion.module))
    };
    let default = Configuration::default();
    if let Verdict::Decline(decline) = emitter.consider(fusion, device) {
        return Err(failed(&default, format!("it declines: {}", decline.reason)));
    }
    let registry =
        Registry::new(vec![Box::new(Preferred { emitter, place: 0 })]).map_err(|e| failed(&default, e.to_string()))?;
    let made = |configuration: &Configuration| {
        let made = produce(&registry.emitters()[0], fusion, device, configuration);
        let Produced { plan, kernel } = made.map_err(|e| failed(configuration, e.to_string()))?;
        let again =
            emitter.plan(fusion, device, configuration).map(|again| (emitter.emit(fusion, device, &again), again));
        match again {
            Ok((Ok(same), again)) if (&same, &again) == (&kernel, &plan) => Ok(plan),
            _ => Err(failed(configuration, "asked twice it answers differently".into())),
        }
    };
    let first = made(&default)?;
    for configuration in std::iter::once(&first.configuration).chain(&first.alternatives) {
        let plan = made(configuration)?;
        if plan.configuration != *configuration {
            return Err(failed(configuration, format!("the plan is one with {:?}", plan.configuration.0)));
        }
    }
    Ok(first)
}

/// The same for a fusion's text: the number of plans, `None` if the emitter declines the fusion.
///
/// # Errors
/// See [`check`].
pub fn check_text(
    emitter: &'static dyn Emitter,
    text: &str,
    device: &DeviceDescription,
) -> Result<Option<usize>, Failure> {
    let fusion = fusion(text);
    match emitter.consider(&fusion, device) {
        Verdict::Decline(_) => Ok(None),
        Verdict::Accept | Verdict::Scored { .. } => {
            check(emitter, &fusion, device).map(|plan| Some(1 + plan.alternatives.len()))
        }
    }
}

/// A fusion from its text: the last computation, and what it applies.
///
/// # Panics
/// If it is no HLO.
pub fn fusion(text: &str) -> Fusion {
    let module = parse_module(text, "fusion.hlo").unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    Fusion::new("kernel", module).unwrap_or_else(|| panic!("there is no computation\n{text}"))
}
