//! Why a value has a buffer and is not computed where it is read.

use std::fmt;

use fusebox_core::cost::{ADDITIONS_PER_SECOND, LAUNCH_SECONDS};
use fusebox_core::times::microseconds;

/// Why a value has a buffer and is not computed inside of the kernels that read it. Instructions by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Apart {
    /// It is the computation's result.
    Result,
    /// The text brings it along as a fusion.
    Given,
    /// Its value is several arrays, or none.
    NoArray,
    /// Nobody reads it.
    Unread,
    /// Somebody's result starts in its place.
    StartOf(String),
    /// Somebody who is in no kernel reads it.
    ReadOutside(String),
    /// A kernel updates in place what this would read.
    UpdatedBy(String),
    /// It would take from a kernel what that is made around, or lose what it is itself best made by.
    OtherHero { kernel: String, hero: Option<String> },
    /// Expensive, and computed more than once per element.
    Heavy { evaluations: f64 },
    /// Too many kernels would have a copy.
    Copies { kernels: usize, most: usize },
    /// Computing it again costs more than a launch and the memory traffic saved: in additions.
    Repeated { costs: f64, saves: f64 },
    /// A kernel would have more instructions or inputs than one may.
    Full(String),
    /// A kernel would make the index by divisions of divisions.
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
