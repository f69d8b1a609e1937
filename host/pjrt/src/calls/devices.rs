//! Devices and their descriptions.

use std::ffi::c_void;

use crate::abi::{Call, Deleter, List, NamedValue, Reference, Text, arguments, keep_static};
use crate::client::{Device, Memory};
use crate::error::{Answer, Error};
use crate::topology::{DEVICE_KIND, DeviceDescription};

/// A number that may be unknown.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Optional {
    pub value: i64,
    pub is_set: u8,
}

arguments! {
    DeviceDescriptionId("PJRT_DeviceDescription_Id") { device: Reference<DeviceDescription>, number: i32, }
    DeviceDescriptionProcessIndex("PJRT_DeviceDescription_ProcessIndex") {
        device: Reference<DeviceDescription>,
        index: i32,
    }
    DeviceDescriptionAttributes("PJRT_DeviceDescription_Attributes") {
        device: Reference<DeviceDescription>,
        count: usize,
        attributes: *const NamedValue,
    }
    DeviceDescriptionKind("PJRT_DeviceDescription_Kind") { device: Reference<DeviceDescription>, kind: Text, }
    DeviceDescriptionDebugString("PJRT_DeviceDescription_DebugString") {
        device: Reference<DeviceDescription>,
        text: Text,
    }
    DeviceDescriptionToString("PJRT_DeviceDescription_ToString") { device: Reference<DeviceDescription>, text: Text, }
    DeviceGetDescription("PJRT_Device_GetDescription") {
        device: Reference<Device>,
        description: Reference<DeviceDescription>,
    }
    DeviceIsAddressable("PJRT_Device_IsAddressable") { device: Reference<Device>, is_addressable: u8, }
    DeviceLocalHardwareId("PJRT_Device_LocalHardwareId") { device: Reference<Device>, number: i32, }
    DeviceAddressableMemories("PJRT_Device_AddressableMemories") {
        device: Reference<Device>,
        memories: List<Reference<Memory>>,
    }
    DeviceDefaultMemory("PJRT_Device_DefaultMemory") { device: Reference<Device>, memory: Reference<Memory>, }
    /// The numbers in `others` are, in this order: peak bytes in use, allocations, largest
    /// allocation, limit, reserved, peak reserved, reservable, largest free block, pool, peak of
    /// the pool.
    DeviceMemoryStats("PJRT_Device_MemoryStats") {
        device: Reference<Device>,
        bytes_in_use: i64,
        others: [Optional; 10],
    }
    DeviceClearMemoryStats("PJRT_Device_ClearMemoryStats") { device: Reference<Device>, }
    DeviceGetAttributes("PJRT_Device_GetAttributes") {
        device: Reference<Device>,
        attributes: List<NamedValue>,
        owner: *mut c_void,
        deleter: Option<Deleter>,
    }
}

impl Call for DeviceDescriptionId {
    fn call(&mut self) -> Answer {
        self.number = self.device.get()?.number;
        Ok(())
    }
}

impl Call for DeviceDescriptionProcessIndex {
    fn call(&mut self) -> Answer {
        self.device.get()?;
        self.index = 0;
        Ok(())
    }
}

impl Call for DeviceDescriptionAttributes {
    fn call(&mut self) -> Answer {
        self.device.get()?;
        (self.count, self.attributes) = (0, std::ptr::null());
        Ok(())
    }
}

impl Call for DeviceDescriptionKind {
    fn call(&mut self) -> Answer {
        self.device.get()?;
        self.kind = Text::of(DEVICE_KIND);
        Ok(())
    }
}

impl Call for DeviceDescriptionDebugString {
    fn call(&mut self) -> Answer {
        self.text = Text::of(&self.device.get()?.text);
        Ok(())
    }
}

impl Call for DeviceDescriptionToString {
    fn call(&mut self) -> Answer {
        self.text = Text::of(&self.device.get()?.text);
        Ok(())
    }
}

impl Call for DeviceGetDescription {
    fn call(&mut self) -> Answer {
        let device = self.device.get()?;
        let client = device.client()?;
        let description = client.topology.descriptions().get(device.number as usize);
        self.description = Reference::to(description.ok_or_else(|| Error::internal("a device lacks its description"))?);
        Ok(())
    }
}

impl Call for DeviceIsAddressable {
    fn call(&mut self) -> Answer {
        self.device.get()?;
        self.is_addressable = 1;
        Ok(())
    }
}

impl Call for DeviceLocalHardwareId {
    fn call(&mut self) -> Answer {
        self.number = self.device.get()?.number;
        Ok(())
    }
}

impl Call for DeviceAddressableMemories {
    fn call(&mut self) -> Answer {
        let device = self.device.get()?;
        self.memories = List::of(device.client()?.memories_of(device.number));
        Ok(())
    }
}

impl Call for DeviceDefaultMemory {
    fn call(&mut self) -> Answer {
        let device = self.device.get()?;
        let client = device.client()?;
        let memory = client.memories_of(device.number).first().copied();
        self.memory = memory.ok_or_else(|| Error::internal("the device has no memory"))?;
        Ok(())
    }
}

impl Call for DeviceMemoryStats {
    fn call(&mut self) -> Answer {
        let (now, peak) = self.device.get()?.client()?.machine.usage().bytes();
        self.bytes_in_use = now;
        self.others = [Optional::default(); 10];
        self.others[0] = Optional { value: peak, is_set: 1 };
        Ok(())
    }
}

impl Call for DeviceClearMemoryStats {
    fn call(&mut self) -> Answer {
        self.device.get()?.client()?.machine.usage().forget_peak();
        Ok(())
    }
}

impl Call for DeviceGetAttributes {
    fn call(&mut self) -> Answer {
        self.device.get()?;
        self.attributes = List::of(&[]);
        self.owner = std::ptr::null_mut();
        self.deleter = Some(keep_static);
        Ok(())
    }
}
