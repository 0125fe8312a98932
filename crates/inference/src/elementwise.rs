//! What happens to rows of numbers between two products: norms, activations, softmax, and rounding to bytes.
//!
//! Slices are whole sixteens long.

use crate::simd::{Floats, LANES, vectorized};

/// Bytes stand for numbers around this one.
pub(crate) const ZERO: i32 = 128;

vectorized! {
    /// Rounds a row to bytes around `ZERO`; gives what one step of a byte is worth.
    pub(crate) fn quantize(values: &[f32], bytes: &mut [u8]) -> f32 {
        let highest = highest_magnitude(values);
        let (scale, factor) = steps(highest, 127.0);
        let factor = Floats::splat(factor);
        for (values, bytes) in values.chunks_exact(LANES).zip(bytes.chunks_exact_mut(LANES)) {
            Floats::load(values).rounded::<FMA>(factor, ZERO as f32).store_low_bytes(bytes);
        }
        scale
    }

    /// Rounds a row to signed bytes, given as their bits; gives what one step is worth.
    pub(crate) fn quantize_signed(values: &[f32], bytes: &mut [u8]) -> f32 {
        let highest = highest_magnitude(values);
        let (scale, factor) = steps(highest, 127.0);
        let factor = Floats::splat(factor);
        for (values, bytes) in values.chunks_exact(LANES).zip(bytes.chunks_exact_mut(LANES)) {
            Floats::load(values).rounded::<FMA>(factor, 0.0).store_low_bytes(bytes);
        }
        scale
    }

    /// Sums of bytes back to numbers: `out[i][j] = sums[i][j] · row_scales[i] · column_scales[j] + bias[j]`, for
    /// rows of 32.
    pub(crate) fn rescale(sums: &[i32], row_scales: &[f32], column_scales: &[f32], bias: &[f32], out: &mut [f32]) {
        for half in [0, LANES] {
            let column = Floats::load(&column_scales[half..]);
            let bias = Floats::load(&bias[half..]);
            for ((sums, out), row) in sums.chunks_exact(32).zip(out.chunks_exact_mut(32)).zip(row_scales) {
                let scale = column * Floats::splat(*row);
                Floats::from_integers(&sums[half..]).times_plus::<FMA>(scale, bias).store(&mut out[half..]);
            }
        }
    }

    /// The same without bias, into rows `stride` apart.
    pub(crate) fn rescale_into(sums: &[i32], row_scales: &[f32], column_scales: &[f32], out: &mut [f32], stride: usize) {
        for half in [0, LANES] {
            let column = Floats::load(&column_scales[half..]);
            for ((sums, out), row) in sums.chunks_exact(32).zip(out.chunks_mut(stride)).zip(row_scales) {
                let scale = column * Floats::splat(*row);
                (Floats::from_integers(&sums[half..]) * scale).store(&mut out[half..]);
            }
        }
    }

    /// Turns a row of logits into weights that sum to one, times `value_scales`, as bytes; gives what one step is
    /// worth.
    pub(crate) fn softmax(logits: &mut [f32], value_scales: &[f32], weights: &mut [u8]) -> f32 {
        let mut highest = Floats::splat(f32::MIN);
        for logits in logits.chunks_exact(LANES) {
            highest = highest.max(Floats::load(logits));
        }
        let highest = Floats::splat(highest.highest());
        let mut sum = Floats::splat(0.0);
        let mut largest = Floats::splat(0.0);
        for (logits, scales) in logits.chunks_exact_mut(LANES).zip(value_scales.chunks_exact(LANES)) {
            let weight = (Floats::load(logits) - highest).exp::<FMA>();
            sum = sum + weight;
            let weight = weight * Floats::load(scales);
            largest = largest.max(weight);
            weight.store(logits);
        }
        let (scale, factor) = steps(largest.highest(), 255.0);
        let factor = Floats::splat(factor);
        for (logits, weights) in logits.chunks_exact(LANES).zip(weights.chunks_exact_mut(LANES)) {
            Floats::load(logits).rounded::<FMA>(factor, 0.0).store_low_bytes(weights);
        }
        scale / sum.sum()
    }

    /// `x · Φ(x)` with Φ as a polynomial, within 8e-5 of the exact value.
    pub(crate) fn gelu(values: &[f32], out: &mut [f32]) {
        const COEFFICIENTS: [f32; 8] = [
            -4.515_208_2e-9, 1.986_127_3e-7, -5.147_457_6e-6, 8.848_856e-5, -1.079_074_5e-3, 9.718_767e-3,
            -6.619_026_5e-2, 0.398_819_2,
        ];
        const LIMIT: f32 = 4.25;
        for (values, out) in values.chunks_exact(LANES).zip(out.chunks_exact_mut(LANES)) {
            let x = Floats::load(values);
            let clamped = x.max(Floats::splat(-LIMIT)).min(Floats::splat(LIMIT));
            let square = clamped * clamped;
            let mut series = Floats::splat(4.546_953e-11);
            for coefficient in COEFFICIENTS {
                series = series.times_plus::<FMA>(square, Floats::splat(coefficient));
            }
            (x * clamped.times_plus::<FMA>(series, Floats::splat(0.5))).store(out);
        }
    }

    /// `gate = gate / (1 + e^-gate) · up`.
    pub(crate) fn gated_silu(gate: &mut [f32], up: &[f32]) {
        for (gate, up) in gate.chunks_exact_mut(LANES).zip(up.chunks_exact(LANES)) {
            let x = Floats::load(gate);
            let denominator = Floats::splat(1.0) + (Floats::splat(0.0) - x).exp::<FMA>();
            (x * Floats::load(up)).divided_by(denominator).store(gate);
        }
    }

    pub(crate) fn layer_norm(row: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
        let count = row.len() as f32;
        let mut sum = Floats::splat(0.0);
        for values in row.chunks_exact(LANES) {
            sum = sum + Floats::load(values);
        }
        let mean = Floats::splat(sum.sum() / count);
        let mut squares = Floats::splat(0.0);
        for values in row.chunks_exact(LANES) {
            let distance = Floats::load(values) - mean;
            squares = distance.times_plus::<FMA>(distance, squares);
        }
        let factor = Floats::splat(1.0 / (squares.sum() / count + epsilon).sqrt());
        for ((values, weight), bias) in
            row.chunks_exact_mut(LANES).zip(weight.chunks_exact(LANES)).zip(bias.chunks_exact(LANES))
        {
            let normal = (Floats::load(values) - mean) * factor;
            normal.times_plus::<FMA>(Floats::load(weight), Floats::load(bias)).store(values);
        }
    }

    pub(crate) fn rms_norm(row: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
        let mut squares = Floats::splat(0.0);
        for values in row.chunks_exact(LANES) {
            let values = Floats::load(values);
            squares = values.times_plus::<FMA>(values, squares);
        }
        let factor = Floats::splat(1.0 / (squares.sum() / row.len() as f32 + epsilon).sqrt());
        for ((values, weight), out) in
            row.chunks_exact(LANES).zip(weight.chunks_exact(LANES)).zip(out.chunks_exact_mut(LANES))
        {
            (Floats::load(values) * factor * Floats::load(weight)).store(out);
        }
    }

    pub(crate) fn add(to: &mut [f32], values: &[f32]) {
        for (to, values) in to.chunks_exact_mut(LANES).zip(values.chunks_exact(LANES)) {
            (Floats::load(to) + Floats::load(values)).store(to);
        }
    }
}

#[inline(always)]
fn highest_magnitude(values: &[f32]) -> f32 {
    let mut highest = Floats::splat(0.0);
    for values in values.chunks_exact(LANES) {
        highest = highest.max(Floats::load(values).abs());
    }
    highest.highest()
}

/// What one of `count` steps up to `highest` is worth, and its inverse. A row of zeros, and one with a number that is
/// none, have steps of zero.
#[inline(always)]
fn steps(highest: f32, count: f32) -> (f32, f32) {
    if highest > 0.0 && highest.is_finite() { (highest / count, count / highest) } else { (0.0, 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    fn ramp(from: f32, to: f32) -> Vec<f32> {
        (0..4096).map(|i| from + (to - from) * i as f32 / 4095.0).collect()
    }

    #[test]
    fn gelu_stays_close_to_the_exact_function_on_every_kernel() {
        let values = ramp(-12.0, 12.0);
        for kernel in Kernel::available() {
            let mut out = vec![0.0; values.len()];
            gelu(kernel.0, &values, &mut out);
            for (x, y) in values.iter().zip(&out) {
                let x = f64::from(*x);
                let exact = x * 0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2));
                assert!((exact - f64::from(*y)).abs() < 1e-4, "{kernel}: gelu({x}) = {y}, not {exact}");
            }
        }
    }

    #[test]
    fn the_exponential_is_right_to_six_digits() {
        let values = ramp(-80.0, 0.0);
        for kernel in Kernel::available() {
            let mut gate = values.clone();
            gated_silu(kernel.0, &mut gate, &vec![1.0; values.len()]);
            for (x, y) in values.iter().zip(&gate) {
                let exact = f64::from(*x) / (1.0 + (-f64::from(*x)).exp());
                assert!((exact - f64::from(*y)).abs() <= exact.abs() * 2e-6 + 1e-37, "{kernel}: {x} {y} {exact}");
            }
        }
    }

    #[test]
    fn a_row_of_bytes_is_within_half_a_step_of_its_numbers() {
        let values = ramp(-3.0, 1.0);
        for kernel in Kernel::available() {
            let mut bytes = vec![0; values.len()];
            let scale = quantize(kernel.0, &values, &mut bytes);
            for (value, byte) in values.iter().zip(&bytes) {
                let back = (i32::from(*byte) - ZERO) as f32 * scale;
                assert!((value - back).abs() <= scale * 0.5001, "{kernel}: {value} {back}");
            }
            assert_eq!(quantize(kernel.0, &[0.0; 32], &mut bytes[..32]), 0.0);
            assert_eq!(quantize(kernel.0, &[f32::INFINITY; 32], &mut bytes[..32]), 0.0);
        }
    }

    #[test]
    fn softmax_gives_weights_that_sum_to_one() {
        let scales = vec![1.0; 64];
        for kernel in Kernel::available() {
            let mut logits: Vec<f32> = (0..64).map(|i| if i < 40 { i as f32 * 0.1 } else { -1e30 }).collect();
            let mut weights = vec![9; 64];
            let scale = softmax(kernel.0, &mut logits, &scales, &mut weights);
            let sum: f32 = weights.iter().map(|weight| f32::from(*weight) * scale).sum();
            assert!((sum - 1.0).abs() < 0.01, "{kernel}: {sum}");
            assert_eq!(weights[39], 255);
            assert_eq!(weights[40..], [0; 24]);
        }
    }

    /// By its series, exact enough for a test.
    fn erf(x: f64) -> f64 {
        if x.abs() > 5.0 {
            return x.signum();
        }
        let mut term = x;
        let mut sum = x;
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }
}
