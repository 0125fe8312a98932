//! Detects which instructions this processor can run, and provides the matrix product that uses them.
//!
//! A `Kernel` exists only for instructions that the processor announces, the system permits and a test has run, so
//! holding one makes calling them sound.

mod aligned;
#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;
#[cfg(target_arch = "x86_64")]
mod probe;
#[cfg(target_arch = "x86_64")]
mod vbmi;
#[cfg(target_arch = "x86_64")]
mod vnni;

pub(crate) use aligned::Aligned;
pub use aligned::Number;

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Rows and columns of the block that one call computes.
pub(crate) const BLOCK: usize = 32;

/// The products of one block, row after row.
#[repr(C, align(64))]
pub(crate) struct Sums(pub [i32; BLOCK * BLOCK]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(pub(crate) Isa);

/// From the fastest to the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only the portable one exists there"))]
pub(crate) enum Isa {
    /// Int8 tiles for large products; otherwise the same as `Vnni`.
    Amx,
    /// AVX-512 with byte dot products.
    Vnni,
    /// AVX2, FMA and F16C.
    Avx2,
    Portable,
}

impl Kernel {
    /// Returns the fastest kernel that works here.
    pub fn best() -> Self {
        Self::available()[0]
    }

    /// Returns all kernels that work here, the fastest first.
    pub fn available() -> &'static [Self] {
        static AVAILABLE: OnceLock<Vec<Kernel>> = OnceLock::new();
        AVAILABLE.get_or_init(|| {
            let mut found = Vec::new();
            #[cfg(target_arch = "x86_64")]
            found.extend(probe::working().into_iter().map(Kernel));
            found.push(Kernel(Isa::Portable));
            found
        })
    }

    /// Returns the kernel of this name, if it works here.
    pub fn named(name: &str) -> Option<Self> {
        Self::available().iter().copied().find(|kernel| kernel.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self.0 {
            Isa::Amx => "amx",
            Isa::Vnni => "vnni",
            Isa::Avx2 => "avx2",
            Isa::Portable => "portable",
        }
    }

    /// Returns whether products are faster with narrow columns, see `column_scale`.
    pub(crate) fn prefers_narrow(self) -> bool {
        self.0 == Isa::Avx2
    }

    /// Prepares the calling thread for products.
    pub(crate) fn session(self) -> Session {
        #[cfg(target_arch = "x86_64")]
        if self.0 == Isa::Amx {
            amx::enter();
        }
        Session { isa: self.0, _stays_on_its_thread: PhantomData }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A thread that can multiply. With AMX it holds the configuration of the thread's tiles.
pub(crate) struct Session {
    isa: Isa,
    _stays_on_its_thread: PhantomData<*const ()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if self.isa == Isa::Amx {
            amx::leave();
        }
    }
}

/// The left operand: up to 32 rows of `depth` unsigned bytes, `stride` bytes apart. AMX reads sixteen rows at a time,
/// so the bytes must cover a multiple of sixteen rows.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub bytes: &'a [u8],
    pub stride: usize,
    pub rows: usize,
    pub depth: usize,
}

impl Left<'_> {
    fn reaches(&self, rows: usize) -> bool {
        rows == 0 || (rows - 1) * self.stride + self.depth <= self.bytes.len()
    }
}

/// The right operand: 32 columns as `[depth/4][32][4]`, four bytes of a column's depth together, and their initial
/// sums.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a> {
    pub bytes: &'a [i8],
    pub start: &'a [i32; BLOCK],
    /// Whether the columns are narrow, see `column_scale`.
    pub narrow: bool,
}

/// Work for the vector units that is interleaved with a product of the tile unit: on the rows of another block.
pub(crate) trait Interleaved {
    /// Processes the next two rows, or those that are left. Called sixteen times or more.
    fn two_rows(&mut self);
}

pub(crate) struct NoWork;

impl Interleaved for NoWork {
    #[inline(always)]
    fn two_rows(&mut self) {}
}

/// How often `two_rows` is called for a block.
const PARTS: usize = BLOCK / 2;

impl Session {
    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// Computes `sums[i][j] = start[j] + Σ left[i][k] · right[k][j]` exactly, for the rows of `left`, which are
    /// `stride` apart in `sums`. The rest of the block is unspecified. The depth is a multiple of 32.
    #[inline(always)]
    pub(crate) fn multiply(
        &self,
        left: Left<'_>,
        right: Right<'_>,
        sums: &mut [i32],
        stride: usize,
        interleaved: &mut impl Interleaved,
    ) {
        assert!(left.rows <= BLOCK && left.depth > 0 && left.depth.is_multiple_of(32));
        assert!(left.reaches(left.rows) && right.bytes.len() >= left.depth * BLOCK);
        assert!(stride >= BLOCK && sums.len() >= (left.rows.next_multiple_of(16) - 1) * stride + BLOCK);
        let Right { bytes: panel, start, narrow } = right;
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Amx if left.rows > 8 && left.depth.is_multiple_of(amx::DEPTH) => {
                assert!(left.reaches(left.rows.next_multiple_of(16)));
                return amx::multiply(left, panel, start, sums, stride, interleaved);
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Amx | Isa::Vnni => vnni::multiply(left, panel, start, sums, stride),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 if narrow => avx2::multiply_narrow(left, panel, start, sums, stride),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::multiply(left, panel, start, sums, stride),
            _ => portable::multiply(left, panel, start, sums, stride),
        }
        for _ in 0..PARTS {
            interleaved.two_rows();
        }
    }

    /// The same for contiguous panels, each with 32 starts, into as many columns. Their depth is that of `left`, or
    /// 64 with tiles, padded with zeros.
    pub(crate) fn multiply_across(
        &self,
        left: Left<'_>,
        panels: &[i8],
        starts: &[i32],
        sums: &mut [i32],
        stride: usize,
    ) {
        let (starts, _) = starts.as_chunks::<BLOCK>();
        if starts.is_empty() {
            return;
        }
        let depth = panels.len() / starts.len() / BLOCK;
        #[cfg(target_arch = "x86_64")]
        if self.isa == Isa::Amx && left.rows > 8 && depth == amx::DEPTH {
            let rows = left.rows.next_multiple_of(16);
            assert!(rows <= BLOCK && Left { depth, ..left }.reaches(rows));
            assert!(
                stride >= starts.len() * BLOCK && sums.len() >= (rows - 1) * stride + starts.len() * BLOCK
            );
            return amx::multiply_across(left, panels, starts, sums, stride);
        }
        for (index, start) in starts.iter().enumerate() {
            let right = Right { bytes: &panels[index * depth * BLOCK..], start, narrow: false };
            self.multiply(left, right, &mut sums[index * BLOCK..], stride, &mut NoWork);
        }
    }
}

/// Sums that stand for logits, in rows of `width`, a multiple of 32. Times the row's scale they are exponents of two.
pub(crate) struct Logits<'a> {
    pub sums: &'a [i32],
    pub stride: usize,
    pub width: usize,
    pub scales: &'a [f32],
}

impl Logits<'_> {
    /// Computes the softmax as bytes with a table, and returns false if the kernel has none. The highest of a row is
    /// 255, bytes after `width` up to a multiple of 64 are zero, and `steps` gets the value of one step of a row's
    /// bytes.
    pub fn look_up(&self, isa: Isa, weights: &mut [u8], stride: usize, steps: &mut [f32]) -> bool {
        let Some(last) = self.scales.len().checked_sub(1) else { return true };
        assert!(self.width.is_multiple_of(32) && self.width > 0 && steps.len() == self.scales.len());
        assert!(self.sums.len() >= last * self.stride + self.width);
        assert!(weights.len() >= last * stride + self.width.next_multiple_of(64));
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Amx => vbmi::weigh(self, weights, stride, steps),
            _ => return false,
        }
        true
    }
}

/// Returns the smallest scale with which a column becomes bytes. AVX2 multiplies bytes, adds neighbours, and then
/// adds two such sums, all in sixteen bits that saturate. The bytes of a narrow column are small enough for that: in
/// each such four, the positive bytes, and the negative ones, add up to at most 128 (255 · 128 < 2¹⁵), of which 2 are
/// left for rounding.
pub(crate) fn column_scale(column: &[f32], narrow: bool) -> f32 {
    let (highest, steps) = if narrow {
        let fours = column.chunks_exact(8).flat_map(|eight| {
            [[0, 1, 4, 5], [2, 3, 6, 7]].map(|places| places.map(|place: usize| eight[place]))
        });
        let side =
            |four: [f32; 4], sign: f32| four.iter().map(|weight| (sign * weight).max(0.0)).sum::<f32>();
        (fours.fold(0.0f32, |highest, four| highest.max(side(four, 1.0)).max(side(four, -1.0))), 126.0)
    } else {
        (column.iter().fold(0.0f32, |highest, weight| highest.max(weight.abs())), 127.0)
    };
    if highest > 0.0 { highest / steps } else { 1.0 }
}

/// Two blocks: one is computed while the other is used.
pub(crate) type Pair = [Sums; 2];

pub(crate) fn pair() -> Box<Pair> {
    Box::new([const { Sums([0; BLOCK * BLOCK]) }; 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: &mut u64) -> u8 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 56) as u8
    }

    #[test]
    fn every_kernel_gives_the_same_sums_at_the_extremes_too() {
        let mut seed = 7;
        for depth in [32, 64, 96, 384, 1536] {
            for rows in [1, 2, 3, 5, 8, 9, 16, 17, 31, 32] {
                let mut left = Aligned::<u8>::zeroed(BLOCK * depth);
                let mut panel = Aligned::<i8>::zeroed(BLOCK * depth);
                left.iter_mut().for_each(|byte| *byte = noise(&mut seed));
                panel.iter_mut().for_each(|byte| *byte = noise(&mut seed) as i8);
                left[..depth].fill(255);
                for group in panel.chunks_exact_mut(128) {
                    group[..4].fill(-128);
                    group[4..8].fill(127);
                }
                let start: [i32; 32] = std::array::from_fn(|column| column as i32 * 1000 - 7);
                let left = Left { bytes: &left, stride: depth, rows, depth };
                every_kernel_multiplies(left, Right { bytes: &panel, start: &start, narrow: false });
            }
        }
    }

    fn every_kernel_multiplies(left: Left<'_>, right: Right<'_>) {
        let (rows, depth) = (left.rows, left.depth);
        let mut expected = Sums([0; 1024]);
        portable::multiply(left, right.bytes, right.start, &mut expected.0, BLOCK);
        for kernel in Kernel::available() {
            let mut sums = Sums([0; 1024]);
            kernel.session().multiply(left, right, &mut sums.0, BLOCK, &mut NoWork);
            assert_eq!(sums.0[..rows * 32], expected.0[..rows * 32], "{kernel}, {rows} × {depth}");
        }
    }

    /// Columns in which some bytes are as large as possible: all, one, two, or four that would all be rounded up if
    /// no room were left for rounding.
    #[test]
    fn products_of_narrow_columns_are_exact_too() {
        let mut seed = 9;
        for depth in [32, 384, 1536] {
            let mut panel = Aligned::<i8>::zeroed(BLOCK * depth);
            for column in 0..BLOCK {
                let sign = if column % 2 == 0 { 1.0 } else { -1.0 };
                let weights: Vec<f32> = (0..depth)
                    .map(|k| match column / 2 {
                        0 => sign,
                        1 => sign * f32::from(u8::from(k % 8 == 1)),
                        2 => sign * f32::from(u8::from(k % 4 > 1)),
                        3 => sign * [21.5, 21.5, 0.0, 0.0, 42.5, 42.5, 0.0, 0.0][k % 8],
                        _ => f32::from(noise(&mut seed)) - 127.5,
                    })
                    .collect();
                let scale = column_scale(&weights, true);
                for (k, weight) in weights.iter().enumerate() {
                    panel[k / 4 * 128 + column * 4 + k % 4] = (weight / scale).round() as i8;
                }
            }
            assert!(
                panel.contains(&126) && panel.contains(&-126),
                "one alone may be as large as in other columns"
            );
            for rows in [1, 2, 3, 4, 7, 16, 32] {
                let mut left = Aligned::<u8>::zeroed(BLOCK * depth);
                left.iter_mut().for_each(|byte| *byte = noise(&mut seed));
                left[..depth].fill(255);
                let left = Left { bytes: &left, stride: depth, rows, depth };
                every_kernel_multiplies(left, Right { bytes: &panel, start: &[-3; BLOCK], narrow: true });
            }
        }
    }

    #[test]
    fn a_session_inside_another_leaves_it_usable() {
        let kernel = Kernel::best();
        let outer = kernel.session();
        drop(kernel.session());
        let left = Aligned::<u8>::zeroed(32 * 64);
        let panel = Aligned::<i8>::zeroed(32 * 64);
        let mut sums = Sums([1; 1024]);
        outer.multiply(
            Left { bytes: &left, stride: 64, rows: 32, depth: 64 },
            Right { bytes: &panel, start: &[5; 32], narrow: false },
            &mut sums.0,
            BLOCK,
            &mut NoWork,
        );
        assert_eq!(sums.0, [5; 1024]);
    }
}
