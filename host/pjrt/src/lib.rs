//! The library `libfusebox_pjrt.so`, which makes fusebox a backend of JAX. The library has the C
//! interface PJRT: one exported function returns a table of functions.
//!
//! ```text
//! abi          types of the interface, entry of every function
//! error        errors with the interface's codes           event        completion of an operation
//! element      numbers of element types                    strides      copies between layouts
//! device       memory of devices, and execution of programs
//! messages     protobuf messages of options                options      options as text
//! compiler     program + options -> executable             signature    parameters and outputs
//! client       client, devices, memories                   topology     devices without a client
//! buffer       arrays of a client                          executable   programs of a client
//! calls        the functions, by subject                   table        the functions, in order
//! python       calls of Python functions by programs        progress     a line about long work
//! recorder     executions that a profile records            workshop     the tools for Python
//! foreign      calls of functions that users register by `jax.ffi`
//! sharding     divisions of arrays among devices           tiles      copies of parts of arrays
//! ```

mod abi;
mod buffer;
mod calls;
mod client;
mod compiler;
mod device;
mod element;
mod error;
mod event;
mod executable;
mod foreign;
mod messages;
mod options;
mod progress;
mod python;
mod recorder;
mod sharding;
mod signature;
mod strides;
mod table;
mod tiles;
mod topology;
mod workshop;

pub use foreign::{FuseboxRegisterForeignFunction, Stages};
pub use python::{FuseboxSetPythonCallback, Trampoline};
pub use table::{Api, NAMES};
pub use workshop::{
    FuseboxAb, FuseboxBeginProfile, FuseboxEndProfile, FuseboxExplain, FuseboxFree, FuseboxInterrupt, FuseboxTune,
    Reply, ToolCall,
};

/// Returns the table of functions. JAX calls this function once, after it has opened the library.
#[unsafe(no_mangle)]
pub extern "C" fn GetPjrtApi() -> *const Api {
    table::api()
}
