//! The scan's sums in plain Rust, for other processors and as the reference in tests.

use super::Numbers;

/// Computes `sums[i] = Σ bytes[i][k] · numbers[k]` exactly.
pub(super) fn sums(bytes: &[u8], numbers: &Numbers, sums: &mut [i32]) {
    for (row, sum) in bytes.chunks_exact(numbers.whole.len()).zip(sums) {
        *sum =
            row.iter().zip(&numbers.whole).map(|(byte, number)| i32::from(*byte) * i32::from(*number)).sum();
    }
}
