//! How an emitter reaches the host.
//!
//! [`export_emitters!`](crate::export_emitters) names a crate's emitters once, for all carriers.

#[doc(hidden)]
pub use inventory;

use crate::emitter::{Emitter, Registration};

/// Makes the emitters that are linked into this binary, in no particular order.
pub fn linked_emitters() -> Vec<Box<dyn Emitter>> {
    inventory::iter::<Registration>.into_iter().map(|registration| (registration.make)()).collect()
}

/// Names the emitters of a crate: expressions whose types implement [`Emitter`](crate::emitter::Emitter).
///
/// ```
/// # use fusebox_core::{device::DeviceDescription, emitter::*};
/// # struct Mine;
/// # impl Emitter for Mine {
/// #     fn descriptor(&self) -> Descriptor { todo!() }
/// #     fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict { todo!() }
/// #     fn plan(&self, _: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> { todo!() }
/// #     fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> { todo!() }
/// # }
/// fusebox_core::export_emitters!(Mine);
/// ```
#[macro_export]
macro_rules! export_emitters {
    ($($emitter:expr),+ $(,)?) => {
        $(
            $crate::plugin::inventory::submit! {
                $crate::emitter::Registration { make: || ::std::boxed::Box::new($emitter) }
            }
        )+
    };
}
