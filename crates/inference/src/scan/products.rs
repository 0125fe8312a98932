//! The product of two vectors of floats.

use crate::kernel::Kernel;
use crate::simd::vectorized;
use std::ops::AddAssign;

vectorized! {
    fn single_product(a: &[f32], b: &[f32]) -> f32 {
        let (a, a_rest) = a.as_chunks::<64>();
        let (b, b_rest) = b.as_chunks::<64>();
        let mut sums = [0.0; 64];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..64 {
                sums[lane] += a[lane] * b[lane];
            }
        }
        let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
        folded(sums) + rest
    }

    fn double_product(a: &[f32], b: &[f32]) -> f64 {
        let (a, a_rest) = a.as_chunks::<16>();
        let (b, b_rest) = b.as_chunks::<16>();
        let mut sums = [0.0; 16];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..16 {
                sums[lane] += f64::from(a[lane]) * f64::from(b[lane]);
            }
        }
        let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        folded(sums) + rest
    }
}

/// Returns the sum of numbers by halving them repeatedly; adding one by one would be slower, since each addition
/// waits for the one before.
#[inline(always)]
fn folded<T: Copy + AddAssign, const LANES: usize>(mut sums: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            let other = sums[lane + half];
            sums[lane] += other;
        }
        half /= 2;
    }
    sums[0]
}

/// Returns the product of two vectors, the same on every processor.
pub fn product(kernel: Kernel, a: &[f32], b: &[f32]) -> f32 {
    single_product(kernel.0, a, b)
}

/// Returns the product of two vectors in double precision, the same on every processor. It takes three times as long.
pub fn precise_product(kernel: Kernel, a: &[f32], b: &[f32]) -> f64 {
    double_product(kernel.0, a, b)
}
