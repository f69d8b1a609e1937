//! Builds random fusions of one kind or of any kind. A seed determines the fusion and its inputs.
//!
//! A fusion consists of a prologue of elementwise operations, one or several heroes, and an
//! epilogue. A fusion may also have a side output: the operand of the hero is then also a result.
//! Heroes are reductions, transposes, concatenations, slices, updates, pads, gathers, scatters, ….
//! A fusion may have odd sizes, dimensions of size 1, and types of 4 to 64 bits. Elements are small
//! integers, and the operations are such that no result depends on the order of summation.
//! Therefore tests can require that the results equal those of the interpreter.

mod chance;
mod combining;
mod elementwise;
mod graph;
mod movement;
mod types;

use fusebox_core::hlo::ElementType;

pub use chance::Chance;
pub use graph::Fusion;

use graph::{Graph, MOST_ELEMENTS, Value, list};

const SIZES: [i64; 23] = [1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 48, 64, 65, 100, 128, 129, 256, 1000, 2049, 4100];

/// Number of usual heroes. [`any`] chooses only from the usual heroes.
const HEROES: i64 = 25;
/// Numbers that identify further heroes, which only [`of_kind`] uses.
const ROWS_STAY: i64 = HEROES;
const WHOLE_LINES: i64 = HEROES + 1;
const SCATTER_ALONE: i64 = HEROES + 2;

/// Returns the fusion that a seed determines. The heroes of the fusion can be any usual heroes.
pub fn any(seed: u64) -> Fusion {
    build(Graph::new(seed, &[]))
}

/// Returns the fusion that a seed determines. The heroes of the fusion are of one kind: `reduce`,
/// `transpose`, `scatter`, `concatenate`, `dynamic-update-slice` or `input-slices`. For any other
/// kind, the heroes can be any usual heroes.
pub fn of_kind(kind: &str, seed: u64) -> Fusion {
    let heroes: &[i64] = match kind {
        "reduce" => &[0, 3, 4, 5, 21],
        "transpose" => &[6, 6, 8, 23, ROWS_STAY, WHOLE_LINES],
        "concatenate" => &[9],
        "input-slices" => &[12],
        "scatter" => &[SCATTER_ALONE],
        "dynamic-update-slice" => &[19],
        _ => &[],
    };
    build(Graph::new(seed, heroes))
}

fn build(mut graph: Graph) -> Fusion {
    let seed = graph.seed;
    let dims = graph.dims();
    let ty = types::any(&mut graph.chance);
    let start = graph.parameter_within(ty, &dims, None);
    let before = graph.chain(start, 3);
    let mut results = graph.heroes(&before);
    if graph.kind == [SCATTER_ALONE] {
        return graph.finish_with(seed, results);
    }
    let last = graph.chance.below(results.len() as i64) as usize;
    results[last] = graph.chain(results[last].clone(), 3);
    if graph.kind.is_empty() && graph.chance.once_in(6) && results[last].rank() > 0 {
        // Adds a second hero, which reads the result of the first hero.
        results = graph.heroes(&results[last].clone());
    }
    if graph.chance.once_in(4) {
        // The operand of the hero is also a result.
        results.push(before);
    }
    graph.finish_with(seed, results)
}

impl Graph {
    /// Returns up to four dimensions of various sizes. An array with these dimensions has a limited
    /// number of elements.
    fn dims(&mut self) -> Vec<i64> {
        let rank = self.chance.pick(&[1, 2, 2, 2, 3, 3, 4]);
        let most = if self.chance.once_in(4) { MOST_ELEMENTS } else { 1500 };
        let mut dims = Vec::new();
        for _ in 0..rank {
            let left = most / dims.iter().product::<i64>().max(1);
            let fitting: Vec<i64> = SIZES.iter().copied().filter(|&size| size <= left).collect();
            dims.push(self.chance.pick(&fitting));
        }
        let order = self.chance.permutation(dims.len());
        order.into_iter().map(|d| dims[d]).collect()
    }

    /// Adds one or several heroes: operations that are not elementwise.
    fn heroes(&mut self, x: &Value) -> Vec<Value> {
        if x.rank() == 0 {
            return vec![self.broadcast(x)];
        }
        let hero = match self.kind.as_slice() {
            [] => self.chance.below(HEROES),
            of_kind => self.chance.pick(of_kind),
        };
        match hero {
            0..=2 => vec![self.reduce(x)],
            3 => self.reductions_of_one(x),
            4 => self.argmax(x),
            5 => self.moments(x),
            6..=7 => vec![self.transpose(x)],
            8 => self.transposes_of_two(x),
            9 => vec![self.concatenate(x)],
            10..=11 => vec![self.dynamic_update_slice(x)],
            12 => (0..2 + self.chance.below(2)).map(|_| self.slice(x)).collect(),
            13 => vec![self.pad(x)],
            14 => vec![self.scatter(x.ty, &x.dims)],
            15 => vec![self.gather(x)],
            16 => vec![self.reshape(x)],
            17 => vec![self.broadcast(x)],
            18 => vec![self.dynamic_slice(x)],
            19..=20 => self.updates_of_a_parameter(x),
            21..=22 => vec![self.normalised(x)],
            23 => vec![self.narrow_transpose()],
            ROWS_STAY => vec![self.transpose_of_rows()],
            SCATTER_ALONE => vec![self.scatter_into_parameter(&x.dims)],
            WHOLE_LINES => vec![self.transpose_to_lines()],
            _ => vec![self.reverse(x)],
        }
    }

    /// Updates slices of one or two parameters. An emitter may write these updates in-place.
    fn updates_of_a_parameter(&mut self, x: &Value) -> Vec<Value> {
        let count = 1 + i64::from(self.chance.once_in(3));
        let updated = |this: &mut Self| {
            let parameter = this.parameter_within(x.ty, &x.dims, None);
            this.dynamic_update_slice(&parameter)
        };
        (0..count).map(|_| updated(self)).collect()
    }

    /// Adds a normalisation: reduces each row or column, then combines every element with the
    /// reduced value of its row or column.
    fn normalised(&mut self, x: &Value) -> Value {
        let reduced = if self.chance.once_in(4) { 0 } else { x.rank() - 1 };
        let of_row = self.reduce_dims(x, &[reduced]);
        if of_row.rank() == x.rank() {
            return of_row;
        }
        let kept: Vec<usize> = (0..x.rank()).filter(|&d| d != reduced).collect();
        let text = format!("broadcast({}), dimensions={{{}}}", of_row.name, list(&kept));
        let back = self.push(of_row.ty, &x.dims, of_row.bound, &text);
        let operation = match x.ty {
            ElementType::Pred => "xor",
            _ if x.bound + of_row.bound <= types::order_free_up_to(x.ty) => "subtract",
            _ => "maximum",
        };
        self.push(x.ty, &x.dims, x.bound + of_row.bound, &format!("{operation}({}, {})", x.name, back.name))
    }

    /// Adds two reductions over the same dimensions. The first reduction reduces the operand. The
    /// second reduction reduces a value that is computed from the operand.
    fn reductions_of_one(&mut self, x: &Value) -> Vec<Value> {
        let reduced = self.reduced_dims(x.rank());
        let other = self.chain(x.clone(), 2);
        vec![self.reduce_dims(x, &reduced), self.reduce_dims(&other, &reduced)]
    }

    /// Adds a transpose of an array with elements of at most two bytes. The size of each row is a
    /// multiple of four bytes.
    fn narrow_transpose(&mut self) -> Value {
        use ElementType::{BF16, F16, Pred, S4, S8, U8};
        let ty = self.chance.pick(&[BF16, F16, Pred, S4, S8, U8]);
        let dims = self.chance.pick(&[vec![64, 64], vec![48, 128], vec![128, 32], vec![2, 64, 48], vec![36, 100]]);
        let start = self.parameter_within(ty, &dims, None);
        let x = self.chain(start, 2);
        let mut permutation: Vec<usize> = (0..dims.len()).collect();
        permutation[dims.len() - 2..].reverse();
        self.transpose_by(&x, &permutation)
    }

    /// Adds a transpose that does not move the last dimension.
    fn transpose_of_rows(&mut self) -> Value {
        let ty = types::any(&mut self.chance);
        let dims =
            self.chance.pick(&[vec![6, 5, 40], vec![12, 7, 64], vec![9, 8, 3], vec![3, 4, 5, 33], vec![30, 2, 128]]);
        let start = self.parameter_within(ty, &dims, None);
        let x = self.chain(start, 2);
        let mut permutation: Vec<usize> = (0..dims.len()).collect();
        permutation[..dims.len() - 1].reverse();
        self.transpose_by(&x, &permutation)
    }

    /// Adds a transpose. Each row of the result consists of whole cache lines.
    fn transpose_to_lines(&mut self) -> Value {
        let ty = types::any(&mut self.chance);
        let dims = self.chance.pick(&[vec![64, 24], vec![128, 70], vec![2, 64, 33], vec![192, 5]]);
        let x = self.parameter_within(ty, &dims, None);
        let mut permutation: Vec<usize> = (0..dims.len()).collect();
        permutation[dims.len() - 2..].reverse();
        self.transpose_by(&x, &permutation)
    }

    /// Adds two transposes with the same permutation. Returns both results, or a single value that
    /// combines the two results.
    fn transposes_of_two(&mut self, x: &Value) -> Vec<Value> {
        let permutation = self.chance.permutation(x.rank());
        let other = self.chain(x.clone(), 2);
        let first = self.transpose_by(x, &permutation);
        let second = self.transpose_by(&other, &permutation);
        if first.ty == second.ty && first.ty != ElementType::C64 && self.chance.once_in(2) {
            let operation = if first.ty == ElementType::Pred { "and" } else { "maximum" };
            let bound = first.bound.max(second.bound);
            let text = format!("{operation}({}, {})", first.name, second.name);
            return vec![self.push(first.ty, &first.dims, bound, &text)];
        }
        vec![first, second]
    }

    /// Completes the fusion. No kernel computes a result that is a parameter or a constant, so such
    /// a result is replaced by a copy.
    fn finish_with(mut self, seed: u64, mut results: Vec<Value>) -> Fusion {
        results.dedup_by(|a, b| a.name == b.name);
        for result in &mut results {
            if self.is_parameter_or_constant(result) {
                *result = self.copied(&result.clone());
            }
        }
        self.finish(seed, &results)
    }

    fn copied(&mut self, x: &Value) -> Value {
        self.push(x.ty, &x.dims, x.bound, &format!("copy({})", x.name))
    }
}
