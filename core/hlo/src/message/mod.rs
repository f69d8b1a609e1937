//! The messages of `HloModuleProto` as plain structs. In the table of operations, each attribute
//! names the message field that stores this attribute.
//!
//! With the feature `proto`, the messages can be read from bytes and written to bytes. Without the
//! feature `proto`, the messages only have default values. A plugin does not read protobuf, so a
//! plugin need not compile the code that encodes and decodes messages.

pub(crate) mod data;
mod instruction;

pub(crate) use instruction::Instruction;
#[cfg(feature = "proto")]
pub(crate) use instruction::{TextAttribute, TextAttributes};

/// Declares messages as in a `.proto` file: `field: type = number [encoding]`.
macro_rules! messages {
    ($($(#[$meta:meta])* $message:ident {
        $($(#[$doc:meta])* $field:ident: $ty:ty = $number:tt [$($encoding:tt)+],)*
    })*) => { $(
        $(#[$meta])*
        #[cfg_attr(feature = "proto", derive(Clone, PartialEq, ::prost::Message))]
        #[cfg_attr(not(feature = "proto"), derive(Default))]
        #[cfg_attr(not(feature = "proto"), allow(dead_code, reason = "only protobuf reads all fields"))]
        pub(crate) struct $message {
            $($(#[$doc])* #[cfg_attr(feature = "proto", prost($($encoding)+, tag($number)))] pub $field: $ty,)*
        }
    )* };
}
pub(crate) use messages;

/// Declares a type of the data model that is also a message. Like [`messages!`].
macro_rules! public_messages {
    ($($(#[$meta:meta])* $message:ident {
        $($(#[$doc:meta])* $field:ident: $ty:ty = $number:tt [$($encoding:tt)+],)*
    })*) => { $(
        $(#[$meta])*
        #[derive(Clone, PartialEq)]
        #[cfg_attr(feature = "proto", derive(::prost::Message))]
        #[cfg_attr(not(feature = "proto"), derive(Debug, Default))]
        pub struct $message {
            $($(#[$doc])* #[cfg_attr(feature = "proto", prost($($encoding)+, tag($number)))] pub $field: $ty,)*
        }
    )* };
}
pub(crate) use public_messages;
