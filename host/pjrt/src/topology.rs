//! Devices without a client: their numbers and descriptions.

use crate::abi::Reference;

/// Name of the platform.
pub const PLATFORM: &str = "fusebox";
/// Version of the platform, for users.
pub const PLATFORM_VERSION: &str = concat!("fusebox ", env!("CARGO_PKG_VERSION"));
/// Kind of all devices.
pub const DEVICE_KIND: &str = "fusebox cpu";
/// Largest number of devices of a client.
pub const MOST_DEVICES: i32 = 1024;

/// The devices of a client, or of a compilation without a client.
pub struct Topology {
    descriptions: Box<[DeviceDescription]>,
    references: Box<[Reference<DeviceDescription>]>,
}

/// A device, without a client that uses it.
#[derive(Debug)]
pub struct DeviceDescription {
    pub number: i32,
    pub text: String,
}

impl Topology {
    /// Returns `count` devices of this machine. They share the processor.
    pub fn of(count: i32) -> Topology {
        let description = |number| DeviceDescription { number, text: format!("FuseboxDevice(id={number})") };
        let descriptions: Box<[DeviceDescription]> = (0..count).map(description).collect();
        let references = descriptions.iter().map(Reference::to).collect();
        Topology { descriptions, references }
    }

    /// Returns the descriptions of all devices.
    pub fn descriptions(&self) -> &[DeviceDescription] {
        &self.descriptions
    }

    /// Returns pointers to the descriptions of all devices.
    pub fn references(&self) -> &[Reference<DeviceDescription>] {
        &self.references
    }
}
