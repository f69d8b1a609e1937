//! Damages npz files, which hold arrays.

use std::path::PathBuf;

use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal, Shape};
use fusebox_runtime::npz::{read_inputs, write_outputs};
use tempfile::TempDir;

use crate::random::Random;
use crate::worker::feeds;
use crate::{Outcome, Target, mutate};

/// The target for npz files. It changes files that [`write_outputs`] has written.
pub struct Npz {
    folder: TempDir,
    seeds: Vec<(Vec<Shape>, Vec<u8>)>,
    pool: Vec<Vec<u8>>,
}

impl Npz {
    /// Creates the target with files of arrays of several types and dimensions. Fails if temporary
    /// files cannot be created.
    pub fn new() -> std::io::Result<Npz> {
        let folder = tempfile::tempdir()?;
        let mut seeds = Vec::new();
        for (types, dims) in [
            (&["f32"][..], &[3i64, 5][..]),
            (&["bf16", "pred"], &[7]),
            (&["c64", "s4", "u8"], &[]),
            (&["f64", "s64"], &[0, 2]),
            (&["f8e4m3fn", "u16"], &[2, 3, 4]),
        ] {
            let arrays = types.iter().filter_map(|name| array(name, dims)).collect::<Vec<_>>();
            let file = folder.path().join("seed.npz");
            write_outputs(&file, &Literal::Tuple(arrays.iter().cloned().map(Literal::Array).collect()))
                .map_err(std::io::Error::other)?;
            let shapes = arrays.iter().map(|array| Shape::Array(array.shape())).collect();
            seeds.push((shapes, std::fs::read(&file)?));
        }
        let pool = seeds.iter().map(|(_, bytes)| bytes.clone()).collect();
        Ok(Npz { folder, seeds, pool })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("input.npz")
    }
}

fn array(name: &str, dims: &[i64]) -> Option<ArrayLiteral> {
    let element_type: ElementType = name.parse().ok()?;
    let bytes = dims.iter().product::<i64>() as usize * element_type.byte_size();
    let data: Vec<u8> = (0..bytes).map(|byte| (byte % 2) as u8).collect();
    ArrayLiteral::new(element_type, dims.to_vec(), data).ok()
}

impl Target for Npz {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        let Some((shapes, bytes)) = random.pick(&self.seeds) else { return Ok("nothing") };
        input.clone_from(bytes);
        let other = random.pick(&self.pool).cloned().unwrap_or_default();
        mutate::bytes(random, input, &other);
        feeds(input)?;
        std::fs::write(self.file(), input).map_err(|error| error.to_string())?;
        let Ok(read) = read_inputs(&self.file(), shapes) else { return Ok("refused") };
        let fits = read.iter().zip(shapes).all(|(value, shape)| {
            let array = value.as_array().zip(shape.as_array());
            array.is_some_and(|(value, shape)| {
                value.shape().same_type_and_dims(shape) && value.data.len() as i64 == shape.byte_size()
            })
        });
        if fits && read.len() == shapes.len() {
            Ok("read")
        } else {
            Err("arrays of other shapes than asked for".into())
        }
    }
}
