//! Execution.

use crate::abi::{Call, ExecuteOptions, Handle, Reference, arguments, read_struct};
use crate::buffer::Buffer;
use crate::client::Device;
use crate::error::{Answer, Error};
use crate::event::Event;
use crate::executable::{Loaded, Run};

/// Resources that a caller shares with custom calls. fusebox uses none of them.
pub struct ExecuteContext;

arguments! {
    /// The lists of arguments, of outputs and of events have one entry per device.
    LoadedExecute("PJRT_LoadedExecutable_Execute") {
        executable: Handle<Loaded>,
        options: *const ExecuteOptions,
        arguments: *const *const Handle<Buffer>,
        devices: usize,
        count: usize,
        outputs: *const *mut Handle<Buffer>,
        events: *mut Handle<Event>,
        device: Reference<Device>,
    }
    ExecuteContextCreate("PJRT_ExecuteContext_Create") { context: Handle<ExecuteContext>, }
    ExecuteContextDestroy("PJRT_ExecuteContext_Destroy") { context: Handle<ExecuteContext>, }
}

impl Call for LoadedExecute {
    fn call(&mut self) -> Answer {
        let loaded = self.executable.get()?;
        if self.devices != 1 {
            let devices = self.devices;
            return Err(Error::unimplemented(format!("an execution on {devices} devices; programs run on one device")));
        }
        // SAFETY: the caller passes options; any bytes are valid for their fields.
        let options = unsafe { read_struct(self.options) }?;
        if options.sends > 0 || options.receives > 0 {
            return Err(Error::unimplemented("transfers between a program and its caller"));
        }
        if (self.arguments.is_null() && self.count > 0) || self.outputs.is_null() {
            return Err(Error::misuse("the lists of arguments or outputs are null"));
        }
        let arguments: &[Handle<Buffer>] = if self.count == 0 {
            &[]
        } else {
            // SAFETY: there is a list for the only device, and it has `count` arguments.
            unsafe { std::slice::from_raw_parts(*self.arguments, self.count) }
        };
        let arguments: Vec<&Buffer> = arguments.iter().map(Handle::get).collect::<Answer<_>>()?;
        let device = if self.device.is_null() { None } else { Some(self.device.get()?) };
        let Run { outputs, done } = loaded.run(device, &arguments, options.not_donated.elements()?)?;
        for (number, output) in outputs.into_iter().enumerate() {
            // SAFETY: the caller's list has room for all outputs.
            unsafe { (*self.outputs).add(number).write(Handle::of(output)) };
        }
        if !self.events.is_null() {
            // SAFETY: the caller's list has room for an event per device.
            unsafe { self.events.write(Handle::of(done)) };
        }
        Ok(())
    }
}

impl Call for ExecuteContextCreate {
    fn call(&mut self) -> Answer {
        self.context = Handle::of(ExecuteContext.into());
        Ok(())
    }
}

impl Call for ExecuteContextDestroy {
    fn call(&mut self) -> Answer {
        self.context.destroy();
        Ok(())
    }
}
