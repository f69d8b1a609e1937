//! The three mechanisms by which the host can call an emitter.
//!
//! [`export_emitters!`](crate::export_emitters) exports the emitters of a crate, so that the host
//! can call them by each of three mechanisms:
//!
//! ```text
//! linked in  the host calls the trait                                         linked_emitters
//! library    bytes through the root module of a cdylib   root, serve, schema
//! process    the same bytes through a pipe
//! ```
//!
//! `host/plugins` implements the host's side of these calls.

pub mod convert;
mod root;
pub mod schema;
mod serve;

#[doc(hidden)]
pub use {abi_stable, inventory};

pub use crate::ir::limits;
pub use root::{LISTING_PREFIX, NOTE_PREFIX, Note, Plugin, PluginRef, ROOT_PREFIX, UNOPTIMISED, listing, listing_size};
pub use serve::serve;

use crate::emitter::{Emitter, Registration};

/// Creates the emitters that are linked into this binary, in no particular order.
pub fn linked_emitters() -> Vec<Box<dyn Emitter>> {
    inventory::iter::<Registration>.into_iter().map(|registration| (registration.make)()).collect()
}

/// Exports the emitters of a crate. The arguments are expressions whose types implement
/// [`Emitter`](crate::emitter::Emitter). Use this macro once per crate.
///
/// If the exporting crate is linked into a program, the crate registers its emitters in this
/// program. If the exporting crate is built as a `cdylib`, the crate is a plugin library. If a
/// [`StaticDescriptor`](crate::emitter::StaticDescriptor) precedes each emitter, the library's file
/// also lists the descriptors, so that `fusebox emitters inspect` shows them without running the
/// library. Each listed descriptor must equal the result of [`Emitter::descriptor`].
///
/// ```
/// use fusebox_core::device::DeviceDescription;
/// use fusebox_core::emitter::*;
///
/// struct Never;
///
/// const NEVER: StaticDescriptor = StaticDescriptor { kind: "loop", name: "never", version: "0.1.0" };
///
/// impl Emitter for Never {
///     fn descriptor(&self) -> Descriptor {
///         NEVER.into()
///     }
///     fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict {
///         Verdict::Decline(Decline { reason: "never takes anything".into(), instruction: None })
///     }
///     fn plan(&self, _: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
///         Err(EmitError { message: "declined".into(), instruction: None })
///     }
///     fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
///         Err(EmitError { message: "declined".into(), instruction: None })
///     }
/// }
///
/// fusebox_core::export_emitters!(NEVER => Never);
///
/// assert_eq!(fusebox_core::plugin::linked_emitters()[0].descriptor().name, "never");
/// ```
#[macro_export]
macro_rules! export_emitters {
    ($($descriptor:expr => $emitter:expr),+ $(,)?) => {
        #[doc(hidden)]
        #[unsafe(export_name = concat!("fusebox_emitters_", env!("CARGO_PKG_NAME")))]
        pub static FUSEBOX_EMITTERS: [u8; $crate::plugin::listing_size(&[$($descriptor),+])] =
            $crate::plugin::listing(&[$($descriptor),+]);

        $crate::export_emitters!($($emitter),+);
    };
    ($($emitter:expr),+ $(,)?) => {
        $(
            $crate::plugin::inventory::submit! {
                $crate::emitter::Registration { make: || ::std::boxed::Box::new($emitter) }
            }
        )+

        #[doc(hidden)]
        #[unsafe(export_name = concat!("fusebox_note_", env!("CARGO_PKG_NAME")))]
        pub static FUSEBOX_NOTE: $crate::plugin::Note =
            $crate::plugin::Note::new(concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")));

        #[doc(hidden)]
        #[unsafe(export_name = concat!("fusebox_root_", env!("CARGO_PKG_NAME")))]
        pub static FUSEBOX_ROOT: $crate::plugin::abi_stable::library::LibHeader = {
            use $crate::plugin::abi_stable::library::{CheckTypeLayout, LibHeader, RootModuleResult};
            use $crate::plugin::abi_stable::prefix_type::PrefixTypeTrait;
            use $crate::plugin::abi_stable::std_types::{RSlice, RVec};
            use $crate::plugin::{Plugin, PluginRef};

            extern "C" fn call(request: RSlice<'_, u8>) -> RVec<u8> {
                let emitters = || -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::emitter::Emitter>> {
                    ::std::vec![$(::std::boxed::Box::new($emitter)),+]
                };
                $crate::plugin::serve(emitters, request.as_slice()).into()
            }

            extern "C" fn root() -> RootModuleResult {
                let module: fn() -> PluginRef = || Plugin { call }.leak_into_prefix();
                $crate::plugin::abi_stable::library::__call_root_module_loader(module)
            }

            // SAFETY: `root` returns a `PluginRef`, erased by `abi_stable` itself.
            unsafe { LibHeader::from_constructor::<PluginRef>(root, CheckTypeLayout::Yes) }
        };
    };
}
