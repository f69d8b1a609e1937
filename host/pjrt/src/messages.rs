//! Protobuf messages with the options of a compilation. The structs for the messages lack the
//! fields that fusebox does not use.

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
    /// The bytes of a serialised [`DeviceAssignment`], which fusebox keeps because it returns the
    /// same bytes to callers.
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
    /// Returns the value as a text, as a user would write it on the command line.
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

    /// Returns the devices that run the program.
    pub fn placement(&self) -> Answer<Placement> {
        let build = self.build.clone().unwrap_or_default();
        let (replicas, partitions) = (build.replicas.max(1), build.partitions.max(1));
        if replicas > 1 {
            return Err(Error::unimplemented(format!(
                "the program is for {replicas} replicas; fusebox runs one replica, of one or several partitions"
            )));
        }
        let partitions = usize::try_from(partitions).unwrap_or(usize::MAX);
        let Some(assignment) = build.assignment else { return Ok(Placement { partitions, devices: None }) };
        let assignment = DeviceAssignment::decode(&assignment[..])
            .map_err(|error| Error::invalid(format!("damaged assignment of devices: {error}")))?;
        let devices = assignment.partitions.into_iter().flat_map(|it| it.devices).map(i32::try_from);
        let devices: Vec<i32> = devices
            .collect::<Result<_, _>>()
            .map_err(|_| Error::invalid("the assignment names a device that does not exist"))?;
        match devices.len() {
            0 => Ok(Placement { partitions, devices: None }),
            count if count == partitions => Ok(Placement { partitions, devices: Some(devices) }),
            count => Err(Error::invalid(format!("{count} devices are assigned to {partitions} partitions"))),
        }
    }
}

/// The devices that run a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Number of partitions.
    pub partitions: usize,
    /// The device of each partition. `None` if any devices may run the program.
    pub devices: Option<Vec<i32>>,
}

/// A division of an array among devices.
#[derive(Clone, PartialEq, Message)]
pub struct ShardingMessage {
    /// 0 if all devices have the whole array, 3 if devices have tiles.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    /// The number of tiles along each dimension. If several devices have the same tile, the number
    /// of these devices follows.
    #[prost(int64, repeated, tag = "3")]
    pub tiles: Vec<i64>,
    /// The device of each tile.
    #[prost(int64, repeated, tag = "4")]
    pub devices: Vec<i64>,
    /// Whether several devices have the same tile.
    #[prost(bool, tag = "6")]
    pub has_copies: bool,
    /// Meanings of the last numbers in `tiles`. The list has one entry for each number in `tiles`
    /// that follows the numbers of the array's dimensions.
    #[prost(int32, repeated, tag = "8")]
    pub last_dims: Vec<i32>,
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::{
        Answer, BuildOptions, CompileOptions, DeviceAssignment, OptionKind, OptionValue, Placement, ReplicaDevices,
    };

    fn placed(partitions: usize, devices: Option<Vec<i32>>) -> Answer<Placement> {
        Ok(Placement { partitions, devices })
    }

    #[test]
    fn options_name_their_device() {
        let assignment = DeviceAssignment { partitions: vec![ReplicaDevices { devices: vec![3] }] }.encode_to_vec();
        let build = BuildOptions { replicas: 1, partitions: 1, assignment: Some(assignment.clone()) };
        let value = OptionValue { kind: Some(OptionKind::Bool(true)) };
        let named = [("a".to_owned(), value)].into();
        let options = CompileOptions { build: Some(build), is_portable: false, named };
        let read = CompileOptions::read(&options.encode_to_vec()).unwrap();
        assert_eq!((read.placement(), read.assignment()), (placed(1, Some(vec![3])), &assignment[..]));
        assert_eq!(read.named["a"].text(), "true");
        assert_eq!(CompileOptions::default().placement(), placed(1, None));
        assert!(CompileOptions::read(&[0xFF]).is_err());
        let of = |build| CompileOptions { build: Some(build), ..CompileOptions::default() }.placement();
        let build = BuildOptions { partitions: 2, ..BuildOptions::default() };
        assert_eq!(of(build.clone()), placed(2, None));
        assert!(of(BuildOptions { assignment: Some(assignment), ..build }).is_err());
        assert!(of(BuildOptions { replicas: 2, ..BuildOptions::default() }).is_err());
    }
}
