//! Devices without a client: their numbers and descriptions.

use crate::abi::{Kind, Object, Reference};

/// The name under which a client presents its devices. JAX and libraries infer from this name what
/// a device can do. Some libraries know only the names of JAX's own platforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    Fusebox,
    Cpu,
}

impl Platform {
    /// Returns the platform that has the name `name`.
    pub fn named(name: &str) -> Option<Platform> {
        [Platform::Fusebox, Platform::Cpu].into_iter().find(|platform| platform.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Platform::Fusebox => "fusebox",
            Platform::Cpu => "cpu",
        }
    }
}

/// Version of the platform, for users.
pub const PLATFORM_VERSION: &str = concat!("fusebox ", env!("CARGO_PKG_VERSION"));
/// Kind of all devices.
pub const DEVICE_KIND: &str = "fusebox cpu";
/// Largest number of devices of a client.
pub const MOST_DEVICES: i32 = 1024;

/// The devices of a client, or of a compilation without a client.
pub struct Topology {
    pub platform: Platform,
    descriptions: Box<[DeviceDescription]>,
    references: Box<[Reference<DeviceDescription>]>,
}

/// A device, without a client that uses it.
#[derive(Debug)]
pub struct DeviceDescription {
    pub number: i32,
    pub text: String,
}

impl Object for Topology {
    const KIND: Kind = Kind::Topology;
}

impl Topology {
    /// Returns `count` devices of this machine, which share its processor.
    pub fn of(count: i32, platform: Platform) -> Topology {
        let description = |number| DeviceDescription { number, text: format!("FuseboxDevice(id={number})") };
        let descriptions: Box<[DeviceDescription]> = (0..count).map(description).collect();
        let references = descriptions.iter().map(Reference::to).collect();
        Topology { platform, descriptions, references }
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
