//! Converts sums of bytes to floats, and applies bias, residual or activation in the same pass. It processes two rows
//! at a time without a loop of its own, so that it can be interleaved with the product of the next block.

#![expect(unsafe_code, reason = "lengths are checked once for a block")]

use crate::elementwise::{gelu, silu};
use crate::kernel::{BLOCK, Interleaved};
use crate::simd::{Floats, LANES, vectorized};
use std::marker::PhantomData;
use std::slice;

/// How a computed value is combined with the value that is at its place in the output.
#[derive(Clone, Copy)]
pub(crate) enum Epilogue {
    Set,
    Add,
    /// Replaces it by the GELU of the computed value.
    Gelu,
    /// Replaces it by the computed value times its SiLU.
    Gate,
}

/// An `Epilogue` as a type, so that it is known at compile time. It works on several vectors at once, since the steps
/// of one depend on each other.
pub(crate) trait EpilogueOp {
    fn apply<V: Floats, const N: usize>(values: [V; N], there: [V; N]) -> [V; N];
}

pub(crate) struct Set;
pub(crate) struct Add;
pub(crate) struct Gelu;
pub(crate) struct Gate;

impl EpilogueOp for Set {
    #[inline(always)]
    fn apply<V: Floats, const N: usize>(values: [V; N], _: [V; N]) -> [V; N] {
        values
    }
}

impl EpilogueOp for Add {
    #[inline(always)]
    fn apply<V: Floats, const N: usize>(mut values: [V; N], there: [V; N]) -> [V; N] {
        for i in 0..N {
            values[i] = values[i].plus(there[i]);
        }
        values
    }
}

impl EpilogueOp for Gelu {
    #[inline(always)]
    fn apply<V: Floats, const N: usize>(values: [V; N], _: [V; N]) -> [V; N] {
        gelu(values)
    }
}

impl EpilogueOp for Gate {
    #[inline(always)]
    fn apply<V: Floats, const N: usize>(mut values: [V; N], there: [V; N]) -> [V; N] {
        for i in 0..N {
            values[i] = values[i].times(silu(there[i]));
        }
        values
    }
}

/// The scales of a block's rows and of its 32 columns, and the bias of each column.
#[derive(Clone, Copy)]
pub(crate) struct Scales<'a> {
    pub rows: &'a [f32],
    pub columns: &'a [f32],
    pub bias: &'a [f32],
}

/// Rows of floats, `stride` apart, that are written.
pub(crate) struct Out<'a> {
    pub values: &'a mut [f32],
    pub stride: usize,
}

impl Out<'_> {
    /// Returns the part from a row and a column on.
    #[inline(always)]
    pub fn at(&mut self, row: usize, column: usize) -> Out<'_> {
        Out { values: &mut self.values[row * self.stride + column..], stride: self.stride }
    }
}

vectorized! {
    /// Computes `value[i][j] = sums[i][j] · rows[i] · columns[j] + bias[j]` for rows of 32, and combines it with
    /// `out` as `then` says.
    pub(crate) fn rescale(sums: &[i32], scales: Scales<'_>, then: Epilogue, out: Out<'_>) {
        match then {
            Epilogue::Set => rescale_all::<V, Set>(sums, scales, out),
            Epilogue::Add => rescale_all::<V, Add>(sums, scales, out),
            Epilogue::Gelu => rescale_all::<V, Gelu>(sums, scales, out),
            Epilogue::Gate => rescale_all::<V, Gate>(sums, scales, out),
        }
    }
}

#[inline(always)]
pub(crate) fn rescale_all<V: Floats, A: EpilogueOp>(sums: &[i32], scales: Scales<'_>, out: Out<'_>) {
    let mut block = Rescale::<V, A>::new(sums, scales, out);
    for _ in 0..scales.rows.len().div_ceil(2) {
        block.two_rows();
    }
}

/// The state of converting a block's rows.
pub(crate) struct Rescale<'a, V, A> {
    sums: *const i32,
    rows: &'a [f32],
    columns: [V; 2],
    bias: [V; 2],
    out: *mut f32,
    stride: usize,
    kinds: PhantomData<(A, &'a mut f32, &'a i32)>,
}

impl<'a, V: Floats, A: EpilogueOp> Rescale<'a, V, A> {
    #[inline(always)]
    pub fn new(sums: &'a [i32], scales: Scales<'a>, out: Out<'a>) -> Self {
        let (rows, stride) = (scales.rows, out.stride);
        assert!(sums.len() >= rows.len() * BLOCK && stride >= BLOCK);
        assert!(rows.is_empty() || out.values.len() >= (rows.len() - 1) * stride + BLOCK);
        Self {
            sums: sums.as_ptr(),
            rows,
            columns: [V::load(scales.columns), V::load(&scales.columns[LANES..])],
            bias: [V::load(scales.bias), V::load(&scales.bias[LANES..])],
            out: out.values.as_mut_ptr(),
            stride,
            kinds: PhantomData,
        }
    }

    /// Converts the next rows, two vectors each.
    #[inline(always)]
    fn next<const ROWS: usize, const N: usize>(&mut self, scales: [f32; ROWS], later: &'a [f32]) {
        assert!(N == 2 * ROWS);
        let mut values = [V::splat(0.0); N];
        let mut there = [V::splat(0.0); N];
        // SAFETY: `new` has checked that there are sums and outputs for all rows. These are the next ones: they are
        // taken off `rows`, and both pointers advance by as many.
        unsafe {
            for i in 0..N {
                let scale = self.columns[i % 2].times(V::splat(scales[i / 2]));
                let sums = slice::from_raw_parts(self.sums.add(i * LANES), LANES);
                values[i] = V::from_integers(sums).times_plus(scale, self.bias[i % 2]);
                let place = self.out.add(i / 2 * self.stride + i % 2 * LANES);
                there[i] = V::load(slice::from_raw_parts(place, LANES));
            }
            values = A::apply(values, there);
            for (i, value) in values.iter().enumerate() {
                let place = self.out.add(i / 2 * self.stride + i % 2 * LANES);
                value.store(slice::from_raw_parts_mut(place, LANES));
            }
        }
        self.sums = self.sums.wrapping_add(ROWS * BLOCK);
        self.out = self.out.wrapping_add(ROWS * self.stride);
        self.rows = later;
    }
}

impl<V: Floats, A: EpilogueOp> Interleaved for Rescale<'_, V, A> {
    #[inline(always)]
    fn two_rows(&mut self) {
        match self.rows {
            [first, second, later @ ..] => self.next::<2, 4>([*first, *second], later),
            [last] => self.next::<1, 2>([*last], &[]),
            [] => {}
        }
    }
}
