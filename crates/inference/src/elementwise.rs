//! What happens to rows of numbers between two products: norms, activations, softmax, and rounding to bytes.
//!
//! Slices are whole sixteens long.

use crate::simd::{Floats, LANES, vectorized};

/// Bytes stand for numbers around this one.
pub(crate) const ZERO: i32 = 128;

vectorized! {
    /// Sums of bytes back to numbers, `value[i][j] = sums[i][j] · rows[i] · columns[j] + bias[j]`, for rows of 32;
    /// `then` says how they go into the rows of `out`, which are `stride` apart.
    pub(crate) fn rescale(sums: &[i32], scales: Scales<'_>, then: Then, out: &mut [f32], stride: usize) {
        match then {
            Then::Set => rescale_with::<V>(sums, scales, out, stride, |value, _| value),
            Then::Add => rescale_with::<V>(sums, scales, out, stride, V::plus),
            Then::Gelu => rescale_with::<V>(sums, scales, out, stride, |value, _| gelu(value)),
            Then::Gate => rescale_with::<V>(sums, scales, out, stride, |value, gate| silu(gate).times(value)),
        }
    }

    /// Rounds rows of `width`, `stride` apart, to bytes around `ZERO`; their scales are multiplied by `times`.
    pub(crate) fn quantize_all(
        values: &[f32],
        stride: usize,
        width: usize,
        times: f32,
        scales: &mut [f32],
        bytes: &mut [u8],
    ) {
        quantize_with::<V>(values, stride, width, scales, bytes, ZERO as f32);
        scales.iter_mut().for_each(|scale| *scale *= times);
    }

    /// Rounds rows of `width` to signed bytes; `values` has them `stride` apart, `bytes` one behind another.
    pub(crate) fn quantize_rows(values: &[f32], stride: usize, width: usize, scales: &mut [f32], bytes: &mut [u8]) {
        quantize_with::<V>(values, stride, width, scales, bytes, 0.0);
    }

    /// Turns a row of logits, which are powers of two, into bytes of which the highest is 255. What each stands for is
    /// divided by its part of `parts` and summed up; gives what one step of a byte is worth if that sum is one.
    pub(crate) fn softmax(logits: &[f32], parts: &[f32], bytes: &mut [u8]) -> f32 {
        let highest = V::splat(highest::<V>(logits, |logit| logit).highest());
        let mut sums = [V::splat(0.0); 2];
        let factor = V::splat(255.0);
        for ((logits, parts), bytes) in
            logits.chunks_exact(2 * LANES).zip(parts.chunks_exact(2 * LANES)).zip(bytes.chunks_exact_mut(2 * LANES))
        {
            for (half, sum) in sums.iter_mut().enumerate() {
                let weight = V::load(&logits[half * LANES..]).minus(highest).power_of_two();
                *sum = weight.times_plus(V::load(&parts[half * LANES..]), *sum);
                weight.rounded(factor, 0.0).store_low_bytes(&mut bytes[half * LANES..]);
            }
        }
        1.0 / 255.0 / sums[0].plus(sums[1]).sum()
    }

    /// `gate = gate / (1 + e^-gate) · up`.
    pub(crate) fn gated_silu(gate: &mut [f32], up: &[f32]) {
        for (gate, up) in gate.chunks_exact_mut(LANES).zip(up.chunks_exact(LANES)) {
            silu(V::load(gate)).times(V::load(up)).store(gate);
        }
    }

    pub(crate) fn layer_norm(row: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
        let count = row.len() as f32;
        let mean = V::splat(sum::<V>(row, |value| value) / count);
        let squares = sum::<V>(row, |value| value.minus(mean).times(value.minus(mean)));
        let factor = V::splat(1.0 / (squares / count + epsilon).sqrt());
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

/// What becomes of a value that was computed, and of what is in its place.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Set,
    Add,
    /// The value's GELU.
    Gelu,
    /// The value times the SiLU of what is there.
    Gate,
}

/// What the sums of a block stand for: scales of its rows and of its 32 columns, and what is added to each column.
#[derive(Clone, Copy)]
pub(crate) struct Scales<'a> {
    pub rows: &'a [f32],
    pub columns: &'a [f32],
    pub bias: &'a [f32],
}

#[inline(always)]
fn rescale_with<V: Floats>(
    sums: &[i32],
    scales: Scales<'_>,
    out: &mut [f32],
    stride: usize,
    then: impl Fn(V, V) -> V,
) {
    for half in [0, LANES] {
        let columns = V::load(&scales.columns[half..]);
        let bias = V::load(&scales.bias[half..]);
        for ((sums, out), row) in sums.chunks_exact(32).zip(out.chunks_mut(stride)).zip(scales.rows) {
            let value = V::from_integers(&sums[half..]).times_plus(columns.times(V::splat(*row)), bias);
            let out = &mut out[half..];
            then(value, V::load(out)).store(out);
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
    zero: f32,
) {
    let four_rows = values.chunks(4 * stride).zip(bytes.chunks_mut(4 * width)).zip(scales.chunks_mut(4));
    for ((values, bytes), scales) in four_rows {
        let rows = || values.chunks(stride).map(|values| &values[..width]);
        let mut highest = [V::splat(0.0); 4];
        for (highest, values) in highest.iter_mut().zip(rows()) {
            *highest = highest_magnitudes(values);
        }
        let highest = V::highest_of_each(highest);
        for (((values, bytes), scale), highest) in
            rows().zip(bytes.chunks_exact_mut(width)).zip(scales).zip(highest)
        {
            let (step, factor) = steps(highest, 127.0);
            let factor = V::splat(factor);
            for (values, bytes) in values.chunks_exact(LANES).zip(bytes.chunks_exact_mut(LANES)) {
                V::load(values).rounded(factor, zero).store_low_bytes(bytes);
            }
            *scale = step;
        }
    }
}

/// `x · Φ(x)` with Φ as a polynomial, within 8e-5 of the exact value.
#[inline(always)]
fn gelu<V: Floats>(x: V) -> V {
    const COEFFICIENTS: [f32; 8] = [
        -4.515_208e-9,
        1.986_127_3e-7,
        -5.147_457_6e-6,
        8.848_856e-5,
        -1.079_074_5e-3,
        9.718_767e-3,
        -6.619_026_5e-2,
        0.398_819_2,
    ];
    const LIMIT: f32 = 4.25;
    let clamped = x.max(V::splat(-LIMIT)).min(V::splat(LIMIT));
    let square = clamped.times(clamped);
    let mut series = V::splat(4.546_953e-11);
    for coefficient in COEFFICIENTS {
        series = series.times_plus(square, V::splat(coefficient));
    }
    x.times(clamped.times_plus(series, V::splat(0.5)))
}

/// `x / (1 + e^-x)`
#[inline(always)]
fn silu<V: Floats>(x: V) -> V {
    x.divided_by(V::splat(0.0).minus(x).exp().plus(V::splat(1.0)))
}

/// The highest magnitude of each lane, in four chains, since each link of one waits for the link before.
#[inline(always)]
fn highest_magnitudes<V: Floats>(values: &[f32]) -> V {
    highest(values, V::abs)
}

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

/// The sum of what `of` makes of the values, in four chains.
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

/// What one of `count` steps up to `highest` is worth, and its inverse. A row of zeros, and one with a number that is
/// none, have steps of zero.
#[inline(always)]
fn steps(highest: f32, count: f32) -> (f32, f32) {
    if highest > 0.0 && highest.is_finite() { (highest * (1.0 / count), count / highest) } else { (0.0, 0.0) }
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
            let steps: Vec<i32> = values.iter().map(|value| (value * 1024.0) as i32).collect();
            let mut out = vec![0.0; steps.len()];
            let scales = Scales { rows: &[1.0; 128], columns: &[1.0 / 1024.0; 32], bias: &[0.0; 32] };
            rescale(kernel.0, &steps, scales, Then::Gelu, &mut out, 32);
            for (x, y) in steps.iter().zip(&out) {
                let x = f64::from(*x) / 1024.0;
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
            quantize_all(kernel.0, &values, 4096, 4096, 1.0, &mut scale, &mut bytes);
            let scale = scale[0];
            for (value, byte) in values.iter().zip(&bytes) {
                let back = (i32::from(*byte) - ZERO) as f32 * scale;
                assert!((value - back).abs() <= scale * 0.5001, "{kernel}: {value} {back}");
            }
            for odd in [0.0, f32::INFINITY, f32::NAN] {
                let mut scales = [9.0; 5];
                quantize_all(kernel.0, &[odd; 5 * 32], 32, 32, 1.0, &mut scales, &mut bytes[..5 * 32]);
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
    fn softmax_gives_weights_that_sum_to_one() {
        let logits: Vec<f32> = (0..64).map(|i| if i < 40 { i as f32 * 0.1 } else { -1e30 }).collect();
        let parts: Vec<f32> = (0..64).map(|i| 0.5 + (i % 5) as f32 * 0.1).collect();
        let weights: Vec<f32> = logits.iter().map(|logit| logit.exp2()).collect();
        let sum: f32 = weights.iter().zip(&parts).map(|(weight, part)| weight * part).sum();
        for kernel in Kernel::available() {
            let mut bytes = vec![9; 64];
            let step = softmax(kernel.0, &logits, &parts, &mut bytes);
            assert_eq!((bytes[39], &bytes[40..]), (255, &[0; 24][..]));
            for (byte, weight) in bytes.iter().zip(&weights) {
                assert!(
                    (f32::from(*byte) * step - weight / sum).abs() <= step * 0.51,
                    "{kernel}: {byte} {weight}"
                );
            }
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
