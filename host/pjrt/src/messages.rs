//! Protobuf messages with the options of a compilation. Fields that fusebox does not use are
//! absent.

use std::collections::HashMap;

use prost::Message;

use crate::error::{Answer, Error};

/// Options of a compilation.
#[derive(Clone, PartialEq, Message)]
pub struct CompileOptions {
    #[prost(message, optional, tag = "3")]
    pub build: Option<BuildOptions>,
    /// Whether the program runs on any device.
    #[prost(bool, tag = "4")]
    pub is_portable: bool,
    /// Options of the user by name.
    #[prost(map = "string, message", tag = "7")]
    pub named: HashMap<String, OptionValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BuildOptions {
    #[prost(int64, tag = "4")]
    pub replicas: i64,
    #[prost(int64, tag = "5")]
    pub partitions: i64,
    /// A [`DeviceAssignment`]. Its bytes are kept, because a caller gets back the same bytes.
    #[prost(bytes = "vec", optional, tag = "9")]
    pub assignment: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DeviceAssignment {
    #[prost(message, repeated, tag = "3")]
    pub partitions: Vec<ReplicaDevices>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReplicaDevices {
    #[prost(int64, repeated, tag = "1")]
    pub devices: Vec<i64>,
}

/// Value of a user's option.
#[derive(Clone, PartialEq, Message)]
pub struct OptionValue {
    #[prost(oneof = "OptionKind", tags = "1, 2, 3, 4")]
    pub kind: Option<OptionKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum OptionKind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Integer(i64),
    #[prost(double, tag = "4")]
    Float(f64),
}

impl OptionValue {
    /// Returns the value in the form of the command line.
    pub fn text(&self) -> String {
        match &self.kind {
            Some(OptionKind::Text(text)) => text.clone(),
            Some(OptionKind::Bool(value)) => value.to_string(),
            Some(OptionKind::Integer(value)) => value.to_string(),
            Some(OptionKind::Float(value)) => value.to_string(),
            None => String::new(),
        }
    }
}

impl CompileOptions {
    /// Returns the names and values of the user's options, in a fixed order.
    pub fn texts(&self) -> Vec<(String, String)> {
        let mut texts: Vec<_> = self.named.iter().map(|(name, value)| (name.clone(), value.text())).collect();
        texts.sort();
        texts
    }

    /// Reads the options.
    pub fn read(bytes: &[u8]) -> Answer<CompileOptions> {
        CompileOptions::decode(bytes).map_err(|error| Error::invalid(format!("damaged options: {error}")))
    }

    /// Returns the bytes of the assignment of devices; no bytes if the program runs on any device.
    pub fn assignment(&self) -> &[u8] {
        self.build.as_ref().and_then(|build| build.assignment.as_deref()).unwrap_or_default()
    }

    /// Returns the number of the only device that the program runs on. Returns `None` if the
    /// program runs on any device.
    pub fn device(&self) -> Answer<Option<i32>> {
        let build = self.build.clone().unwrap_or_default();
        let (replicas, partitions) = (build.replicas.max(1), build.partitions.max(1));
        if replicas > 1 || partitions > 1 {
            return Err(Error::unimplemented(format!(
                "the program is for {partitions} partitions and {replicas} replicas; fusebox compiles programs for one \
                 device: use arrays and meshes of a single device"
            )));
        }
        let Some(assignment) = build.assignment else { return Ok(None) };
        let assignment = DeviceAssignment::decode(&assignment[..])
            .map_err(|error| Error::invalid(format!("damaged assignment of devices: {error}")))?;
        let devices: Vec<i64> = assignment.partitions.into_iter().flat_map(|it| it.devices).collect();
        match devices[..] {
            [] => Ok(None),
            [device] => {
                let device = i32::try_from(device);
                device.map(Some).map_err(|_| Error::invalid("the assignment names a device that does not exist"))
            }
            _ => Err(Error::unimplemented("the program is for several devices")),
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::{BuildOptions, CompileOptions, DeviceAssignment, OptionKind, OptionValue, ReplicaDevices};

    #[test]
    fn options_name_their_device() {
        let assignment = DeviceAssignment { partitions: vec![ReplicaDevices { devices: vec![3] }] }.encode_to_vec();
        let build = BuildOptions { replicas: 1, partitions: 1, assignment: Some(assignment.clone()) };
        let value = OptionValue { kind: Some(OptionKind::Bool(true)) };
        let named = [("a".to_owned(), value)].into();
        let options = CompileOptions { build: Some(build), is_portable: false, named };
        let read = CompileOptions::read(&options.encode_to_vec()).unwrap();
        assert_eq!((read.device(), read.assignment()), (Ok(Some(3)), &assignment[..]));
        assert_eq!(read.named["a"].text(), "true");
        assert_eq!(CompileOptions::default().device(), Ok(None));
        assert!(CompileOptions::read(&[0xFF]).is_err());
        let build = BuildOptions { partitions: 2, ..BuildOptions::default() };
        assert!(CompileOptions { build: Some(build), ..CompileOptions::default() }.device().is_err());
    }
}
