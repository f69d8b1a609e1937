//! Checks kernels for the simulator. Each call runs one thread and reports every access.

use crate::jit::{Buffer, accesses, contains_in_order, elementwise, run, stages_of};
use fusebox_lowering::{Code, Target};

#[test]
fn every_access_is_reported_with_its_place() {
    let mut kernel = elementwise::kernel("k", &[("f32", 4)], ("i8", 1), 10, "%r = \"arith.fptosi\"(%x0) : (f32) -> i8");
    kernel.launch.threads_per_block = 1;
    let (code, _) = stages_of(&kernel, &Target::simt()).unwrap();
    let Code::Object { bytes, sites } = code else { panic!("not an object") };
    assert_eq!(sites.len(), 3, "{sites:?}");
    contains_in_order(&sites[0], &["k: scf.for at k:"]);
    contains_in_order(&sites[1], &["k: tensor.extract at k:"]);
    contains_in_order(&sites[2], &["k: tensor.insert at k:"]);
    let mut buffers = [Buffer::of(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]), Buffer::of(&[0i8; 10])];
    // Thread 0 of block 1 computes the second half.
    run(&bytes, "k", &mut buffers, 1, 0);
    assert_eq!(buffers[1].values::<i8>(), [0, 0, 0, 0, 0, 6, 7, 8, 9, 10]);
    let seen = accesses();
    assert_eq!(seen.len(), 10);
    for (turn, pair) in seen.chunks(2).enumerate() {
        let (read, write) = (&pair[0], &pair[1]);
        assert_eq!((read.tensor, write.tensor), (buffers[0].address(), buffers[1].address()));
        assert_eq!((read.pointer, read.bytes, read.kind, read.site), (buffers[0].address() + 20 + 4 * turn, 4, 0, 1));
        assert_eq!((write.pointer, write.bytes, write.kind, write.site), (buffers[1].address() + 5 + turn, 1, 1, 2));
    }
}
