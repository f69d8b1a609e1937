//! Prints the attributes of operations.

use super::print::Printer;
use crate::ComputationId;
use crate::attribute::{Attribute, Presence, Writer};

/// Prints each attribute after a comma.
impl Writer for Printer<'_> {
    fn attribute<T: PartialEq, F>(&mut self, attribute: Attribute<T, F>, value: &T) {
        let is_left_out = match attribute.presence {
            Presence::Unless(usual) => *value == usual,
            Presence::Content => true,
            Presence::Needed | Presence::Assumed(_) => false,
        };
        if !is_left_out {
            self.attribute_name(attribute.name);
            (attribute.write)(value, &mut self.out);
        }
    }

    fn computation(&mut self, name: &str, id: ComputationId) {
        self.attribute_name(name);
        self.computation_name(id);
    }

    fn computations(&mut self, name: &str, ids: &[ComputationId]) {
        self.attribute_name(name);
        self.out.push('{');
        for (position, &id) in ids.iter().enumerate() {
            self.out.push_str(if position > 0 { ", " } else { "" });
            self.computation_name(id);
        }
        self.out.push('}');
    }

    fn kept(&mut self, attributes: &[(String, String)]) {
        for (name, value) in attributes {
            self.attribute_name(name);
            self.out.push_str(value);
        }
    }
}

impl Printer<'_> {
    fn attribute_name(&mut self, name: &str) {
        self.out.push_str(", ");
        self.out.push_str(name);
        self.out.push('=');
    }
}
