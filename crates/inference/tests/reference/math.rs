//! Operations that both reference models use.

/// Returns the dot product, computed as sixteen partial sums so that the compiler can use vector instructions.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    let ((a, rest_of_a), (b, rest_of_b)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    assert!(
        rest_of_a.is_empty() && rest_of_b.is_empty(),
        "all rows of the models have a multiple of 16 numbers"
    );
    for (a, b) in a.iter().zip(b) {
        for at in 0..16 {
            sums[at] += a[at] * b[at];
        }
    }
    sums.iter().sum()
}

pub fn softmax(mut logits: Vec<f32>) -> Vec<f32> {
    let highest = logits.iter().copied().fold(f32::MIN, f32::max);
    logits.iter_mut().for_each(|logit| *logit = (*logit - highest).exp());
    let sum: f32 = logits.iter().sum();
    logits.iter_mut().for_each(|weight| *weight /= sum);
    logits
}

pub fn add(to: &mut [f32], values: &[f32]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value);
}
