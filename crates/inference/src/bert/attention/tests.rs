//! Attention of one text compared with plain arithmetic, on every kernel.

use super::*;
use crate::kernel::Kernel;

fn number(i: usize) -> f32 {
    ((i * 7919 + i * i % 83 * 131) % 2003) as f32 / 1001.0 - 1.0
}

/// Returns query, key and value of each position, contiguous. One dimension of keys and one of values are far from
/// zero, and one is constant.
fn heads(dimension: usize, positions: usize, apart: usize) -> Vec<f32> {
    let mut heads = vec![0.0; positions * apart];
    for (position, row) in heads.chunks_exact_mut(apart).enumerate() {
        for (i, value) in row[..3 * dimension].iter_mut().enumerate() {
            *value = number(position * 613 + i * 17);
        }
        row[dimension + 3] += 30.0;
        row[dimension + 5] = 7.0;
        row[2 * dimension + 4] -= 50.0;
        row[2 * dimension + 6] = 1e-3;
    }
    heads
}

fn exact(heads: &[f32], apart: usize, dimension: usize, position: usize) -> Vec<f32> {
    let part = |row: &[f32], which: usize| row[which * dimension..(which + 1) * dimension].to_vec();
    let query = part(&heads[position * apart..], 0);
    let logit = |row: &[f32]| {
        let dot: f64 = query.iter().zip(part(row, 1)).map(|(a, b)| f64::from(*a) * f64::from(b)).sum();
        dot / (dimension as f64).sqrt()
    };
    let logits: Vec<f64> = heads.chunks(apart).map(logit).collect();
    let highest = logits.iter().copied().fold(f64::MIN, f64::max);
    let total: f64 = logits.iter().map(|logit| (logit - highest).exp()).sum();
    let mut mean = vec![0.0; dimension];
    for (row, logit) in heads.chunks(apart).zip(logits) {
        for (mean, value) in mean.iter_mut().zip(part(row, 2)) {
            *mean += ((logit - highest).exp() / total) as f32 * value;
        }
    }
    mean
}

#[test]
fn every_kernel_attends_as_plain_arithmetic_does() {
    for (dimension, positions) in [(32, 1), (32, 5), (64, 70), (32, 97), (96, 150)] {
        let apart = 3 * dimension + 16;
        let heads = heads(dimension, positions, apart);
        for kernel in Kernel::available() {
            let session = kernel.session();
            let mut head = Head::new();
            // The data of an earlier text must have no effect.
            head.set(&session, dimension, &mut heads[..].iter().map(|x| x * -9.0).collect::<Vec<_>>(), apart);
            head.set(&session, dimension, &mut heads.clone(), apart);
            let mut out = vec![0.0; positions * dimension];
            head.attend(&session, Out { values: &mut out, stride: dimension });
            for position in 0..positions {
                let expected = exact(&heads, apart, dimension, position);
                for (i, (expected, got)) in expected.iter().zip(&out[position * dimension..]).enumerate() {
                    assert!(
                        (expected - got).abs() < 0.02,
                        "{kernel}, {dimension}, {position} of {positions}, {i}: {expected} {got}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_shorter_text_sees_nothing_of_a_longer_one_before_it() {
    for kernel in Kernel::available() {
        let session = kernel.session();
        let (dimension, apart) = (32, 96);
        let long = heads(dimension, 100, apart);
        let short = heads(dimension, 41, apart);
        let attend = |head: &mut Head| {
            let mut out = vec![0.0; 41 * dimension];
            head.set(&session, dimension, &mut short.clone(), apart);
            head.attend(&session, Out { values: &mut out, stride: dimension });
            out
        };
        let mut used = Head::new();
        used.set(&session, dimension, &mut long.iter().map(|value| value * 100.0).collect::<Vec<_>>(), apart);
        used.attend(&session, Out { values: &mut vec![0.0; 100 * dimension], stride: dimension });
        assert_eq!(attend(&mut used), attend(&mut Head::new()), "{kernel}");
    }
}

#[test]
fn numbers_that_are_none_or_too_large_spread_no_panic() {
    for kernel in Kernel::available() {
        for odd in [f32::NAN, f32::INFINITY, 1e38] {
            let mut heads = heads(32, 40, 96);
            heads[3 * 96 + 40] = odd;
            heads[5 * 96 + 70] = -odd;
            let session = kernel.session();
            let mut head = Head::new();
            head.set(&session, 32, &mut heads, 96);
            head.attend(&session, Out { values: &mut [0.0; 40 * 32], stride: 32 });
        }
    }
}

#[test]
fn weights_are_those_of_a_softmax_and_what_is_hidden_has_none() {
    let (rows, width) = (21, 96);
    let mut sums: Vec<i32> = (0..rows * width).map(|i| (i as i32 * 7919) % 6100 - 3000).collect();
    sums.chunks_exact_mut(width).for_each(|row| row[width - 5..].fill(HIDDEN + 17));
    // The last rows are nearly flat, and flat.
    let mut scales: Vec<f32> = (0..rows).map(|row| 0.0002 + row as f32 * 0.0003).collect();
    scales[rows - 1] = LEAST_SCALE;
    for kernel in Kernel::available() {
        let (mut weights, mut steps) = (vec![9; rows * 128], vec![0.0; rows]);
        let logits = Logits { sums: &sums, stride: width, width, scales: &scales };
        weigh(kernel.0, &logits, &mut weights, 128, &mut steps);
        for (row, weights) in weights.chunks_exact(128).enumerate() {
            let sums = &sums[row * width..][..width - 5];
            let top = *sums.iter().max().unwrap();
            let exact = |sum: &i32| 255.0 * ((sum - top) as f32 * scales[row]).exp2();
            for (sum, weight) in sums.iter().zip(weights) {
                // Half a step of the table, and half a byte.
                let (exact, weight) = (exact(sum), f32::from(*weight));
                assert!((exact - weight).abs() <= 0.51 + exact * 0.0126, "{kernel}: {exact} {weight}");
            }
            assert!(weights[width - 5..].iter().all(|weight| *weight == 0), "{kernel}");
            let step = 1.0 / sums.iter().map(exact).sum::<f32>();
            assert!((steps[row] / step - 1.0).abs() < 0.02, "{kernel}, {row}: {} {step}", steps[row]);
        }
    }
}
