//! The bench set. The bench set consists of fusions on which emitters are measured. Each fusion has
//! two sizes. `fusebox ab` can also read the files of the fusions.

/// A fusion of the set.
pub struct BenchFusion {
    /// Name of the fusion: the kind of its emitters and an operation, for example `reduce_rows`.
    pub name: &'static str,
    /// HLO text in the small size.
    pub text: &'static str,
}

/// For each size: its name, and the number that replaces 256 in the text. Arrays of the small size
/// fit into the caches of the cores, and arrays of the large size do not.
pub const SIZES: [(&str, &str); 2] = [("small", "256"), ("large", "2048")];

macro_rules! fusions {
    ($($name:literal),*) => {
        [$(BenchFusion { name: $name, text: include_str!(concat!("../fusions/", $name, ".hlo")) }),*]
    };
}

/// All fusions.
pub const FUSIONS: [BenchFusion; 11] = fusions![
    "concatenate_computed",
    "contraction_thin",
    "dynamic-update-slice_row",
    "loop_gelu",
    "reduce_columns",
    "reduce_rows",
    "reduce_softmax",
    "scatter_rows",
    "transpose_2d",
    "transpose_rows",
    "input-slices_halves"
];

impl BenchFusion {
    /// Returns the text after replacing each dimension 256 by `size`, which is a number of
    /// [`SIZES`].
    pub fn of_size(&self, size: &str) -> String {
        self.text.replace(SIZES[0].1, size)
    }
}
