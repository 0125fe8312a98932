//! Rotary position embeddings: each pair of a head's dimensions is rotated by the position times its frequency.
//!
//! Files of Llama's family store the two dimensions of a pair side by side. Their weights of queries and keys are read so
//! that the first dimensions of all pairs come before the second ones, as other files have them. This changes no product
//! of the two, and lets sixteen pairs be rotated at once.

use crate::simd::{LANES, vectorized};

/// Returns the row of the file that becomes this row of the weights.
pub(super) fn source_row(row: usize, dimension: usize) -> usize {
    let (head, within) = (row / dimension, row % dimension);
    let half = dimension / 2;
    head * dimension + within % half * 2 + within / half
}

/// Appends the cosines, then the sines, of a position's angles.
pub(super) fn angles(position: usize, frequencies: &[f32], out: &mut Vec<f32>) {
    let angle = |frequency: &f32| f64::from(position as f32 * *frequency);
    out.extend(frequencies.iter().map(|frequency| angle(frequency).cos() as f32));
    out.extend(frequencies.iter().map(|frequency| angle(frequency).sin() as f32));
}

vectorized! {
    /// Rotates one head.
    pub(super) fn rotate(head: &mut [f32], angles: &[f32]) {
        let half = head.len() / 2;
        let (first, second) = head.split_at_mut(half);
        let (cosines, sines) = angles.split_at(half);
        for at in (0..half).step_by(LANES) {
            let (x, y) = (V::load(&first[at..]), V::load(&second[at..]));
            let (cosine, sine) = (V::load(&cosines[at..]), V::load(&sines[at..]));
            x.times(cosine).minus(y.times(sine)).store(&mut first[at..]);
            x.times(sine).plus(y.times(cosine)).store(&mut second[at..]);
        }
    }
}
