//! Every kind compared with numbers from the format's reference implementation, for the bytes of [`block`].

use super::*;

/// Returns bytes without a pattern, except for plausible floats as scale and minimum.
fn block(kind: TensorKind) -> Vec<u8> {
    let byte = |i: usize| ((i * i * 31 + i * 73 + 41) / 3 % 256) as u8;
    let mut block: Vec<u8> = (0..kind.block_bytes()).map(byte).collect();
    const SCALE: [u8; 2] = 0x224cu16.to_le_bytes();
    const MIN: [u8; 2] = 0xb2a0u16.to_le_bytes();
    match kind {
        TensorKind::F32 | TensorKind::F16 | TensorKind::BF16 => {}
        TensorKind::Q8_0 | TensorKind::Q4_0 | TensorKind::Q5_0 => block[..2].copy_from_slice(&SCALE),
        TensorKind::Q6K => block[208..].copy_from_slice(&SCALE),
        TensorKind::Q4_1 | TensorKind::Q5_1 | TensorKind::Q4K | TensorKind::Q5K => {
            block[..2].copy_from_slice(&SCALE);
            block[2..4].copy_from_slice(&MIN);
        }
    }
    block
}

fn check(kind: TensorKind, expected: &[(usize, f32)], expected_sum: f64) {
    let mut weights = vec![0.0; kind.block_len()];
    kind.dequantize(&block(kind), &mut weights);
    for &(i, weight) in expected {
        assert_eq!(weights[i], weight, "{kind:?} weight {i}");
    }
    let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    assert!((sum - expected_sum).abs() < 1e-9 * expected_sum.abs(), "{kind:?} sums up to {sum}");
}

#[test]
fn floats_are_read_as_they_are() {
    check(TensorKind::F32, &[(0, -5.382758e-8)], -5.382758061500681e-08);
    check(TensorKind::F16, &[(0, 0.12658691)], 0.1265869140625);
    check(TensorKind::BF16, &[(0, 5.12955e-10)], 5.129550117999315e-10);
}

#[test]
fn small_blocks_match_the_reference() {
    check(
        TensorKind::Q8_0,
        &[(0, 1.2667542), (1, -0.94699097), (15, 1.0453796), (16, -0.50424194), (31, 0.4550476)],
        -1.40203857421875,
    );
    check(
        TensorKind::Q4_0,
        &[(0, -0.012298584), (1, -0.06149292), (15, -0.036895752), (16, -0.024597168), (31, -0.036895752)],
        -0.5411376953125,
    );
    check(
        TensorKind::Q4_1,
        &[(0, -0.15783691), (1, -0.096343994), (15, -0.034851074), (16, -0.19473267), (31, -0.13323975)],
        -3.857818603515625,
    );
    check(
        TensorKind::Q5_0,
        &[(0, 0.036895752), (1, 0.024597168), (15, 0.110687256), (16, -0.18447876), (31, 0.15988159)],
        -0.455047607421875,
    );
    check(
        TensorKind::Q5_1,
        &[(0, -0.14553833), (1, -0.04714966), (15, 0.07583618), (16, 0.0635376), (31, 0.10043335)],
        -1.09063720703125,
    );
}

#[test]
fn large_blocks_match_the_reference() {
    check(
        TensorKind::Q4K,
        &[(0, 9.62793), (31, 11.349731), (32, 10.866028), (77, 4.8743896), (130, 3.3370972), (255, 11.59375)],
        2080.0966186523438,
    );
    check(
        TensorKind::Q5K,
        &[
            (0, 10.857788),
            (31, 14.05542),
            (32, 10.312592),
            (77, 2.3039856),
            (130, 3.5953674),
            (255, 28.35672),
        ],
        2789.060791015625,
    );
    check(
        TensorKind::Q6K,
        &[(0, -2.840973), (31, -5.116211), (32, -31.742645), (77, 17.562378), (200, -23.982239)],
        -190.78793334960938,
    );
}

#[test]
fn four_bit_blocks_mean_the_same_weights() {
    for kind in [TensorKind::Q4_0, TensorKind::Q4_1, TensorKind::Q4K] {
        let bytes = block(kind).repeat(2);
        let mut weights = vec![0.0; 2 * kind.block_len()];
        kind.dequantize(&bytes, &mut weights);

        let blocks = kind.four_bit_blocks(&bytes).expect("a kind of four bits");
        let weight = |block: &FourBitBlock, quant| block.scale * f32::from(quant) + block.min;
        let again: Vec<f32> =
            blocks.flat_map(|block| block.quants.map(|quant| weight(&block, quant))).collect();
        assert_eq!(again, weights, "{kind:?}");
    }
    assert!(TensorKind::Q8_0.four_bit_blocks(&[0; 34]).is_none());
}

#[test]
fn a_kind_that_is_not_read_is_named() {
    let error = TensorKind::from_id(10).unwrap_err().to_string();
    assert!(error.contains("`Q2_K`") && error.contains("Q6_K"), "{error}");
}
