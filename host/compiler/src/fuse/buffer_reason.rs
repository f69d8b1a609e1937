//! Reasons why a value has a buffer.

use std::fmt;

use fusebox_core::cost::{ADDITIONS_PER_SECOND, LAUNCH_SECONDS};
use fusebox_core::times::microseconds;

/// Reason why a value has a buffer and is not computed inside the kernels that read it. The strings
/// in this type are names of instructions.
#[derive(Clone, Debug, PartialEq)]
pub enum BufferReason {
    /// The value is the computation's result.
    Result,
    /// The instruction is a fusion that the program text contains.
    AlreadyFused,
    /// The value is not exactly one array.
    NoArray,
    /// No instruction reads the value.
    Unread,
    /// The value is the initial value of this user's result.
    InitialValueOf(String),
    /// This user reads the value and cannot fuse producers.
    ReadByNonFusible(String),
    /// This kernel updates in-place either the value itself or an array from which the value is
    /// computed.
    UpdatedBy(String),
    /// If this kernel computed the value, the kernel's iteration space would suit either the value
    /// or the kernel's hero, but not both.
    OtherHero { kernel: String, hero: Option<String> },
    /// The value is expensive, and the kernels would compute each element more than once.
    Heavy { evaluations: f64 },
    /// Too many kernels would contain a copy of the value's code.
    Copies { kernels: usize, most: usize },
    /// Fusion costs more in repeated work than it saves in launches and memory traffic. Cost and
    /// saving are numbers of additions.
    RepeatedWork { costs: f64, saves: f64 },
    /// This kernel would exceed the limit of instructions or inputs.
    Full(String),
    /// This kernel would need too many nested divisions to compute the index of an element.
    NestedDivisions { kernel: String, most: u32 },
}

impl fmt::Display for BufferReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |additions: &f64| microseconds(additions / ADDITIONS_PER_SECOND * 1e6, 1);
        match self {
            BufferReason::Result => f.write_str("it is the computation's result"),
            BufferReason::AlreadyFused => f.write_str("it is a fusion of the input module"),
            BufferReason::NoArray => f.write_str("its value is not one array"),
            BufferReason::Unread => f.write_str("no instruction reads it"),
            BufferReason::InitialValueOf(user) => write!(f, "it is the initial value that `{user}` updates in place"),
            BufferReason::ReadByNonFusible(user) => {
                write!(f, "`{user}` reads it, and cannot be fused with its producers")
            }
            BufferReason::UpdatedBy(kernel) => {
                write!(f, "it reads an array that the kernel of `{kernel}` updates in place")
            }
            BufferReason::OtherHero { kernel, hero: Some(hero) } => write!(
                f,
                "the kernel of `{kernel}` has the hero `{hero}`, and fusing both would lose more than the launch that \
                 it saves ({} us)",
                microseconds(LAUNCH_SECONDS * 1e6, 0)
            ),
            BufferReason::OtherHero { kernel, hero: None } => {
                write!(f, "an emitter claims it as a hero, which it would not be in the kernel of `{kernel}`")
            }
            BufferReason::Heavy { evaluations } => {
                write!(f, "it is expensive, and its readers would compute each element {evaluations:.1} times")
            }
            BufferReason::Copies { kernels, most } => {
                write!(f, "{kernels} kernels would contain a copy of it; the limit is {most}")
            }
            BufferReason::RepeatedWork { costs, saves } => write!(
                f,
                "recomputing it in its readers would cost about {} us, and save {} us of launch and memory traffic",
                us(costs),
                us(saves)
            ),
            BufferReason::Full(kernel) => {
                write!(f, "the kernel of `{kernel}` would exceed the limit of instructions or inputs")
            }
            BufferReason::NestedDivisions { kernel, most } => {
                write!(f, "the kernel of `{kernel}` would compute its index through more than {most} reshapes in a row")
            }
        }
    }
}
