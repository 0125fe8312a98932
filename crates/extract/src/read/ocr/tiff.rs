//! Counts the pages of a TIFF file: a chain of directories, one for each page.

/// Returns the number of pages, up to `most`. None if the file is no TIFF.
pub(super) fn pages(bytes: &[u8], most: usize) -> Option<usize> {
    let is_little = match bytes.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let number = |at: usize, length: usize| {
        let bytes = bytes.get(at..at.checked_add(length)?)?;
        let add = |number: usize, byte: &u8| number << 8 | usize::from(*byte);
        Some(if is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
    };
    let next = |directory: &usize| {
        let entries = number(*directory, 2)?;
        number(directory + 2 + 12 * entries, 4).filter(|next| *next > 0)
    };
    let first = number(4, 4).filter(|first| *first > 0);
    // A chain that goes round in a circle ends at `most`.
    Some(std::iter::successors(first, next).take(most).count().max(1))
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn directories_are_counted_in_both_orders_of_bytes() {
        // Two directories without entries, at 8 and at 14.
        assert_eq!(pages(b"II*\0\x08\0\0\0\0\0\x0e\0\0\0\0\0\0\0\0\0", 9), Some(2));
        assert_eq!(pages(b"MM\0*\0\0\0\x08\0\0\0\0\0\x0e\0\0\0\0\0\0", 9), Some(2));
        assert_eq!(pages(b"II*\0\x08\0\0\0\0\0\x08\0\0\0", 9), Some(9));
        assert_eq!((pages(b"II*\0\xff\xff\xff\xff", 9), pages(b"\x89PNG", 9)), (Some(1), None));
    }
}
