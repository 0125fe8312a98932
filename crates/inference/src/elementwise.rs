//! Operations on rows of floats between two products: norms, activations, and rounding to bytes.
//!
//! The lengths of slices are multiples of sixteen.

use crate::simd::{Floats, LANES, vectorized};

/// The byte that stands for zero.
pub(crate) const ZERO: i32 = 128;

vectorized! {
    /// Rounds rows of `width`, `stride` apart, to bytes around `ZERO`, which are `byte_stride` apart.
    pub(crate) fn quantize_all(
        values: &[f32],
        stride: usize,
        width: usize,
        scales: &mut [f32],
        bytes: &mut [u8],
        byte_stride: usize,
    ) {
        quantize_with::<V>(values, stride, width, scales, bytes, byte_stride, ZERO as f32);
    }

    /// Rounds rows of `width` to signed bytes. They are `stride` apart in `values` and contiguous in `bytes`.
    pub(crate) fn quantize_rows(values: &[f32], stride: usize, width: usize, scales: &mut [f32], bytes: &mut [u8]) {
        quantize_with::<V>(values, stride, width, scales, bytes, width, 0.0);
    }

    /// `gate = gate / (1 + e^-gate) · up`.
    pub(crate) fn gated_silu(gate: &mut [f32], up: &[f32]) {
        for (gate, up) in gate.chunks_exact_mut(LANES).zip(up.chunks_exact(LANES)) {
            silu(V::load(gate)).times(V::load(up)).store(gate);
        }
    }

    pub(crate) fn layer_norm(row: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
        let count = row.len() as f32;
        let (mut sums, mut squares) = ([V::splat(0.0); 2], [V::splat(0.0); 2]);
        for (i, values) in row.chunks_exact(LANES).enumerate() {
            let values = V::load(values);
            sums[i % 2] = sums[i % 2].plus(values);
            squares[i % 2] = values.times_plus(values, squares[i % 2]);
        }
        let mean = sums[0].plus(sums[1]).sum() / count;
        let variance = squares[0].plus(squares[1]).sum() / count - mean * mean;
        let (mean, factor) = (V::splat(mean), V::splat(1.0 / (variance.max(0.0) + epsilon).sqrt()));
        for ((values, weight), bias) in
            row.chunks_exact_mut(LANES).zip(weight.chunks_exact(LANES)).zip(bias.chunks_exact(LANES))
        {
            let normal = V::load(values).minus(mean).times(factor);
            normal.times_plus(V::load(weight), V::load(bias)).store(values);
        }
    }

    pub(crate) fn rms_norm(row: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
        let squares = sum::<V>(row, |value| value.times(value));
        let factor = V::splat(1.0 / (squares / row.len() as f32 + epsilon).sqrt());
        for ((values, weight), out) in
            row.chunks_exact(LANES).zip(weight.chunks_exact(LANES)).zip(out.chunks_exact_mut(LANES))
        {
            V::load(values).times(factor).times(V::load(weight)).store(out);
        }
    }

    pub(crate) fn add(to: &mut [f32], values: &[f32]) {
        for (to, values) in to.chunks_exact_mut(LANES).zip(values.chunks_exact(LANES)) {
            V::load(to).plus(V::load(values)).store(to);
        }
    }
}

#[inline(always)]
fn quantize_with<V: Floats>(
    values: &[f32],
    stride: usize,
    width: usize,
    scales: &mut [f32],
    bytes: &mut [u8],
    byte_stride: usize,
    zero: f32,
) {
    let rows = values
        .chunks(LANES * stride)
        .zip(bytes.chunks_mut(LANES * byte_stride))
        .zip(scales.chunks_mut(LANES));
    for ((values, bytes), scales) in rows {
        let mut highest = [V::splat(0.0); LANES];
        for (highest, values) in highest.iter_mut().zip(values.chunks(stride)) {
            *highest = self::highest(&values[..width], V::abs);
        }
        let mut factors = [0.0; LANES];
        V::highest_of_each(highest).store(&mut factors);
        for (scale, factor) in scales.iter_mut().zip(&mut factors) {
            (*scale, *factor) = steps(*factor, 127.0);
        }
        for ((values, bytes), factor) in values.chunks(stride).zip(bytes.chunks_mut(byte_stride)).zip(factors)
        {
            round::<V>(&values[..width], V::splat(factor), zero, &mut bytes[..width]);
        }
    }
}

/// Rounds values times `factor` to bytes around `zero`.
#[inline(always)]
fn round<V: Floats>(values: &[f32], factor: V, zero: f32, bytes: &mut [u8]) {
    let (four, four_bytes) = (values.chunks_exact(4 * LANES), bytes.chunks_exact_mut(4 * LANES));
    let whole = values.len() / (4 * LANES) * (4 * LANES);
    for (values, bytes) in four.zip(four_bytes) {
        let mut rounded = [factor; 4];
        for i in 0..4 {
            rounded[i] = V::load(&values[i * LANES..]).rounded(factor, zero);
        }
        V::store_low_bytes_of(rounded, bytes);
    }
    for (values, bytes) in values[whole..].chunks_exact(LANES).zip(bytes[whole..].chunks_exact_mut(LANES)) {
        V::load(values).rounded(factor, zero).store_low_bytes(bytes);
    }
}

/// Returns `x · Φ(x)` with Φ as a polynomial, within 5e-4 of the exact value: a twentieth of the error of rounding to
/// bytes.
#[inline(always)]
pub(crate) fn gelu<V: Floats, const N: usize>(x: [V; N]) -> [V; N] {
    const COEFFICIENTS: [f32; 5] = [2.721_952e-5, -6.220_62e-4, 7.876_788e-3, -6.266_169e-2, 3.965_366e-1];
    const LIMIT: f32 = 3.65;
    let mut clamped = x;
    let mut squares = x;
    let mut series = [V::splat(-4.987_873e-7); N];
    for i in 0..N {
        clamped[i] = x[i].clamped(V::splat(LIMIT));
    }
    for i in 0..N {
        squares[i] = clamped[i].times(clamped[i]);
    }
    for coefficient in COEFFICIENTS {
        for i in 0..N {
            series[i] = series[i].times_plus(squares[i], V::splat(coefficient));
        }
    }
    for i in 0..N {
        series[i] = clamped[i].times_plus(series[i], V::splat(0.5));
    }
    for i in 0..N {
        series[i] = series[i].times(x[i]);
    }
    series
}

/// Returns `x / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn silu<V: Floats>(x: V) -> V {
    x.divided_by(V::splat(0.0).minus(x).exp().plus(V::splat(1.0)))
}

/// Returns the maximum of `of` for each lane, in four independent chains, since each step of a chain waits for the
/// one before.
#[inline(always)]
fn highest<V: Floats>(values: &[f32], of: impl Fn(V) -> V) -> V {
    let mut chains = [V::splat(f32::MIN); 4];
    let four = values.chunks_exact(4 * LANES);
    for values in four.remainder().chunks_exact(LANES) {
        chains[0] = chains[0].max(of(V::load(values)));
    }
    for values in four {
        for (chain, values) in chains.iter_mut().zip(values.chunks_exact(LANES)) {
            *chain = chain.max(of(V::load(values)));
        }
    }
    chains[0].max(chains[1]).max(chains[2].max(chains[3]))
}

/// Returns the sum of `of` over the values, in four independent chains.
#[inline(always)]
fn sum<V: Floats>(values: &[f32], of: impl Fn(V) -> V) -> f32 {
    let mut chains = [V::splat(0.0); 4];
    let four = values.chunks_exact(4 * LANES);
    for values in four.remainder().chunks_exact(LANES) {
        chains[0] = chains[0].plus(of(V::load(values)));
    }
    for values in four {
        for (chain, values) in chains.iter_mut().zip(values.chunks_exact(LANES)) {
            *chain = chain.plus(of(V::load(values)));
        }
    }
    chains[0].plus(chains[1]).plus(chains[2].plus(chains[3])).sum()
}

/// Returns the value of one of `count` steps up to `highest`, and its inverse. For a row of zeros, or one with a NaN,
/// both are zero.
#[inline(always)]
fn steps(highest: f32, count: f32) -> (f32, f32) {
    let counts = highest > 0.0 && highest < f32::INFINITY;
    if counts { (highest * (1.0 / count), count / highest) } else { (0.0, 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::rescale::{Epilogue, Out, Scales, rescale};

    fn ramp(from: f32, to: f32) -> Vec<f32> {
        (0..4096).map(|i| from + (to - from) * i as f32 / 4095.0).collect()
    }

    #[test]
    fn gelu_stays_close_to_the_exact_function_on_every_kernel() {
        let values = ramp(-12.0, 12.0);
        for kernel in Kernel::available() {
            let steps: Vec<i32> = values.iter().map(|value| (value * 1024.0) as i32).collect();
            let mut out = vec![0.0; steps.len()];
            let scales = Scales { rows: &[1.0; 128], columns: &[1.0 / 1024.0; 32], bias: &[0.0; 32] };
            rescale(kernel.0, &steps, scales, Epilogue::Gelu, Out { values: &mut out, stride: 32 });
            for (x, y) in steps.iter().zip(&out) {
                let x = f64::from(*x) / 1024.0;
                let exact = x * 0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2));
                assert!((exact - f64::from(*y)).abs() < 5e-4, "{kernel}: gelu({x}) = {y}, not {exact}");
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
                assert!(
                    (exact - f64::from(*y)).abs() <= exact.abs() * 2e-6 + 1e-37,
                    "{kernel}: {x} {y} {exact}"
                );
            }
        }
    }

    #[test]
    fn a_row_of_bytes_is_within_half_a_step_of_its_numbers() {
        let values = ramp(-3.0, 1.0);
        for kernel in Kernel::available() {
            let mut bytes = vec![0; values.len()];
            let mut scale = [0.0];
            quantize_all(kernel.0, &values, 4096, 4096, &mut scale, &mut bytes, 4096);
            let scale = scale[0];
            for (value, byte) in values.iter().zip(&bytes) {
                let back = (i32::from(*byte) - ZERO) as f32 * scale;
                assert!((value - back).abs() <= scale * 0.5001, "{kernel}: {value} {back}");
            }
            for odd in [0.0, f32::INFINITY, f32::NAN] {
                let mut scales = [9.0; 5];
                quantize_all(kernel.0, &[odd; 5 * 32], 32, 32, &mut scales, &mut bytes[..5 * 32], 32);
                assert_eq!(scales, [0.0; 5], "{kernel}: {odd}");
            }
        }
    }

    #[test]
    fn each_row_has_the_scale_of_its_own_highest_number() {
        let highest = [3.0, 70.0, 0.5, 9.0, 2000.0, 0.01, 8.0];
        for kernel in Kernel::available() {
            for place in 0..32 {
                let mut values = [0.0; 7 * 32];
                values.chunks_exact_mut(32).zip(highest).for_each(|(row, highest)| row[place] = -highest);
                let mut scales = [0.0; 7];
                quantize_rows(kernel.0, &values, 32, 32, &mut scales, &mut [0; 7 * 32]);
                assert_eq!(scales, highest.map(|highest| highest * (1.0 / 127.0)), "{kernel}, {place}");
            }
        }
    }

    #[test]
    fn every_kernel_rounds_alike() {
        let values: Vec<f32> =
            (0..37 * 48).map(|i| ((i * 7919 + i * i * 31) % 4001) as f32 / 1999.7 - 1.0).collect();
        let mut first: Option<(Vec<u8>, Vec<f32>)> = None;
        for kernel in Kernel::available() {
            let (mut bytes, mut scales) = (vec![0; 37 * 64], vec![0.0; 37]);
            quantize_all(kernel.0, &values, 48, 32, &mut scales, &mut bytes, 64);
            let first = first.get_or_insert((bytes.clone(), scales.clone()));
            assert_eq!((&bytes, &scales), (&first.0, &first.1), "{kernel}");
        }
    }

    /// By its series, accurate enough for a test.
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
