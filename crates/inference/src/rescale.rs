//! Sums of bytes back to numbers, with what follows in the same pass: bias, residual, activation. It is done four rows
//! at a time, without a loop that would end at different times, so that it can be woven into the next block's product.

use crate::elementwise::{gelu, silu};
use crate::kernel::{BLOCK, Meanwhile};
use crate::simd::{Floats, LANES, vectorized};
use std::marker::PhantomData;

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

/// One of `Then`, known when the code is compiled.
pub(crate) trait After {
    fn apply<V: Floats>(value: V, there: V) -> V;
}

macro_rules! after {
    ($($name:ident: |$value:ident, $there:pat_param| $result:expr;)*) => { $(
        pub(crate) struct $name;

        impl After for $name {
            #[inline(always)]
            fn apply<V: Floats>($value: V, $there: V) -> V {
                $result
            }
        }
    )* };
}

after! {
    Set: |value, _| value;
    Add: |value, there| value.plus(there);
    Gelu: |value, _| gelu(value);
    Gate: |value, there| silu(there).times(value);
}

/// What the sums of a block stand for: scales of its rows and of its 32 columns, and what is added to each column.
#[derive(Clone, Copy)]
pub(crate) struct Scales<'a> {
    pub rows: &'a [f32],
    pub columns: &'a [f32],
    pub bias: &'a [f32],
}

/// Rows of numbers, `stride` apart, of which the first places are written.
pub(crate) struct Out<'a> {
    pub values: &'a mut [f32],
    pub stride: usize,
}

impl Out<'_> {
    /// From a row and a column on.
    #[inline(always)]
    pub fn at(&mut self, row: usize, column: usize) -> Out<'_> {
        Out { values: &mut self.values[row * self.stride + column..], stride: self.stride }
    }
}

vectorized! {
    /// `value[i][j] = sums[i][j] · rows[i] · columns[j] + bias[j]`, for rows of 32; `then` says how they go into
    /// `out`.
    pub(crate) fn rescale(sums: &[i32], scales: Scales<'_>, then: Then, out: Out<'_>) {
        match then {
            Then::Set => rescale_all::<V, Set>(sums, scales, out),
            Then::Add => rescale_all::<V, Add>(sums, scales, out),
            Then::Gelu => rescale_all::<V, Gelu>(sums, scales, out),
            Then::Gate => rescale_all::<V, Gate>(sums, scales, out),
        }
    }
}

#[inline(always)]
pub(crate) fn rescale_all<V: Floats, A: After>(sums: &[i32], scales: Scales<'_>, out: Out<'_>) {
    let mut block = Rescale::<V, A>::new(sums, scales, out);
    for part in 0..scales.rows.len().div_ceil(4) {
        block.four_rows(part);
    }
}

/// The rows of a block on their way to numbers.
pub(crate) struct Rescale<'a, V, A> {
    sums: &'a [i32],
    rows: &'a [f32],
    columns: [V; 2],
    bias: [V; 2],
    out: Out<'a>,
    after: PhantomData<A>,
}

impl<'a, V: Floats, A: After> Rescale<'a, V, A> {
    #[inline(always)]
    pub fn new(sums: &'a [i32], scales: Scales<'a>, out: Out<'a>) -> Self {
        let halves = |values: &[f32]| [V::load(values), V::load(&values[LANES..])];
        let (columns, bias) = (halves(scales.columns), halves(scales.bias));
        Self { sums, rows: scales.rows, columns, bias, out, after: PhantomData }
    }

    #[inline(always)]
    fn some_rows(&mut self, first: usize, scales: &[f32]) {
        let sums = self.sums[first * BLOCK..].as_chunks::<BLOCK>().0;
        let stride = self.out.stride;
        let mut left = &mut self.out.values[first * stride..];
        for (sums, scale) in sums.iter().zip(scales) {
            let (place, rest) = left.split_at_mut(stride.min(left.len()));
            let Some(place) = place.first_chunk_mut::<BLOCK>() else { return };
            left = rest;
            for half in 0..2 {
                let (sums, place) = (&sums[half * LANES..], &mut place[half * LANES..]);
                let scale = self.columns[half].times(V::splat(*scale));
                let value = V::from_integers(sums).times_plus(scale, self.bias[half]);
                A::apply(value, V::load(place)).store(place);
            }
        }
    }
}

impl<V: Floats, A: After> Meanwhile for Rescale<'_, V, A> {
    #[inline(always)]
    fn four_rows(&mut self, part: usize) {
        let scales = self.rows.get(part * 4..).unwrap_or(&[]);
        match scales.first_chunk::<4>() {
            Some(four) => self.some_rows(part * 4, four),
            None if !scales.is_empty() => self.some_rows(part * 4, scales),
            None => {}
        }
    }
}
