//! The bench set: fusions for measuring emitters, each in two sizes. `fusebox ab` can read the
//! files unchanged.

/// A fusion of the set.
pub struct BenchFusion {
    /// Kind of emitters and operation, for example `reduce_rows`.
    pub name: &'static str,
    /// HLO text in the small size.
    pub text: &'static str,
}

/// Names of sizes, and the numbers that replace 256 in the text: one fits the cores' caches, the
/// other does not.
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
    /// Returns the text in a size.
    pub fn of_size(&self, size: &str) -> String {
        self.text.replace(SIZES[0].1, size)
    }
}
