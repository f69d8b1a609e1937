//! The extension of the interface that tells how the parameters and outputs of a program are
//! divided among devices.

use crate::abi::{Call, Handle, arguments};
use crate::error::Answer;
use crate::executable::{Loaded, Messages};

arguments! {
    ExecutableParameterShardings("PJRT_Shardings_PJRT_Executable_ParameterShardings") {
        executable: Handle<Loaded>,
        count: usize,
        shardings: *const usize,
        lengths: *const usize,
    }
    ExecutableOutputShardings("PJRT_Shardings_PJRT_Executable_OutputShardings") {
        executable: Handle<Loaded>,
        count: usize,
        shardings: *const usize,
        lengths: *const usize,
    }
}

/// Returns the number of messages, a pointer to their addresses, and a pointer to their lengths.
/// For a program of one device, the number is 0 and both pointers are null.
fn pointers(messages: &Messages, is_divided: bool) -> (usize, *const usize, *const usize) {
    let Messages { starts, lengths, .. } = messages;
    if is_divided { (starts.len(), starts.as_ptr(), lengths.as_ptr()) } else { (0, std::ptr::null(), std::ptr::null()) }
}

impl Call for ExecutableParameterShardings {
    fn call(&mut self) -> Answer {
        let loaded = self.executable.get()?;
        (self.count, self.shardings, self.lengths) = pointers(&loaded.lists.parameter_shardings, loaded.partitions > 1);
        Ok(())
    }
}

impl Call for ExecutableOutputShardings {
    fn call(&mut self) -> Answer {
        let loaded = self.executable.get()?;
        (self.count, self.shardings, self.lengths) = pointers(&loaded.lists.output_shardings, loaded.partitions > 1);
        Ok(())
    }
}
