//! Prints the HLO of a StableHLO program: `cargo run -p fusebox-stablehlo --example convert FILE`.

use std::error::Error;

use fusebox_core::hlo::{print_module, verify};
use fusebox_stablehlo::{is_bytecode, read_bytecode, read_text, to_hlo};

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1) {
        let bytes = std::fs::read(&file)?;
        let program = if is_bytecode(&bytes) {
            read_bytecode(&bytes, &file)?
        } else {
            read_text(&String::from_utf8(bytes)?, &file)?
        };
        let module = to_hlo(&program)?;
        verify(&module).map_err(|faults| faults[0].to_string())?;
        print!("{}", print_module(&module));
    }
    Ok(())
}
