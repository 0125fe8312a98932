//! The product with AMX tiles: four tiles of 16 × 16 sums stay in registers while the operands stream through.
//!
//! Stable Rust has no intrinsics for tiles, so the instructions are written as assembly. A thread must load a tile
//! configuration first; `Session` does that.

#![expect(unsafe_code, reason = "tile instructions exist only as assembly")]

use super::{BLOCK, Interleaved, Left, PARTS};
use std::arch::asm;
use std::cell::Cell;

/// Depth of a tile of bytes.
pub(super) const DEPTH: usize = 64;

thread_local! {
    /// Sessions of this thread: only the outermost one loads and releases the configuration.
    static SESSIONS: Cell<usize> = const { Cell::new(0) };
}

/// Tiles 0 to 3 hold sums, 4 and 5 left operands, 6 and 7 right ones, each with 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static CONFIGURATION: Configuration = Configuration {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

pub(super) fn enter() {
    if SESSIONS.replace(SESSIONS.get() + 1) == 0 {
        // SAFETY: a `Kernel` of this kind exists only if tiles work; the configuration is valid.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const CONFIGURATION, options(nostack)) }
    }
}

pub(super) fn leave() {
    SESSIONS.set(SESSIONS.get() - 1);
    if SESSIONS.get() == 0 {
        // SAFETY: as in `enter`; no other session of this thread uses the tiles.
        unsafe { asm!("tilerelease", options(nostack)) }
    }
}

/// Multiplies as `Session::multiply` describes. `interleaved` runs between the products of tiles, while the tile unit
/// is busy with the one before.
#[inline(always)]
pub(super) fn multiply(
    left: Left<'_>,
    panel: &[i8],
    start: &[i32; BLOCK],
    sums: &mut [i32],
    stride: usize,
    interleaved: &mut impl Interleaved,
) {
    if left.rows > 16 {
        halves::<true>(left, panel, start, sums, stride, interleaved);
    } else {
        halves::<false>(left, panel, start, sums, stride, interleaved);
    }
}

/// Computes sixteen rows, or 32.
#[inline(always)]
fn halves<const BOTH: bool>(
    left: Left<'_>,
    panel: &[i8],
    start: &[i32; BLOCK],
    sums: &mut [i32],
    stride: usize,
    interleaved: &mut impl Interleaved,
) {
    let steps = left.depth / DEPTH;
    // SAFETY: the thread has a session, so its tiles are configured, and only this function uses them; the caller has
    // checked that `left` and `sums` hold a multiple of sixteen rows and `panel` its depth.
    unsafe {
        begin(start, BOTH);
        for step in 0..steps {
            let upper = left.bytes.as_ptr().add(step * DEPTH);
            let panel = panel.as_ptr().add(step * DEPTH * BLOCK);
            asm!(
                "tileloadd tmm6, [{panel} + {row}*1]",
                "tileloadd tmm4, [{upper} + {stride}*1]",
                "tdpbusd tmm0, tmm4, tmm6",
                panel = in(reg) panel, row = in(reg) 128usize, upper = in(reg) upper, stride = in(reg) left.stride,
                options(nostack, readonly),
            );
            interleaved.two_rows();
            asm!(
                "tileloadd tmm7, [{panel} + {row}*1 + 64]",
                "tdpbusd tmm1, tmm4, tmm7",
                panel = in(reg) panel, row = in(reg) 128usize, options(nostack, readonly),
            );
            interleaved.two_rows();
            if BOTH {
                asm!(
                    "tileloadd tmm5, [{lower} + {stride}*1]",
                    "tdpbusd tmm2, tmm5, tmm6",
                    lower = in(reg) upper.add(16 * left.stride), stride = in(reg) left.stride,
                    options(nostack, readonly),
                );
            }
            interleaved.two_rows();
            if BOTH {
                asm!("tdpbusd tmm3, tmm5, tmm7", options(nostack, readonly));
            }
        }
        end(sums, stride, BOTH);
    }
    for _ in 3 * steps..PARTS {
        interleaved.two_rows();
    }
}

/// Multiplies as `Session::multiply_across` describes. The left operand stays in its tiles. Two of the sums' tiles
/// are computed while the other two are stored.
pub(super) fn multiply_across(
    left: Left<'_>,
    panels: &[i8],
    starts: &[[i32; BLOCK]],
    sums: &mut [i32],
    stride: usize,
) {
    let both_halves = left.rows > 16;
    assert!(panels.len() >= starts.len() * DEPTH * BLOCK);
    // SAFETY: the thread has a session, so its tiles are configured, and only this function uses them; the caller has
    // checked that `left` holds a multiple of sixteen rows to a depth of 64, and `sums` as many with 32 columns for
    // each panel.
    unsafe {
        let lower = left.bytes.as_ptr().add(if both_halves { 16 * left.stride } else { 0 });
        asm!(
            "tileloadd tmm4, [{upper} + {stride}*1]",
            "tileloadd tmm5, [{lower} + {stride}*1]",
            upper = in(reg) left.bytes.as_ptr(), lower = in(reg) lower, stride = in(reg) left.stride,
            options(nostack, readonly),
        );
        for (index, start) in starts.iter().enumerate() {
            let panel = panels.as_ptr().add(index * DEPTH * BLOCK);
            let out = sums.as_mut_ptr().add(index * BLOCK);
            asm!(
                "tileloadd tmm6, [{panel} + {row}*1]",
                "tileloadd tmm0, [{start} + {none}*1]",
                "tdpbusd tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{panel} + {row}*1 + 64]",
                "tileloadd tmm1, [{start} + {none}*1 + 64]",
                "tdpbusd tmm1, tmm4, tmm7",
                "tilestored [{out} + {out_row}*1], tmm0",
                "tilestored [{out} + {out_row}*1 + 64], tmm1",
                panel = in(reg) panel, row = in(reg) 128usize, start = in(reg) start.as_ptr(), none = in(reg) 0usize,
                out = in(reg) out, out_row = in(reg) 4 * stride, options(nostack),
            );
            if both_halves {
                asm!(
                    "tileloadd tmm2, [{start} + {none}*1]",
                    "tdpbusd tmm2, tmm5, tmm6",
                    "tileloadd tmm3, [{start} + {none}*1 + 64]",
                    "tdpbusd tmm3, tmm5, tmm7",
                    "tilestored [{out} + {out_row}*1], tmm2",
                    "tilestored [{out} + {out_row}*1 + 64], tmm3",
                    start = in(reg) start.as_ptr(), none = in(reg) 0usize,
                    out = in(reg) out.add(16 * stride), out_row = in(reg) 4 * stride, options(nostack),
                );
            }
        }
    }
}

/// Fills the sums' tiles: `start` is read with a stride of zero, so that all rows of a tile begin with it.
///
/// SAFETY: the tiles must be configured.
#[inline(always)]
unsafe fn begin(start: &[i32; BLOCK], both_halves: bool) {
    // SAFETY: reads the 32 numbers of `start`.
    unsafe {
        asm!(
            "tileloadd tmm0, [{start} + {none}*1]",
            "tileloadd tmm1, [{start} + {none}*1 + 64]",
            start = in(reg) start.as_ptr(), none = in(reg) 0usize, options(nostack, readonly),
        );
        if both_halves {
            asm!(
                "tileloadd tmm2, [{start} + {none}*1]",
                "tileloadd tmm3, [{start} + {none}*1 + 64]",
                start = in(reg) start.as_ptr(), none = in(reg) 0usize, options(nostack, readonly),
            );
        }
    }
}

/// SAFETY: the tiles must be configured, and `sums` hold 16 or 32 rows.
#[inline(always)]
unsafe fn end(sums: &mut [i32], stride: usize, both_halves: bool) {
    // SAFETY: writes only what the caller guarantees.
    unsafe {
        asm!(
            "tilestored [{out} + {row}*1], tmm0",
            "tilestored [{out} + {row}*1 + 64], tmm1",
            out = in(reg) sums.as_mut_ptr(), row = in(reg) 4 * stride, options(nostack),
        );
        if both_halves {
            asm!(
                "tilestored [{out} + {row}*1], tmm2",
                "tilestored [{out} + {row}*1 + 64], tmm3",
                out = in(reg) sums.as_mut_ptr().add(16 * stride), row = in(reg) 4 * stride, options(nostack),
            );
        }
    }
}
