//! The code of an executable in a form that can be called. The functions of kernels and the
//! routines of host operations do not change after they are loaded. The functions and routines hold
//! no references to the program's memory: each call passes addresses or bytes.
//!
//! ```text
//! loader       object file -> executable memory
//! kernel       the functions of kernels
//! watchdog     reports kernels that do not end
//! host_op      routines for the operations without kernels   comparator
//! host_code    the kernels and host operations of a program
//! ```

mod comparator;
mod host_code;
mod host_op;
mod kernel;
mod loader;
mod watchdog;

pub use host_code::HostCode;
pub use host_op::{LoadedHostOp, check_steps};
pub use kernel::{CpuFunction, LoadedKernel, SimtFunction};
pub use watchdog::{ObservedLaunches, Watch, Watchdog, WatchedLaunch};
