//! Reads, writes or updates memory as fast as the processor can, with its widest registers. The
//! speed of memory-bound kernels is compared with the speed of these functions.

/// The access that a sweep makes to every byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepAccess {
    Read,
    /// Writes zero.
    Write,
    /// Reads the byte, then writes zero.
    Update,
}

/// Parameters of a sweep. A sweep is a pass over memory in which all threads take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    pub passage: SweepAccess,
    /// Whether each thread visits its parts of the memory in reverse order. After a forward sweep,
    /// the caches hold the bytes that a backward sweep visits first.
    pub is_backward: bool,
    /// Number of bytes to visit, from the start of the program's first buffer.
    pub bytes: usize,
}

/// Reads all bytes, except the last bytes if they do not fill a register.
pub fn read(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the feature.
        return unsafe { x86::read_by_64(bytes) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return unsafe { x86::read_by_32(bytes) };
    }
    let (words, _) = bytes.as_chunks::<8>();
    std::hint::black_box(words.iter().fold(0, |all, word| all | u64::from_le_bytes(*word)));
}

/// Writes zero to every byte.
pub fn write(bytes: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the feature.
        return unsafe { x86::write_by_64(bytes) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return unsafe { x86::write_by_32(bytes) };
    }
    bytes.fill(0);
}

/// Reads every byte and then writes zero to it.
pub fn update(bytes: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the feature.
        return unsafe { x86::update_by_64(bytes) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return unsafe { x86::update_by_32(bytes) };
    }
    let mask = std::hint::black_box(0u8);
    bytes.iter_mut().for_each(|byte| *byte &= mask);
}

/// Loops over memory, register by register. The functions that read combine all registers by OR, so
/// that the compiler does not remove the reads. The registers are combined into four independent
/// values. With a single value, the latency of the OR instructions would limit the speed, and the
/// memory would not. Writes go through the caches, unlike large writes of the C library.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_and_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_setzero_si256, _mm256_storeu_si256,
        _mm512_and_si512, _mm512_loadu_si512, _mm512_or_si512, _mm512_setzero_si512, _mm512_storeu_si512,
    };
    use std::hint::black_box;

    macro_rules! by_registers {
        ($read:ident, $write:ident, $update:ident, $feature:literal, $bytes:literal, $zero:ident, $or:ident, $and:ident, $load:ident, $store:ident) => {
            #[target_feature(enable = $feature)]
            pub fn $read(bytes: &[u8]) {
                let mut seen = [$zero(); 4];
                let (registers, _) = bytes.as_chunks::<$bytes>();
                let (lines, rest) = registers.as_chunks::<4>();
                for line in lines {
                    for (seen, register) in seen.iter_mut().zip(line) {
                        // SAFETY: the register's bytes lie in the slice.
                        *seen = $or(*seen, unsafe { $load(register.as_ptr().cast()) });
                    }
                }
                for register in rest {
                    // SAFETY: as above.
                    seen[0] = $or(seen[0], unsafe { $load(register.as_ptr().cast()) });
                }
                black_box(seen);
            }

            #[target_feature(enable = $feature)]
            pub fn $write(bytes: &mut [u8]) {
                // Hide the zero from the compiler. Otherwise the compiler would replace this loop
                // by a call of the C library.
                let zero = black_box($zero());
                let (registers, rest) = bytes.as_chunks_mut::<$bytes>();
                for register in registers {
                    // SAFETY: the register's bytes lie in the slice.
                    unsafe { $store(register.as_mut_ptr().cast(), zero) };
                }
                rest.fill(0);
            }

            #[target_feature(enable = $feature)]
            pub fn $update(bytes: &mut [u8]) {
                let zero = black_box($zero());
                let (registers, rest) = bytes.as_chunks_mut::<$bytes>();
                for register in registers {
                    let at = register.as_mut_ptr();
                    // SAFETY: the register's bytes lie in the slice.
                    unsafe { $store(at.cast(), $and($load(at.cast()), zero)) };
                }
                rest.fill(0);
            }
        };
    }

    by_registers!(
        read_by_64,
        write_by_64,
        update_by_64,
        "avx512f",
        64,
        _mm512_setzero_si512,
        _mm512_or_si512,
        _mm512_and_si512,
        _mm512_loadu_si512,
        _mm512_storeu_si512
    );
    by_registers!(
        read_by_32,
        write_by_32,
        update_by_32,
        "avx2",
        32,
        _mm256_setzero_si256,
        _mm256_or_si256,
        _mm256_and_si256,
        _mm256_loadu_si256,
        _mm256_storeu_si256
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn written_bytes_are_zero_and_no_others() {
        for (begin, end) in [(0, 0), (3, 5), (64, 1000), (1, 4097)] {
            for write in [super::write, super::update] {
                let mut bytes = vec![7u8; 5000];
                write(&mut bytes[begin..end]);
                super::read(&bytes[begin..end]);
                assert!(bytes.iter().enumerate().all(|(at, &byte)| (byte == 0) == (begin..end).contains(&at)));
            }
        }
    }
}
