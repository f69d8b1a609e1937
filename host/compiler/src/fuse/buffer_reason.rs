//! Reasons why a value has a buffer.

use std::fmt;

use fusebox_core::cost::{ADDITIONS_PER_SECOND, LAUNCH_SECONDS};
use fusebox_core::times::microseconds;

/// Reason why a value has a buffer and is not computed inside the kernels that read it. Contains
/// names of instructions.
#[derive(Clone, Debug, PartialEq)]
pub enum Apart {
    /// It is the computation's result.
    Result,
    /// It is a fusion of the text.
    Given,
    /// Its value is not exactly one array.
    NoArray,
    /// No instruction reads it.
    Unread,
    /// It is the initial value of a user's result.
    StartOf(String),
    /// A user that cannot fuse producers reads it.
    ReadOutside(String),
    /// The kernel updates an array in-place that this value would read.
    UpdatedBy(String),
    /// In the kernel, this hero or the kernel's hero would lose its iteration space.
    OtherHero { kernel: String, hero: Option<String> },
    /// It is expensive, and the kernels would compute each element more than once.
    Heavy { evaluations: f64 },
    /// Too many kernels would contain a copy.
    Copies { kernels: usize, most: usize },
    /// Repeated work costs more than the launch and the memory traffic that fusion saves. Both in
    /// additions.
    Repeated { costs: f64, saves: f64 },
    /// The kernel would exceed the limit of instructions or inputs.
    Full(String),
    /// The kernel would compute the index by too many nested divisions.
    Divided { kernel: String, most: u32 },
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |additions: &f64| microseconds(additions / ADDITIONS_PER_SECOND * 1e6, 1);
        match self {
            Apart::Result => f.write_str("it is the computation's result"),
            Apart::Given => f.write_str("it is a fusion that the text brings along"),
            Apart::NoArray => f.write_str("its value is not one array"),
            Apart::Unread => f.write_str("nobody reads it"),
            Apart::StartOf(user) => write!(f, "the result of `{user}` starts in its place"),
            Apart::ReadOutside(user) => write!(f, "`{user}`, which takes nothing into its kernel, reads it"),
            Apart::UpdatedBy(kernel) => write!(f, "the kernel of `{kernel}` updates in place what it would read"),
            Apart::OtherHero { kernel, hero: Some(hero) } => write!(
                f,
                "the kernel of `{kernel}` is made around `{hero}`, and together they would lose more than a launch \
                 ({} us)",
                microseconds(LAUNCH_SECONDS * 1e6, 0)
            ),
            Apart::OtherHero { kernel, hero: None } => write!(
                f,
                "emitters ask for it as the operation that a kernel is made around, which it would not be in that of \
                 `{kernel}`"
            ),
            Apart::Heavy { evaluations } => {
                write!(f, "it is expensive, and its readers would compute each element {evaluations:.1} times")
            }
            Apart::Copies { kernels, most } => {
                write!(f, "{kernels} kernels would have a copy of it, and {most} may")
            }
            Apart::Repeated { costs, saves } => write!(
                f,
                "to compute it again where it is read costs about {} us more, a launch and the traffic saved {} us",
                us(costs),
                us(saves)
            ),
            Apart::Full(kernel) => write!(f, "the kernel of `{kernel}` has as many instructions or inputs as one may"),
            Apart::Divided { kernel, most } => {
                write!(f, "in the kernel of `{kernel}` its index would follow from more than {most} reshapes in a row")
            }
        }
    }
}
