//! The product in plain Rust, for other processors and as the reference in tests.

use super::{BLOCK, Left};

pub(super) fn multiply(left: Left<'_>, panel: &[i8], start: &[i32; BLOCK], sums: &mut [i32], stride: usize) {
    for (row, sums) in sums.chunks_mut(stride).take(left.rows).enumerate() {
        sums[..BLOCK].copy_from_slice(start);
        let bytes = &left.bytes[row * left.stride..][..left.depth];
        for (four, columns) in bytes.chunks_exact(4).zip(panel.chunks_exact(4 * BLOCK)) {
            for (sum, weights) in sums.iter_mut().zip(columns.chunks_exact(4)) {
                for i in 0..4 {
                    *sum += i32::from(four[i]) * i32::from(weights[i]);
                }
            }
        }
    }
}
