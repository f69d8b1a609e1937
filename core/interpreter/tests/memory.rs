//! With any amount of memory the interpreter returns a value or an error with a location, and never
//! ends the process.
//!
//! The allocator of this test refuses memory beyond a limit. An allocation that cannot handle this
//! aborts the test.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fusebox_core::hlo::{ArrayLiteral, Literal, Module, Shape, parse_module};
use fusebox_interpreter::{EvalError, Fault, evaluate};

/// Bytes in use, and their limit.
static USED: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

struct Limited;

// SAFETY: passes every request to the system's allocator, or refuses it, as an allocator may.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if USED.fetch_add(layout.size(), Relaxed) + layout.size() > LIMIT.load(Relaxed) {
            USED.fetch_sub(layout.size(), Relaxed);
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

const COMPUTATIONS: &str = "
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
least { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] multiply(a, b)
  ROOT r = f32[] minimum(a, c) }
below { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
negated { a = f32[] parameter(0)
  ROOT r = f32[] negate(a) }
";

/// One instruction each, named `t`, on an array of 65536 elements or a square matrix.
const OPERATIONS: [&str; 43] = [
    "x = f32[65536] parameter(0)\n ROOT t = f32[65536] negate(x)",
    "x = f32[65536] parameter(0)\n ROOT t = f32[65536] add(x, x)",
    "x = s32[65536] parameter(0)\n ROOT t = s32[65536] multiply(x, x)",
    "x = c64[65536] parameter(0)\n ROOT t = c64[65536] multiply(x, x)",
    "x = s4[65536] parameter(0)\n ROOT t = s4[65536] add(x, x)",
    "x = f32[65536] parameter(0)\n ROOT t = pred[65536] compare(x, x), direction=LT",
    "x = f32[65536] parameter(0)\n ROOT t = f32[65536] clamp(x, x, x)",
    "x = f32[65536] parameter(0)\n ROOT t = c128[65536] convert(x)",
    "x = f32[65536] parameter(0)\n ROOT t = u8[65536,4] bitcast-convert(x)",
    "x = f32[65536] parameter(0)\n ROOT t = f32[65536] reduce-precision(x), exponent_bits=5, mantissa_bits=10",
    "z = f32[] parameter(0)\n ROOT t = f32[256,256] broadcast(z), dimensions={}",
    "ROOT t = f32[256,256] iota(), iota_dimension=1",
    "x = f32[256,256] parameter(0)\n ROOT t = f32[65536] reshape(x)",
    "x = f32[256,256] parameter(0)\n ROOT t = f32[256,256] transpose(x), dimensions={1,0}",
    "x = f32[256,256]{1,0} parameter(0)\n ROOT t = f32[256,256]{0,1} bitcast(x)",
    "x = f32[65536] parameter(0)\n ROOT t = f32[65536] reverse(x), dimensions={0}",
    "x = f32[65536] parameter(0)\n ROOT t = f32[32768] slice(x), slice={[0:65536:2]}",
    "x = f32[65536] parameter(0)\n ROOT t = f32[131072] concatenate(x, x), dimensions={0}",
    "x = f32[65536] parameter(0)\n z = f32[] constant(0)\n ROOT t = f32[131073] pad(x, z), padding=1_1_1",
    "x = f32[65536] parameter(0)\n i = s32[] constant(5)\n ROOT t = f32[60000] dynamic-slice(x, i), dynamic_slice_sizes={60000}",
    "x = f32[65536] parameter(0)\n i = s32[] constant(5)\n u = f32[5] constant({1,2,3,4,5})\n d = f32[65536] dynamic-update-slice(x, u, i)\n ROOT t = (f32[65536], f32[65536]) tuple(d, x)",
    "x = f32[65536] parameter(0)\n i = s32[2,1] constant({{0},{5}})\n ROOT t = f32[2,60000] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={60000}",
    "x = f32[65536] parameter(0)\n i = s32[1] constant({5})\n u = f32[60000] slice(x), slice={[0:60000]}\n ROOT t = f32[65536] scatter(x, i, u), update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=sum",
    "x = f32[256,256] parameter(0)\n z = f32[] constant(0)\n ROOT t = f32[256] reduce(x, z), dimensions={0}, to_apply=sum",
    "x = f32[256,256] parameter(0)\n z = f32[] constant(0)\n ROOT t = f32[256] reduce(x, z), dimensions={0}, to_apply=least",
    "x = f32[65536] parameter(0)\n z = f32[] constant(0)\n ROOT t = f32[65536] reduce-window(x, z), window={size=3 pad=1_1}, to_apply=sum",
    "x = f32[65536] parameter(0)\n z = f32[] constant(0)\n ROOT t = f32[65534] reduce-window(x, z), window={size=3}, to_apply=least",
    "x = f32[65536] parameter(0)\n z = f32[] constant(0)\n ROOT t = f32[65536] reduce-window(x, z), window={size=9 pad=8_0}, to_apply=sum",
    "x = f32[65536] parameter(0)\n s = f32[32768] slice(x), slice={[0:32768]}\n z = f32[] constant(0)\n ROOT t = f32[65536] select-and-scatter(x, s, z), window={size=2 stride=2}, select=below, scatter=sum",
    "x = f32[65536] parameter(0)\n ROOT t = f32[65536] map(x), dimensions={0}, to_apply=negated",
    "x = f32[65536] parameter(0)\n ROOT t = f32[65536] sort(x), dimensions={0}, to_apply=below",
    "x = f32[256,256] parameter(0)\n ROOT t = f32[256,256] sort(x), dimensions={0}, to_apply=below",
    "x = f32[65536] parameter(0)\n ROOT t = (f32[60000], s32[60000]) topk(x), k=60000, largest=true",
    "x = f32[256,256] parameter(0)\n y = f32[256,2] slice(x), slice={[0:256],[0:2]}\n ROOT t = f32[256,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "x = s32[256,256] parameter(0)\n y = s32[256,2] slice(x), slice={[0:256],[0:2]}\n ROOT t = c64[256,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "x = f32[1,65536,1] parameter(0)\n k = f32[3,1,1] constant({{{1}},{{2}},{{3}}})\n ROOT t = f32[1,65534,1] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f",
    "x = c64[256,256] parameter(0)\n ROOT t = c64[256,256] fft(x), fft_type=FFT, fft_length={256}",
    "x = f32[256,256] parameter(0)\n ROOT t = c64[256,129] fft(x), fft_type=RFFT, fft_length={256}",
    "x = c64[256,129] parameter(0)\n ROOT t = f32[256,256] fft(x), fft_type=IRFFT, fft_length={256}",
    "x = f32[16,64,64] parameter(0)\n ROOT t = f32[16,64,64] cholesky(x), lower=true",
    "x = f32[16,64,64] parameter(0)\n ROOT t = f32[16,64,64] triangular-solve(x, x), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
    "s = u64[2] constant({1,2})\n ROOT t = (u64[2], u32[65536]) rng-bit-generator(s), algorithm=rng_three_fry",
    "x = f32[65536,1] parameter(0)\n s = f32[1] constant({1})\n ROOT t = (f32[65536,1], f32[1], f32[1]) batch-norm-training(x, s, s), epsilon=0.1, feature_index=1",
];

/// Ones for every parameter.
fn inputs(module: &Module) -> Vec<Literal> {
    let entry = module.entry_computation().unwrap();
    let shapes = entry.parameters().into_iter().map(|id| entry.instruction(id).shape.clone());
    shapes.map(|shape| ones(&shape)).collect()
}

fn ones(shape: &Shape) -> Literal {
    let shape = shape.as_array().unwrap();
    let bytes: Vec<u8> = (0..shape.byte_size()).map(|at| u8::from(at % 4 == 0)).collect();
    Literal::Array(ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).unwrap())
}

#[test]
fn every_operation_asks_for_memory_before_it_begins() {
    for operation in OPERATIONS {
        let text = format!("HloModule m\n{COMPUTATIONS}\nENTRY main {{\n {operation} }}\n");
        let module = parse_module(&text, "m.hlo").unwrap_or_else(|faults| panic!("{operation}: {}", faults[0]));
        let inputs = inputs(&module);
        let (mut refused, mut done) = (0, false);
        // From less memory than the operands take to enough memory.
        for more in (1..400).map(|step| step * (256 << 10)) {
            LIMIT.store(USED.load(Relaxed) + more, Relaxed);
            let outcome = evaluate(&module, &inputs);
            LIMIT.store(usize::MAX, Relaxed);
            match outcome {
                Err(EvalError::Instruction(error)) if matches!(error.fault, Fault::Memory { .. }) => {
                    assert!(error.span.line > 0 && error.to_string().contains("memory"), "{error}");
                    refused += 1;
                }
                Err(other) => panic!("{operation}: {other}"),
                Ok(_) => {
                    done = true;
                    break;
                }
            }
        }
        assert!(done && refused > 0, "{operation}: refused {refused} times");
    }
}
