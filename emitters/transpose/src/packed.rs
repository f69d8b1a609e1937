//! A schedule for blocks of many threads and elements of one or two bytes. The tile consists of
//! whole words of 32 bits, each with `V` elements. A thread transposes squares of `V` by `V`
//! elements in registers. See README.md for the picture.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions};
use fusebox_core::indexing::{Constraint, Expr, Interval, ceil_div, delinearize};

use crate::grid::{OperandGrid, TileNest, map_over};
use crate::problem::TransposeProblem;
use crate::rows_turn;
use crate::schedule::TransposeSchedule;

/// Bytes of a bank's word.
const WORD: i64 = 4;
/// Number of threads of a block: four warps.
const THREADS: i64 = 128;
/// Least number of words of a row. With fewer words, most threads of a warp would be idle.
const LEAST_WORDS: i64 = 10;
/// Number of unrolled reads of a thread.
const UNROLLED: i64 = 8;

/// # Errors
/// If the elements cannot be packed into words.
pub fn check(problem: &TransposeProblem, _: &DeviceDescription) -> Result<(), Decline> {
    rows_turn(problem)?;
    let form = &problem.form;
    let because = |reason: String| Err(Decline::new(reason));
    let bytes = problem.widest();
    if bytes >= WORD {
        return because(format!("elements of {bytes} bytes already fill the word of a memory bank"));
    }
    if problem.moved.iter().any(|moved| moved.bytes != bytes || moved.access_bytes != bytes) {
        return because("the arrays that move have elements of different sizes".into());
    }
    let word = WORD / bytes;
    let (short, long) = (form.dims[form.dims.len() - 1], form.dims[form.permutation[form.dims.len() - 1]]);
    for size in [short, long] {
        if size % word != 0 {
            return because(format!("rows of {size} elements are not whole words of {word} elements"));
        }
        if size < LEAST_WORDS * word {
            return because(format!("rows of {size} elements are too short: they need at least {LEAST_WORDS} words"));
        }
    }
    Ok(())
}

/// Chooses the loops.
///
/// # Errors
/// If a knob has an impossible value.
pub fn schedule(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<TransposeSchedule, EmitError> {
    Ok(WordTileSchedule::new(problem, device, configuration)?.schedule())
}

/// A schedule with tiles of words.
struct WordTileSchedule {
    grid: OperandGrid,
    threads: i64,
    /// Number of elements of a word.
    word: i64,
    short: usize,
    long: usize,
    knobs: Configuration,
}

impl WordTileSchedule {
    /// Chooses all sizes that the configuration does not set.
    fn new(
        problem: &TransposeProblem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let form = &problem.form;
        let short = form.dims.len() - 1;
        let long = form.permutation[short];
        let word = (WORD / problem.widest()).max(1);
        let words = configuration.knob("words", 4..=64)?.unwrap_or(i64::from(device.warp_size));
        let most = i64::from(device.max_threads_per_block);
        let threads = configuration.knob("threads", 1..=most)?.unwrap_or(THREADS.min(most));
        let mut tile = vec![1; form.dims.len()];
        tile[short] = form.dims[short].min(words * word);
        tile[long] = form.dims[long].min(words * word);
        let knobs = Configuration::from([("threads", threads), ("words", words)]);
        Ok(WordTileSchedule { grid: OperandGrid { dims: form.dims.clone(), tile }, threads, word, short, long, knobs })
    }

    /// Chooses the loops.
    fn schedule(&self) -> TransposeSchedule {
        let (words, threads) = (self.knobs.0["words"], self.knobs.0["threads"]);
        let others = [(words, 2 * threads), (words / 2, threads), (words, threads / 2), (2 * words, 2 * threads)];
        let others = others.into_iter().filter(|&(words, threads)| words >= 8 && (32..=1024).contains(&threads));
        TransposeSchedule {
            reading: vec![self.reading()],
            writing: vec![self.writing()],
            tile: Some(vec![self.size()]),
            lanes: self.word,
            alternatives: self
                .knobs
                .others(others.map(|(words, threads)| self.knobs.with("words", words).with("threads", threads))),
            notes: vec![format!(
                "tiles of {} by {} elements in words of {}, one word between groups of {} rows",
                self.grid.tile[self.long], self.grid.tile[self.short], self.word, self.word
            )],
            ..TransposeSchedule::of(
                LaunchDimensions { blocks: self.grid.blocks() as u64, threads_per_block: self.threads as u32 },
                self.knobs.clone(),
            )
        }
    }

    /// Returns the loops that read words along the operand's rows. Each thread reads one word at a
    /// time.
    fn reading(&self) -> TileNest {
        let (rows, words) = (self.grid.tile[self.long], self.grid.tile[self.short] / self.word);
        let steps = ceil_div(rows * words, self.threads);
        let (chunks, unrolled) = (ceil_div(steps, UNROLLED), steps.min(UNROLLED));
        let loops = [("chunk", chunks), ("step", unrolled), ("lane", self.word)];
        let mut map = map_over(self.threads, self.grid.blocks(), &loops);
        let unit = (Expr::range(0) * unrolled + Expr::range(1)) * self.threads + Expr::dim(0);
        if chunks * unrolled * self.threads > rows * words {
            map.constraints.push(Constraint::new(unit.clone(), Interval::from_size(rows * words)));
        }
        let at = delinearize(&unit, &[rows, words]);
        let column = at[1].clone() * self.word;
        let group = at[0].clone().floor_div(self.word);
        let place = self.place(&group, &at[0].clone().modulo(self.word), &(column.clone() + Expr::range(2)));
        let mut within = vec![Expr::constant(0); self.grid.dims.len()];
        within[self.long] = at[0].clone();
        within[self.short] = column;
        map.results = self.grid.index(&within);
        map.constraints.extend(self.grid.constraints(&map.results));
        map.results[self.short] = map.results[self.short].clone() + Expr::range(2);
        map.results.push(place);
        TileNest::new(map, vec![1, 2])
    }

    /// Returns the loops over squares of `V` by `V` elements. A thread reads words along the
    /// operand's rows and writes words along the result's rows.
    fn writing(&self) -> TileNest {
        let (groups, words) = (self.grid.tile[self.long] / self.word, self.grid.tile[self.short] / self.word);
        let steps = ceil_div(groups * words, self.threads);
        let loops = [("step", steps), ("column", self.word), ("row", self.word)];
        let mut map = map_over(self.threads, self.grid.blocks(), &loops);
        let unit = Expr::range(0) * self.threads + Expr::dim(0);
        if steps * self.threads > groups * words {
            map.constraints.push(Constraint::new(unit.clone(), Interval::from_size(groups * words)));
        }
        let at = delinearize(&unit, &[words, groups]);
        let column = at[0].clone() * self.word;
        let place = self.place(&at[1], &Expr::range(2), &(column.clone() + Expr::range(1)));
        let mut within = vec![Expr::constant(0); self.grid.dims.len()];
        within[self.long] = at[1].clone() * self.word;
        within[self.short] = column;
        map.results = self.grid.index(&within);
        map.constraints.extend(self.grid.constraints(&map.results));
        map.results[self.short] = map.results[self.short].clone() + Expr::range(1);
        map.results[self.long] = map.results[self.long].clone() + Expr::range(2);
        map.results.push(place);
        TileNest::new(map, vec![1, 2])
    }

    /// Returns the position of an element in the tile. One unused word follows each group of `V`
    /// rows. Words with equal numbers in adjacent groups are therefore in adjacent banks.
    fn place(&self, group: &Expr, row: &Expr, column: &Expr) -> Expr {
        let pitch = self.grid.tile[self.short];
        group.clone() * (self.word * pitch + self.word) + row.clone() * pitch + column.clone()
    }

    fn size(&self) -> i64 {
        let groups = self.grid.tile[self.long] / self.word;
        groups * self.word * (self.grid.tile[self.short] + 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use fusebox_core::analysis::{TileAccess, bank_conflicts};

    use super::*;
    use crate::problem::tests::problem;

    /// Returns the largest number of serialised accesses of a warp, for writing and for reading the
    /// tile.
    fn turns(element: &str, dims: &[i64]) -> [u32; 2] {
        let problem = problem(element, dims, &[1, 0]);
        let packed = WordTileSchedule::new(&problem, &DeviceDescription::sm(90), &Configuration::default()).unwrap();
        // The lanes of a word are the last variable for reading, and the first of the two unrolled
        // variables for writing.
        [(packed.reading(), 2), (packed.writing(), 1)].map(|(nest, lane)| {
            let mut map = nest.map;
            map.results.drain(..2);
            map.ranges[lane].bounds = Interval::point(0);
            let access = TileAccess { element_bytes: problem.widest() as u32, lanes: packed.word as u32 };
            bank_conflicts(&map, &[packed.size()], access, 32)
        })
    }

    #[test]
    fn words_of_columns_have_no_bank_conflicts() {
        assert_eq!(turns("bf16", &[4096, 4096]), [1, 1]);
        assert_eq!(turns("s8", &[4096, 4096]), [1, 1]);
        assert_eq!(turns("s4", &[4096, 4096]), [1, 1]);
        assert_eq!(turns("f16", &[64, 130]), [1, 1]);
    }
}
