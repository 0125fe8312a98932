//! Memory that begins on a cache line: a tile whose rows cross cache lines loads at less than half the speed.

#![expect(unsafe_code, reason = "views lines of bytes as numbers of any width, and allocates them zeroed")]

use std::alloc::{self, Layout};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Numbers for which every bit pattern is valid.
pub trait Number: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers { ($($number:ty),*) => { $(impl sealed::Sealed for $number {} impl Number for $number {})* } }
numbers!(u8, i8, u16, u32, i32, f32);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A slice of numbers that begins on a cache line.
pub(crate) struct Aligned<T: Number> {
    lines: Vec<Line>,
    len: usize,
    numbers: PhantomData<T>,
}

impl<T: Number> Aligned<T> {
    /// Allocates zeroed memory, which the system provides page by page when it is first written.
    pub fn zeroed(len: usize) -> Self {
        Self { lines: zeroed_lines((len * size_of::<T>()).div_ceil(64)), len, numbers: PhantomData }
    }

    /// Keeps the content; new numbers are zero.
    pub fn resize(&mut self, len: usize) {
        self.lines.resize((len * size_of::<T>()).div_ceil(64), Line([0; 64]));
        self.len = len;
    }

    /// Makes it at least this long.
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
    // SAFETY: the layout is not empty, and it is that of a `Vec` of this many lines; zeros are valid lines.
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
        // SAFETY: `resize` keeps `lines` at least `len` numbers long; a line is aligned for every `Number`, and every
        // bit pattern is valid.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Number> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
