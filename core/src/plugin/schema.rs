//! The protobuf messages between host and plugin, across a library or process boundary.
//!
//! Later versions of the schema only add fields, and every field keeps its number. A reader reads
//! an absent field as zero or empty, so that host and plugin may have different versions.
//! [`convert`](super::convert) defines the meaning of the fields.

#![allow(missing_docs, reason = "the fields mirror those of the emitter interface, where they are described")]

use std::collections::BTreeMap;

use prost::{Enumeration, Message};

/// A question of the host to a plugin. The comment on each variant lists the data of the request
/// and the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Question {
    /// A question that this version of the schema does not define.
    Unknown = 0,
    /// The question has no data, and the answer is the list of the plugin's emitters.
    Describe = 1,
    /// The question has an emitter, a fusion and a device, and the answer is a verdict.
    Consider = 2,
    /// The question has an emitter, a fusion, a device and a configuration, and the answer is a
    /// plan.
    Plan = 3,
    /// The question has an emitter, a fusion, a device and a plan, and the answer is a kernel.
    Emit = 4,
    /// The question has an emitter, a region (encoded as a fusion), an anchor and a device. The
    /// answer is a bid.
    Bid = 5,
    /// The question has an emitter, a fusion that contains only one operation, the operation's name
    /// as anchor, and a device. The answer contains the claim, or is empty if the emitter makes no
    /// claim.
    Claim = 6,
}

/// A question with its data.
#[derive(Clone, PartialEq, Message)]
pub struct Request {
    #[prost(enumeration = "Question", tag = "1")]
    pub question: i32,
    /// Index of the emitter in the answer to `Describe`.
    #[prost(uint32, tag = "2")]
    pub emitter: u32,
    /// An encoded [`Fusion`], stored as bytes so that the plugin can recognise the fusion that it
    /// decoded last.
    #[prost(bytes = "vec", tag = "3")]
    pub fusion: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub device: Option<Device>,
    #[prost(message, optional, tag = "5")]
    pub configuration: Option<Configuration>,
    #[prost(message, optional, tag = "6")]
    pub plan: Option<Plan>,
    /// Name of the instruction around which the emitter bids.
    #[prost(string, tag = "7")]
    pub anchor: String,
}

/// An answer to a question, or a failure.
#[derive(Clone, PartialEq, Message)]
pub struct Response {
    #[prost(message, optional, tag = "1")]
    pub failure: Option<Failure>,
    #[prost(message, repeated, tag = "2")]
    pub emitters: Vec<Descriptor>,
    #[prost(message, optional, tag = "3")]
    pub verdict: Option<Verdict>,
    #[prost(message, optional, tag = "4")]
    pub plan: Option<Plan>,
    #[prost(message, optional, tag = "5")]
    pub kernel: Option<Kernel>,
    #[prost(message, optional, tag = "6")]
    pub bid: Option<Bid>,
    /// The claim, if the emitter claims the operation.
    #[prost(message, optional, tag = "7")]
    pub claim: Option<Claim>,
}

/// Cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Fault {
    /// The emitter cannot handle this fusion or this configuration.
    Refused = 0,
    /// The emitter panicked.
    Panicked = 1,
    /// The request could not be read.
    Malformed = 2,
}

/// The reason why there is no answer.
#[derive(Clone, PartialEq, Message)]
pub struct Failure {
    #[prost(enumeration = "Fault", tag = "1")]
    pub fault: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, optional, tag = "3")]
    pub instruction: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Descriptor {
    #[prost(string, tag = "1")]
    pub kind: String,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub version: String,
    /// Names of opcodes. A reader skips unknown names of opcodes, because no operation of the
    /// reader's own release has such a name.
    #[prost(string, repeated, tag = "4")]
    pub anchors: Vec<String>,
    /// Names of opcodes, encoded like the names in `anchors`.
    #[prost(string, repeated, tag = "5")]
    pub heroes: Vec<String>,
}

/// Mirrors [`Claim`](crate::emitter::Claim).
#[derive(Clone, PartialEq, Message)]
pub struct Claim {
    #[prost(bool, tag = "1")]
    pub is_root: bool,
    #[prost(string, tag = "2")]
    pub form: String,
    #[prost(double, tag = "3")]
    pub lost_inside: f64,
    #[prost(double, tag = "4")]
    pub lost_beside: f64,
    #[prost(message, optional, tag = "5")]
    pub pass: Option<Pass>,
    #[prost(uint64, tag = "6")]
    pub starts_from: u64,
    #[prost(uint64, tag = "7")]
    pub updates: u64,
    #[prost(double, repeated, tag = "8")]
    pub reads: Vec<f64>,
    #[prost(message, repeated, tag = "9")]
    pub orders: Vec<Order>,
    #[prost(bool, tag = "10")]
    pub is_nowhere: bool,
    #[prost(message, optional, tag = "11")]
    pub parts: Option<Parts>,
    #[prost(bool, tag = "12")]
    pub keeps_producers: bool,
    #[prost(bool, tag = "13")]
    pub as_sum: bool,
}

/// Mirrors [`Parts`](crate::emitter::Parts).
#[derive(Clone, PartialEq, Message)]
pub struct Parts {
    #[prost(int64, tag = "1")]
    pub count: i64,
    #[prost(int64, tag = "2")]
    pub together: i64,
    #[prost(double, tag = "3")]
    pub arithmetic: f64,
    #[prost(int64, repeated, tag = "4")]
    pub second: Vec<i64>,
}

/// An order of an operand's dimensions.
#[derive(Clone, PartialEq, Message)]
pub struct Order {
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Pass {
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    #[prost(uint64, tag = "2")]
    pub operands: u64,
}

/// Names of the instructions that the emitter bids for, or the reason for a decline.
#[derive(Clone, PartialEq, Message)]
pub struct Bid {
    #[prost(string, repeated, tag = "1")]
    pub instructions: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub decline: Option<Decline>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Fusion {
    #[prost(string, tag = "1")]
    pub name: String,
    /// The module as HLO text.
    #[prost(string, tag = "2")]
    pub module: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Device {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint32, tag = "2")]
    pub warp_size: u32,
    #[prost(uint32, tag = "3")]
    pub max_threads_per_block: u32,
    #[prost(uint32, tag = "4")]
    pub max_threads_per_core: u32,
    #[prost(uint32, tag = "5")]
    pub core_count: u32,
    #[prost(uint32, tag = "6")]
    pub shared_bytes_per_block: u32,
    #[prost(uint32, tag = "7")]
    pub vector_bytes: u32,
    #[prost(double, tag = "8")]
    pub memory_bandwidth: f64,
    #[prost(double, tag = "9")]
    pub flops: f64,
    #[prost(uint32, tag = "10")]
    pub cache_line_bytes: u32,
    #[prost(uint64, tag = "11")]
    pub core_cache_bytes: u64,
    #[prost(uint32, tag = "12")]
    pub register_bytes: u32,
    #[prost(uint32, tag = "13")]
    pub registers: u32,
    #[prost(bool, tag = "14")]
    pub tile_products_bf16: bool,
    #[prost(bool, tag = "15")]
    pub tile_products_int8: bool,
    #[prost(string, repeated, tag = "16")]
    pub matrix_products: Vec<String>,
    #[prost(bool, tag = "17")]
    pub multiplies_tiles: bool,
    #[prost(bool, tag = "18")]
    pub has_product_library: bool,
    #[prost(double, tag = "19")]
    pub launch_seconds: f64,
    #[prost(double, tag = "20")]
    pub share_seconds: f64,
    #[prost(bool, tag = "21")]
    pub word_products_bf16: bool,
    #[prost(bool, tag = "22")]
    pub word_products_int8: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Configuration {
    #[prost(btree_map = "string, int64", tag = "1")]
    pub knobs: BTreeMap<String, i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Verdict {
    /// The reason, if the emitter declines the fusion.
    #[prost(message, optional, tag = "1")]
    pub decline: Option<Decline>,
    /// Whether the emitter takes the fusion only on request. If the emitter takes the fusion only
    /// on request, the host uses the emitter only in two cases: the user selects it, or no other
    /// emitter takes the fusion.
    #[prost(bool, tag = "2")]
    pub on_request: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Decline {
    #[prost(string, tag = "1")]
    pub reason: String,
    #[prost(string, optional, tag = "2")]
    pub instruction: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Plan {
    #[prost(uint64, tag = "1")]
    pub blocks: u64,
    #[prost(uint32, tag = "2")]
    pub threads_per_block: u32,
    #[prost(uint32, tag = "3")]
    pub shared_bytes: u32,
    #[prost(message, repeated, tag = "4")]
    pub outputs: Vec<OutputPlan>,
    #[prost(uint32, tag = "5")]
    pub vector_lanes: u32,
    #[prost(message, optional, tag = "6")]
    pub configuration: Option<Configuration>,
    #[prost(message, repeated, tag = "7")]
    pub alternatives: Vec<Configuration>,
    #[prost(string, repeated, tag = "8")]
    pub notes: Vec<String>,
    #[prost(message, repeated, tag = "9")]
    pub visits: Vec<Visit>,
    #[prost(message, optional, tag = "10")]
    pub work: Option<Work>,
}

/// A visit, which refers to instructions by name.
#[derive(Clone, PartialEq, Message)]
pub struct Visit {
    /// The map's textual form.
    #[prost(string, tag = "1")]
    pub map: String,
    #[prost(string, repeated, tag = "2")]
    pub values: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub given: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Work {
    #[prost(double, tag = "1")]
    pub additions: f64,
    #[prost(double, tag = "2")]
    pub tile_bytes: f64,
    #[prost(double, tag = "3")]
    pub waits: f64,
    #[prost(double, tag = "4")]
    pub atomics: f64,
    #[prost(bool, tag = "5")]
    pub past_caches: bool,
    #[prost(bool, tag = "6")]
    pub unordered: bool,
}

/// Mirrors [`WriteMode`](crate::emitter::WriteMode).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum WriteMode {
    Unique = 0,
    Atomic = 1,
    InPlace = 2,
}

#[derive(Clone, PartialEq, Message)]
pub struct OutputPlan {
    /// The maps' textual form.
    #[prost(string, repeated, tag = "1")]
    pub maps: Vec<String>,
    #[prost(enumeration = "WriteMode", tag = "2")]
    pub mode: i32,
    #[prost(uint32, optional, tag = "3")]
    pub initial: Option<u32>,
    #[prost(string, optional, tag = "4")]
    pub place: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Kernel {
    #[prost(string, tag = "1")]
    pub mlir: String,
    #[prost(message, repeated, tag = "2")]
    pub calls: Vec<SubgraphCall>,
}

/// Mirrors [`SubgraphKind`](crate::emitter::SubgraphKind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum SubgraphKind {
    Values = 0,
    Epilogue = 1,
    Combiner = 2,
}

#[derive(Clone, PartialEq, Message)]
pub struct SubgraphCall {
    #[prost(string, tag = "1")]
    pub symbol: String,
    #[prost(enumeration = "SubgraphKind", tag = "2")]
    pub kind: i32,
    /// Names of instructions: the instructions of `Values`, the roots of an `Epilogue`, or the
    /// single instruction of a `Combiner`. The call contains names instead of ids, because the id
    /// of an instruction differs between the modules of host and plugin.
    #[prost(string, repeated, tag = "3")]
    pub instructions: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub heroes: Vec<String>,
}
