//! What a module computes, as text without anything that does not matter for that.

use super::{Computation, Extra, Instruction, Module, Op, Span, print_module};

/// A text that is equal exactly for modules that compute the same in the same way: shapes, layouts, literals and attributes,
/// without names, places and metadata.
pub fn canonical_text(module: &Module) -> String {
    let mut alone = module.clone();
    alone.name.clear();
    alone.source_file.clear();
    alone.bare = false;
    for (number, computation) in alone.computations.iter_mut().enumerate() {
        anonymise(computation, number);
    }
    print_module(&alone)
}

fn anonymise(computation: &mut Computation, number: usize) {
    computation.name = format!("c{number}");
    computation.span = Span::default();
    let forget = |(index, instruction): (usize, &mut Instruction)| {
        instruction.name = format!("i{index}");
        // What a custom call computes may depend on its configuration, and on nothing else of this.
        let config = instruction.extra.take().and_then(|extra| extra.backend_config);
        let config = config.filter(|_| matches!(instruction.op, Op::CustomCall(_)));
        instruction.extra = config.map(|text| Box::new(Extra { backend_config: Some(text), ..Extra::default() }));
        instruction.span = Span::default();
    };
    computation.instructions.iter_mut().enumerate().for_each(forget);
}
