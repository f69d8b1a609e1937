//! Checks that the plans of an emitter keep their promises, and that the emitter builds a kernel
//! from each plan.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan, PlanFault, Verdict, check_visits};
use fusebox_plugins::{FailureKind, LoadedEmitter, Registry, produce};

use crate::{Failure, StaticEmitter, compiler};

/// A fault in a plan or kernel that an emitter builds for a fusion.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The plan or kernel is missing or wrong.
    #[error("with {:?}: {}", .1.0, .0)]
    Failed(FailureKind, Configuration),
    /// A plan states impossible visits.
    #[error("with {:?}: {}", .0.1.0, .0.0)]
    Visits(Box<(PlanFault, Configuration)>),
    /// The emitter answered the same question twice, and the answers differ.
    #[error("with {:?}: asked twice it answers differently", .0.0)]
    Differs(Configuration),
    /// A plan has other knobs than the caller requested.
    #[error("with {:?}: the plan is one with {:?}", .0.0, .1.0)]
    OtherConfiguration(Configuration, Configuration),
}

/// Builds a plan of a fusion with the default knobs, and one plan for each alternative that the
/// default plan offers. Builds each plan and the plan's kernel twice. Both plans must be equal, and
/// both kernels must be equal. Plans must cover every element as required, and must stay within the
/// device's limits. Returns the configurations of all plans, beginning with the default plan.
/// Returns `None` if the emitter declines the fusion.
///
/// # Errors
/// The first fault.
pub fn planned(
    emitter: &LoadedEmitter,
    fusion: &Fusion,
    device: &DeviceDescription,
) -> Result<Option<Vec<Configuration>>, PlanError> {
    let default = Configuration::default();
    let failed = |failure: fusebox_plugins::Failure| PlanError::Failed(failure.kind, default.clone());
    if let Verdict::Decline(_) = emitter.consider(fusion, device).map_err(failed)? {
        return Ok(None);
    }
    let first = built_twice(emitter, fusion, device, &default)?;
    let mut configurations = vec![first.configuration];
    configurations.extend(first.alternatives);
    for configuration in &configurations {
        let plan = built_twice(emitter, fusion, device, configuration)?;
        if plan.configuration != *configuration {
            return Err(PlanError::OtherConfiguration(configuration.clone(), plan.configuration));
        }
    }
    Ok(Some(configurations))
}

fn built_twice(
    emitter: &LoadedEmitter,
    fusion: &Fusion,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Plan, PlanError> {
    let make = || {
        let made = produce(emitter, fusion, device, configuration);
        made.map_err(|unfinished| PlanError::Failed(unfinished.failure.kind, configuration.clone()))
    };
    let made = make()?;
    if make()? != made {
        return Err(PlanError::Differs(configuration.clone()));
    }
    let wrong = |fault| PlanError::Visits(Box::new((fault, configuration.clone())));
    check_visits(&made.plan, fusion).map_err(wrong)?;
    Ok(made.plan)
}

/// [Checks](planned) the default plan of a fusion and all alternatives. Returns the default plan.
///
/// # Errors
/// The first fault. It is also a fault if the emitter declines the fusion.
pub fn check(emitter: &'static dyn Emitter, fusion: &Fusion, device: &DeviceDescription) -> Result<Plan, Failure> {
    let failed = |fault: String| {
        let text = fusebox_core::hlo::print_module(&fusion.module);
        Failure::of(&emitter.descriptor().name, &device.name, fault, &text)
    };
    if let Verdict::Decline(decline) = emitter.consider(fusion, device) {
        return Err(failed(format!("it declines: {}", decline.reason)));
    }
    let registry = Registry::new(vec![Box::new(StaticEmitter(emitter))]).map_err(|e| failed(e.to_string()))?;
    for loaded in registry.emitters() {
        planned(loaded, fusion, device).map_err(|error| failed(error.to_string()))?;
    }
    emitter.plan(fusion, device, &Configuration::default()).map_err(|error| failed(error.to_string()))
}

/// Parses a fusion and checks its plans. Returns the number of plans, or `None` if the emitter
/// declines the fusion.
///
/// # Errors
/// The errors of [`check`].
pub fn check_text(
    emitter: &'static dyn Emitter,
    text: &str,
    device: &DeviceDescription,
) -> Result<Option<usize>, Failure> {
    let fusion = parsed(text)?;
    match emitter.consider(&fusion, device) {
        Verdict::Decline(_) => Ok(None),
        Verdict::Accept | Verdict::OnRequest => {
            check(emitter, &fusion, device).map(|plan| Some(1 + plan.alternatives.len()))
        }
    }
}

/// Parses the text of a fusion. The last computation is the fusion, and the other computations are
/// those that the fusion applies.
///
/// # Errors
/// If the text is invalid HLO.
pub fn parsed(text: &str) -> Result<Fusion, Failure> {
    let module = compiler::parsed(text)?;
    Fusion::new("kernel", module)
        .ok_or_else(|| Failure::of("the parser", "any machine", "there is no computation", text))
}
