//! Distributes nests of loops to one launch. For all values of the knobs, the launch must visit
//! every point once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Configuration;
use fusebox_core::indexing::{Expr, IndexingMap, covers_exactly_once};
use fusebox_core::launch::{Cost, Dealing, Nest, blocks_for};

fn nest(dims: &[i64], bytes: i64, lanes: i64) -> Nest {
    Nest { dims: dims.to_vec(), cost: Cost { bytes, arithmetic: 0 }, lanes }
}

fn devices() -> [DeviceDescription; 3] {
    let small = DeviceDescription { core_count: 1, max_threads_per_block: 64, ..DeviceDescription::sm(80) };
    [DeviceDescription::cpu(2), small, DeviceDescription::sm(90)]
}

/// Checks a distribution and all its alternatives. Returns the distribution.
fn check(nests: &[Nest], device: &DeviceDescription) -> Dealing {
    let dealing = Dealing::new(nests, device, &Configuration::default()).unwrap();
    for configuration in std::iter::once(&dealing.configuration).chain(&dealing.alternatives) {
        let dealing = Dealing::new(nests, device, configuration).unwrap();
        assert_eq!(dealing.configuration, *configuration);
        for (nest, share) in nests.iter().zip(&dealing.shares) {
            let proof = covers_exactly_once(&share.map, &nest.dims);
            assert!(proof.is_ok(), "{}: {nest:?}, {configuration:?}: {proof:?}, {}", device.name, share.map);
            assert_eq!(share.map.dims[0].bounds.size(), u64::from(dealing.launch.threads_per_block));
            assert_eq!(share.map.dims[1].bounds.size(), dealing.launch.blocks);
        }
    }
    dealing
}

#[test]
fn every_point_of_every_nest_is_visited_once() {
    let nests = [
        nest(&[], 8, 1),
        nest(&[1000], 8, 8),
        nest(&[3, 5, 7], 8, 1),
        nest(&[64, 96], 100, 4),
        nest(&[0, 9], 8, 1),
        nest(&[2, 100_000], 3, 2),
        nest(&[70_000, 1], 64, 1),
    ];
    for device in devices() {
        check(&nests, &device);
        nests.iter().for_each(|nest| _ = check(std::slice::from_ref(nest), &device));
    }
}

#[test]
fn small_arrays_stay_with_the_core_that_has_them() {
    let device = DeviceDescription::cpu(2);
    let blocks =
        |kib: i64, arithmetic: i64| blocks_for(Cost { bytes: kib << 10, arithmetic: arithmetic << 10 }, &device);
    // Memory traffic is distributed if no core's cache can hold the data. Arithmetic is distributed
    // if it takes longer than the fetch from another core.
    assert_eq!([blocks(400, 0), blocks(400, 400), blocks(600, 0), blocks(100, 800)], [1, 1, 4, 6]);
    assert_eq!(blocks(0, 100), 1);
    // Every core gets the same number of blocks.
    assert_eq!([blocks(800, 0), blocks(1 << 20, 0)], [6, 32]);
    assert_eq!(blocks_for(Cost { bytes: 1 << 40, arithmetic: 0 }, &DeviceDescription::cpu(3)), 48);
}

#[test]
fn blocks_follow_the_work() {
    let device = DeviceDescription::cpu(4);
    let blocks = |share: &IndexingMap| share.constraints.first().map(|constraint| constraint.bounds.size());
    // Both nests together have enough work for 64 tasks. The larger nest gets three quarters of the
    // tasks.
    let dealing = check(&[nest(&[3 << 20], 8, 1), nest(&[1 << 20], 8, 1)], &device);
    assert_eq!((dealing.launch.blocks, blocks(&dealing.shares[0].map)), (64, Some(48)));
    // Fifty nests together have enough work for only one task.
    let dealing = check(&vec![nest(&[10], 8, 1); 50], &device);
    assert_eq!(dealing.launch.blocks, 1);
}

/// Checks that short rows need no divisions. A division by five for each row of five elements would
/// take longer than the copy.
#[test]
fn short_rows_need_no_divisions() {
    let map = |dims: &[i64], blocks: i64| {
        let nest = nest(dims, 8, 1);
        check(std::slice::from_ref(&nest), &DeviceDescription::cpu(2));
        let configuration = Configuration([("blocks".to_owned(), blocks)].into());
        let dealing = Dealing::new(&[nest], &DeviceDescription::cpu(2), &configuration).unwrap();
        let map = dealing.shares[0].map.simplify().to_string();
        map.split(", domain").next().unwrap_or_default().to_owned()
    };
    assert_eq!(map(&[40_000, 5, 5], 32), "(th, bl)[row, inner, point] -> (bl * 1250 + row, inner, point)");
    assert_eq!(map(&[512, 512, 3], 12), "(th, bl)[row, inner, point] -> (bl * 43 + row, inner, point)");
    assert_eq!(map(&[1, 40, 6, 7, 4], 1), "(th, bl)[row, inner, s2, point] -> (0, row, inner, s2, point)");
    // If blocks consisted of complete groups of 15 rows, the blocks would be uneven.
    assert_eq!(map(&[2, 15, 5], 10), "(th, bl)[row, point] -> (bl floordiv 5, row + (bl mod 5) * 3, point)");
    // Divisions by powers of two are allowed, because shifts and masks cost little.
    assert_eq!(map(&[40, 4, 4], 1), "(th, bl)[row, point] -> (row floordiv 4, row mod 4, point)");
    assert_eq!(map(&[40, 1, 6], 1), "(th, bl)[row, point] -> (row, 0, point)");
}

#[test]
fn lanes_are_given_up_where_cores_would_be_idle() {
    let lanes = |points: i64| check(&[nest(&[points], 8, 4)], &DeviceDescription::sm(90)).lanes;
    assert_eq!([lanes(1 << 20), lanes(40_000), lanes(1000)], [4, 2, 1]);
}

#[test]
fn impossible_knobs_are_refused() {
    let error = |device: &DeviceDescription, knob: &str, value| {
        let configuration = Configuration([(knob.to_owned(), value)].into());
        Dealing::new(&[nest(&[100], 8, 4)], device, &configuration).unwrap_err().message
    };
    let [cpu, _, gpu] = devices();
    assert_eq!(error(&cpu, "blocks", 0), "knob blocks is 0, it must be 1 to 100");
    assert_eq!(error(&gpu, "lanes", 3), "knob lanes is 3, it must be a power of two");
    assert_eq!(error(&gpu, "threads", 2000), "knob threads is 2000, it must be 1 to 1024");
}

#[test]
fn a_map_from_other_points_is_refused() {
    let dealing = check(&[nest(&[10, 10], 8, 1)], &DeviceDescription::cpu(1));
    let from_one = IndexingMap::from_tensor_sizes(vec![Expr::dim(0)], &[10], &[]);
    let message = dealing.shares[0].then(&from_one).unwrap_err().message;
    assert_eq!(message, "a nest of 2 dimensions, a map from 1");
}
