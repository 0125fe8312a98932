//! The product with AMX tiles: four tiles of 16 × 16 sums stay in registers while the operands stream through.
//!
//! Stable Rust has no intrinsics for tiles, so the instructions are written out. A thread must have loaded a tile
//! configuration before; `Session` sees to that.

#![expect(unsafe_code, reason = "tile instructions exist only as assembly")]

use super::{BLOCK, Left, Sums};
use std::arch::asm;
use std::cell::Cell;

thread_local! {
    /// Sessions of this thread: only the outermost one loads and releases the configuration.
    static SESSIONS: Cell<usize> = const { Cell::new(0) };
}

/// Tiles 0 to 3 hold sums; 4 and 5 a left and a right operand 64 deep, 6 and 7 the same 32 deep.
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
    row_bytes: [64, 64, 64, 64, 64, 64, 32, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 8, 0, 0, 0, 0, 0, 0, 0, 0],
};

pub(super) fn enter() {
    if SESSIONS.replace(SESSIONS.get() + 1) == 0 {
        // SAFETY: a `Kernel` of this kind exists only where tiles work; the configuration is a valid one.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const CONFIGURATION, options(nostack)) }
    }
}

pub(super) fn leave() {
    SESSIONS.set(SESSIONS.get() - 1);
    if SESSIONS.get() == 0 {
        // SAFETY: as in `enter`; no session of this thread is left that could use the tiles.
        unsafe { asm!("tilerelease", options(nostack)) }
    }
}

/// What every product needs; `start` is read with a stride of zero, so that all rows of a tile begin with it.
struct Operands {
    left: *const u8,
    stride: usize,
    panel: *const i8,
    start: *const i32,
    out: *mut i32,
}

pub(super) fn multiply(left: Left<'_>, panel: &[i8], start: &[i32; BLOCK], sums: &mut Sums) {
    let operands = Operands {
        left: left.bytes.as_ptr(),
        stride: left.stride,
        panel: panel.as_ptr(),
        start: start.as_ptr(),
        out: sums.0.as_mut_ptr(),
    };
    // SAFETY: the thread has a session, so its tiles are configured; the caller has checked that `left` holds its
    // rows up to a whole sixteen and `panel` its depth; a block has room for 32 rows.
    unsafe {
        match (left.rows > 16, left.depth.is_multiple_of(64)) {
            (true, true) => rows_32_by_64(operands, left.depth / 64),
            (true, false) => rows_32_by_32(operands, left.depth / 32),
            (false, true) => rows_16_by_64(operands, left.depth / 64),
            (false, false) => rows_16_by_32(operands, left.depth / 32),
        }
    }
}

/// One function for each number of rows and depth of a step: the same loop over other tiles.
macro_rules! rows_32 {
    ($name:ident, $depth:literal, $left:literal, $right:literal) => {
        /// SAFETY: the operands must be readable for 32 rows and all steps, the sums writable, the tiles configured.
        #[inline]
        unsafe fn $name(operands: Operands, steps: usize) {
            // SAFETY: the caller vouches for what is read and written.
            unsafe {
                asm!(
                    "tileloadd tmm0, [{start} + {none}*1]",
                    "tileloadd tmm1, [{start} + {none}*1 + 64]",
                    "tileloadd tmm2, [{start} + {none}*1]",
                    "tileloadd tmm3, [{start} + {none}*1 + 64]",
                    "2:",
                    concat!("tileloadd ", $right, ", [{panel} + {row}*1]"),
                    concat!("tileloadd ", $left, ", [{upper} + {stride}*1]"),
                    concat!("tdpbusd tmm0, ", $left, ", ", $right),
                    concat!("tileloadd ", $left, ", [{lower} + {stride}*1]"),
                    concat!("tdpbusd tmm2, ", $left, ", ", $right),
                    concat!("tileloadd ", $right, ", [{panel} + {row}*1 + 64]"),
                    concat!("tdpbusd tmm3, ", $left, ", ", $right),
                    concat!("tileloadd ", $left, ", [{upper} + {stride}*1]"),
                    concat!("tdpbusd tmm1, ", $left, ", ", $right),
                    concat!("add {upper}, ", $depth),
                    concat!("add {lower}, ", $depth),
                    concat!("add {panel}, 32*", $depth),
                    "dec {steps}",
                    "jnz 2b",
                    "tilestored [{out} + {row}*1], tmm0",
                    "tilestored [{out} + {row}*1 + 64], tmm1",
                    "tilestored [{out} + {row}*1 + 16*128], tmm2",
                    "tilestored [{out} + {row}*1 + 16*128 + 64], tmm3",
                    start = in(reg) operands.start,
                    none = in(reg) 0usize,
                    row = in(reg) 128usize,
                    panel = inout(reg) operands.panel => _,
                    upper = inout(reg) operands.left => _,
                    lower = inout(reg) operands.left.add(16 * operands.stride) => _,
                    stride = in(reg) operands.stride,
                    steps = inout(reg) steps => _,
                    out = in(reg) operands.out,
                    options(nostack),
                );
            }
        }
    };
}

rows_32!(rows_32_by_64, "64", "tmm4", "tmm5");
rows_32!(rows_32_by_32, "32", "tmm6", "tmm7");

macro_rules! rows_16 {
    ($name:ident, $depth:literal, $left:literal, $right:literal) => {
        /// SAFETY: the operands must be readable for 16 rows and all steps, the sums writable, the tiles configured.
        #[inline]
        unsafe fn $name(operands: Operands, steps: usize) {
            // SAFETY: the caller vouches for what is read and written.
            unsafe {
                asm!(
                    "tileloadd tmm0, [{start} + {none}*1]",
                    "tileloadd tmm1, [{start} + {none}*1 + 64]",
                    "2:",
                    concat!("tileloadd ", $left, ", [{left} + {stride}*1]"),
                    concat!("tileloadd ", $right, ", [{panel} + {row}*1]"),
                    concat!("tdpbusd tmm0, ", $left, ", ", $right),
                    concat!("tileloadd ", $right, ", [{panel} + {row}*1 + 64]"),
                    concat!("tdpbusd tmm1, ", $left, ", ", $right),
                    concat!("add {left}, ", $depth),
                    concat!("add {panel}, 32*", $depth),
                    "dec {steps}",
                    "jnz 2b",
                    "tilestored [{out} + {row}*1], tmm0",
                    "tilestored [{out} + {row}*1 + 64], tmm1",
                    start = in(reg) operands.start,
                    none = in(reg) 0usize,
                    row = in(reg) 128usize,
                    panel = inout(reg) operands.panel => _,
                    left = inout(reg) operands.left => _,
                    stride = in(reg) operands.stride,
                    steps = inout(reg) steps => _,
                    out = in(reg) operands.out,
                    options(nostack),
                );
            }
        }
    };
}

rows_16!(rows_16_by_64, "64", "tmm4", "tmm5");
rows_16!(rows_16_by_32, "32", "tmm6", "tmm7");
