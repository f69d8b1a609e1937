//! Groups instructions into fusions: `fuse(Module) -> Module`, each kernel one `fusion` instruction.
