//! The choice of a software driver, which executes code for NVIDIA GPUs without a GPU.

use std::path::PathBuf;

use clap::Args;
use fusebox_workshop::driver::SoftwareDriver;

use crate::exit::Failure;

/// The software driver that the user names.
#[derive(Clone, Debug, Default, Args)]
pub struct DriverChoice {
    /// Software driver that executes code for NVIDIA GPUs without a GPU: the library
    /// libsoftware_cuda.so. Default: the environment variable FUSEBOX_CUDA_DRIVER
    #[arg(long, value_name = "LIBRARY")]
    pub driver: Option<PathBuf>,
}

impl DriverChoice {
    /// Returns the driver that the user has named, or the driver in `LD_LIBRARY_PATH`.
    pub fn find(&self) -> Result<SoftwareDriver, Failure> {
        Ok(SoftwareDriver::find(self.driver.as_deref(), this_program()?)?)
    }

    /// Returns the driver that the user has named, or `None` if the user has not named one.
    pub fn chosen(&self) -> Result<Option<SoftwareDriver>, Failure> {
        Ok(SoftwareDriver::chosen(self.driver.as_deref(), this_program()?)?)
    }
}

/// Returns the path of the running program's file.
pub fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::Bug(format!("cannot find this program: {error}")))
}
