//! Functions that return properties of executables, and functions that delete or destroy
//! executables. The interface has one kind of handle for executables with devices and another kind
//! for executables without devices. In fusebox, handles of both kinds refer to the same object.

use crate::abi::{Call, Handle, Holder, List, NamedValue, Reference, Text, arguments};
use crate::client::Device;
use crate::error::Answer;
use crate::executable::{Loaded, LogicalId};

arguments! {
    ExecutableDestroy("PJRT_Executable_Destroy") { executable: Handle<Loaded>, }
    ExecutableName("PJRT_Executable_Name") { executable: Handle<Loaded>, name: Text, }
    ExecutableNumReplicas("PJRT_Executable_NumReplicas") { executable: Handle<Loaded>, count: usize, }
    ExecutableNumPartitions("PJRT_Executable_NumPartitions") { executable: Handle<Loaded>, count: usize, }
    ExecutableNumOutputs("PJRT_Executable_NumOutputs") { executable: Handle<Loaded>, count: usize, }
    ExecutableSizeOfGeneratedCode("PJRT_Executable_SizeOfGeneratedCodeInBytes") {
        executable: Handle<Loaded>,
        bytes: i64,
    }
    ExecutableFingerprint("PJRT_Executable_Fingerprint") { executable: Handle<Loaded>, fingerprint: Text, }
    LoadedFingerprint("PJRT_LoadedExecutable_Fingerprint") { executable: Handle<Loaded>, fingerprint: Text, }
    ExecutableGetCostAnalysis("PJRT_Executable_GetCostAnalysis") {
        executable: Handle<Loaded>,
        count: usize,
        properties: *const NamedValue,
    }
    /// The numbers are bytes, in this order: code, arguments, outputs, aliases, temporaries; the
    /// same five numbers for the host; peak, total, allocations, indefinite allocations, peak
    /// without padding.
    ExecutableGetCompiledMemoryStats("PJRT_Executable_GetCompiledMemoryStats") {
        executable: Handle<Loaded>,
        numbers: [i64; 15],
    }
    ExecutableOutputMemoryKinds("PJRT_Executable_OutputMemoryKinds") {
        executable: Handle<Loaded>,
        count: usize,
        names: *const usize,
        lengths: *const usize,
    }
    ExecutableParameterMemoryKinds("PJRT_Executable_ParameterMemoryKinds") {
        executable: Handle<Loaded>,
        count: usize,
        names: *const usize,
        lengths: *const usize,
    }
    ExecutableOutputElementTypes("PJRT_Executable_OutputElementTypes") {
        executable: Handle<Loaded>,
        types: List<i32>,
    }
    ExecutableOutputDimensions("PJRT_Executable_OutputDimensions") {
        executable: Handle<Loaded>,
        count: usize,
        dims: *const i64,
        ranks: *const usize,
    }
    ExecutableGetCompileOptions("PJRT_Executable_GetCompileOptions") { executable: Handle<Loaded>, holder: Holder, }
    LoadedDestroy("PJRT_LoadedExecutable_Destroy") { executable: Handle<Loaded>, }
    LoadedGetExecutable("PJRT_LoadedExecutable_GetExecutable") {
        loaded: Handle<Loaded>,
        executable: Handle<Loaded>,
    }
    LoadedAddressableDevices("PJRT_LoadedExecutable_AddressableDevices") {
        executable: Handle<Loaded>,
        devices: List<Reference<Device>>,
    }
    LoadedAddressableDeviceLogicalIds("PJRT_LoadedExecutable_AddressableDeviceLogicalIds") {
        executable: Handle<Loaded>,
        positions: List<LogicalId>,
    }
    LoadedDelete("PJRT_LoadedExecutable_Delete") { executable: Handle<Loaded>, }
    LoadedIsDeleted("PJRT_LoadedExecutable_IsDeleted") { executable: Handle<Loaded>, is_deleted: u8, }
    LoadedGetDeviceAssignment("PJRT_LoadedExecutable_GetDeviceAssignment") {
        executable: Handle<Loaded>,
        holder: Holder,
    }
}

impl Call for ExecutableDestroy {
    fn call(&mut self) -> Answer {
        self.executable.destroy()
    }
}

impl Call for LoadedDestroy {
    fn call(&mut self) -> Answer {
        self.executable.destroy()
    }
}

impl Call for ExecutableName {
    fn call(&mut self) -> Answer {
        self.name = Text::of(&self.executable.get()?.name);
        Ok(())
    }
}

impl Call for ExecutableNumReplicas {
    fn call(&mut self) -> Answer {
        self.executable.get()?;
        self.count = 1;
        Ok(())
    }
}

impl Call for ExecutableNumPartitions {
    fn call(&mut self) -> Answer {
        self.count = self.executable.get()?.partitions;
        Ok(())
    }
}

impl Call for ExecutableNumOutputs {
    fn call(&mut self) -> Answer {
        self.count = self.executable.get()?.signature.outputs.len();
        Ok(())
    }
}

impl Call for ExecutableSizeOfGeneratedCode {
    fn call(&mut self) -> Answer {
        self.bytes = self.executable.get()?.figures.code_bytes;
        Ok(())
    }
}

impl Call for ExecutableFingerprint {
    fn call(&mut self) -> Answer {
        self.fingerprint = Text::of(&self.executable.get()?.figures.fingerprint);
        Ok(())
    }
}

impl Call for LoadedFingerprint {
    fn call(&mut self) -> Answer {
        self.fingerprint = Text::of(&self.executable.get()?.figures.fingerprint);
        Ok(())
    }
}

impl Call for ExecutableGetCostAnalysis {
    fn call(&mut self) -> Answer {
        let costs = &self.executable.get()?.lists.costs;
        (self.count, self.properties) = (costs.len(), costs.as_ptr());
        Ok(())
    }
}

impl Call for ExecutableGetCompiledMemoryStats {
    fn call(&mut self) -> Answer {
        let Loaded { signature, figures, .. } = self.executable.get()?;
        let arguments: i64 = signature.parameters.iter().map(|it| it.bytes()).sum();
        let outputs: i64 = signature.outputs.iter().map(|it| it.bytes()).sum();
        let total = arguments + outputs - figures.alias_bytes + figures.temporary_bytes;
        self.numbers = [0; 15];
        let own = [figures.code_bytes, arguments, outputs, figures.alias_bytes, figures.temporary_bytes];
        self.numbers[..5].copy_from_slice(&own);
        self.numbers[10..].copy_from_slice(&[total, total, total, 0, total]);
        Ok(())
    }
}

impl Call for ExecutableOutputMemoryKinds {
    fn call(&mut self) -> Answer {
        let Loaded { signature, lists, .. } = self.executable.get()?;
        self.count = signature.outputs.len();
        (self.names, self.lengths) = (lists.kind_names.as_ptr(), lists.kind_lengths.as_ptr());
        Ok(())
    }
}

impl Call for ExecutableParameterMemoryKinds {
    fn call(&mut self) -> Answer {
        let Loaded { signature, lists, .. } = self.executable.get()?;
        self.count = signature.parameters.len();
        (self.names, self.lengths) = (lists.kind_names.as_ptr(), lists.kind_lengths.as_ptr());
        Ok(())
    }
}

impl Call for ExecutableOutputElementTypes {
    fn call(&mut self) -> Answer {
        self.types = List::of(&self.executable.get()?.lists.output_types);
        Ok(())
    }
}

impl Call for ExecutableOutputDimensions {
    fn call(&mut self) -> Answer {
        let lists = &self.executable.get()?.lists;
        self.count = lists.output_ranks.len();
        (self.dims, self.ranks) = (lists.output_dims.as_ptr(), lists.output_ranks.as_ptr());
        Ok(())
    }
}

impl Call for ExecutableGetCompileOptions {
    fn call(&mut self) -> Answer {
        self.holder = Holder::of(self.executable.get()?.options.clone());
        Ok(())
    }
}

impl Call for LoadedGetExecutable {
    fn call(&mut self) -> Answer {
        self.executable = Handle::NULL;
        self.executable = Handle::of(self.loaded.shared()?)?;
        Ok(())
    }
}

impl Call for LoadedAddressableDevices {
    fn call(&mut self) -> Answer {
        self.devices = List::of(&self.executable.get()?.lists.devices);
        Ok(())
    }
}

impl Call for LoadedAddressableDeviceLogicalIds {
    fn call(&mut self) -> Answer {
        self.positions = List::of(&self.executable.get()?.lists.positions);
        Ok(())
    }
}

impl Call for LoadedDelete {
    fn call(&mut self) -> Answer {
        self.executable.get()?.delete();
        Ok(())
    }
}

impl Call for LoadedIsDeleted {
    fn call(&mut self) -> Answer {
        self.is_deleted = self.executable.get()?.is_deleted().into();
        Ok(())
    }
}

impl Call for LoadedGetDeviceAssignment {
    fn call(&mut self) -> Answer {
        self.holder = Holder::of(self.executable.get()?.assignment.clone());
        Ok(())
    }
}
