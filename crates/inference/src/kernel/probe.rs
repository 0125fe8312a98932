//! Detects which instructions work: announced by the processor, saved by the system, granted if they must be
//! requested, and then run in a child process, which an illegal instruction may kill.

#![expect(unsafe_code, reason = "asks the system for tiles, and forks")]

use super::{BLOCK, Isa, Left, NoWork, Sums, amx, avx2, portable, vbmi, vnni};
use std::arch::is_x86_feature_detected as announced;
use std::arch::x86_64::{__cpuid_count, _xgetbv};

/// Returns all that work, the fastest first.
pub(super) fn working() -> Vec<Isa> {
    let mut found = Vec::new();
    let vnni = announced!("avx512f")
        && announced!("avx512bw")
        && announced!("avx512dq")
        && announced!("avx512vl")
        && announced!("avx512vnni")
        && survives(Isa::Vnni);
    let avx2 = announced!("avx2") && announced!("fma") && announced!("f16c") && survives(Isa::Avx2);
    if vnni && avx2 && announced!("avx512vbmi") && tiles_announced() && tiles_granted() && survives(Isa::Amx)
    {
        found.push(Isa::Amx);
    }
    if vnni && avx2 {
        found.push(Isa::Vnni);
    }
    if avx2 {
        found.push(Isa::Avx2);
    }
    found
}

fn tiles_announced() -> bool {
    const XSAVE_ENABLED: u32 = 1 << 27;
    const TILES_AND_INT8: u32 = 1 << 24 | 1 << 25;
    const TILE_STATE: u64 = 1 << 17 | 1 << 18;
    let saves_state = __cpuid_count(1, 0).ecx & XSAVE_ENABLED != 0;
    let features = __cpuid_count(7, 0).edx;
    // SAFETY: `xgetbv` exists if the processor says that the system has enabled XSAVE.
    features & TILES_AND_INT8 == TILES_AND_INT8
        && saves_state
        && unsafe { saved_state() } & TILE_STATE == TILE_STATE
}

/// SAFETY: the system must have enabled XSAVE.
#[target_feature(enable = "xsave")]
unsafe fn saved_state() -> u64 {
    // SAFETY: the caller guarantees that the instruction exists; register 0 always exists.
    unsafe { _xgetbv(0) }
}

/// Asks for tiles. Their state is large, so Linux grants them only on request.
#[cfg(target_os = "linux")]
fn tiles_granted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the call changes nothing but this process's permission.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn tiles_granted() -> bool {
    false
}

/// Returns whether a small product is right, computed in a child process that an illegal instruction may kill.
fn survives(isa: Isa) -> bool {
    // SAFETY: the child does only arithmetic on its own stack and `_exit`, as a fork of a process with several
    // threads must.
    unsafe {
        match libc::fork() {
            -1 => false,
            0 => libc::_exit(if right(isa) { 0 } else { 1 }),
            child => {
                let mut status = 0;
                while libc::waitpid(child, &raw mut status, 0) == -1 {
                    if *libc::__errno_location() != libc::EINTR {
                        return false;
                    }
                }
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
            }
        }
    }
}

fn right(isa: Isa) -> bool {
    const DEPTH: usize = 128;
    #[repr(align(64))]
    struct Lines<T>(T);
    let mut left = Lines([0u8; BLOCK * DEPTH]);
    let mut panel = Lines([0i8; BLOCK * DEPTH]);
    for i in 0..BLOCK * DEPTH {
        left.0[i] = (i * 37 % 256) as u8;
        panel.0[i] = (i * 29 % 255) as i8;
    }
    let start = [3; BLOCK];
    let mut expected = Sums([0; BLOCK * BLOCK]);
    let mut sums = Sums([0; BLOCK * BLOCK]);
    for rows in [BLOCK, BLOCK / 2] {
        let left = Left { bytes: &left.0, stride: DEPTH, rows, depth: DEPTH };
        portable::multiply(left, &panel.0, &start, &mut expected.0, BLOCK);
        match isa {
            Isa::Amx => {
                amx::enter();
                amx::multiply(left, &panel.0, &start, &mut sums.0, BLOCK, &mut NoWork);
                amx::leave();
                if !vbmi::works() {
                    return false;
                }
            }
            Isa::Vnni => vnni::multiply(left, &panel.0, &start, &mut sums.0, BLOCK),
            Isa::Avx2 => avx2::multiply(left, &panel.0, &start, &mut sums.0, BLOCK),
            Isa::Portable => portable::multiply(left, &panel.0, &start, &mut sums.0, BLOCK),
        }
        if sums.0[..rows * BLOCK] != expected.0[..rows * BLOCK] {
            return false;
        }
    }
    true
}
