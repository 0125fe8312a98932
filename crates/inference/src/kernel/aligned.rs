//! Memory that begins on a cache line: a tile whose rows straddle two lines loads at less than half the speed.

#![expect(unsafe_code, reason = "views lines of bytes as numbers of any width, and allocates them zeroed")]

use std::alloc::{self, Layout};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Numbers of which every bit pattern is one.
pub(crate) trait Number: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers { ($($number:ty),*) => { $(impl sealed::Sealed for $number {} impl Number for $number {})* } }
numbers!(u8, i8, u16, i32, f32);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A slice of numbers whose first one begins on a cache line.
pub(crate) struct Aligned<T: Number> {
    lines: Vec<Line>,
    len: usize,
    numbers: PhantomData<T>,
}

impl<T: Number> Aligned<T> {
    /// Memory that the system hands out as it is first written to: room for a long text costs nothing until it is
    /// used.
    pub fn zeroed(len: usize) -> Self {
        Self { lines: zeroed_lines((len * size_of::<T>()).div_ceil(64)), len, numbers: PhantomData }
    }

    /// Keeps what is there; what is new is zero.
    pub fn resize(&mut self, len: usize) {
        self.lines.resize((len * size_of::<T>()).div_ceil(64), Line([0; 64]));
        self.len = len;
    }

    /// At least this long.
    pub fn reserve(&mut self, len: usize) {
        if self.len < len {
            self.resize(len);
        }
    }
}

fn zeroed_lines(count: usize) -> Vec<Line> {
    let Ok(layout) = Layout::array::<Line>(count) else { return vec![Line([0; 64]); count] };
    if layout.size() == 0 {
        return Vec::new();
    }
    // SAFETY: the layout is not empty, and it is the one that a `Vec` of so many lines has; zeros are lines.
    unsafe {
        let lines = alloc::alloc_zeroed(layout);
        if lines.is_null() {
            alloc::handle_alloc_error(layout);
        }
        Vec::from_raw_parts(lines.cast(), count, count)
    }
}

impl<T: Number> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `resize` keeps `lines` at least `len` numbers long; a line is aligned for every `Number`, and
        // every bit pattern is one.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Number> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
