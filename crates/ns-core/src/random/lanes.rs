//! Arrays of eight numbers that are computed side by side.

/// Returns the results of `of` for the lanes 0 to 7, i.e. for eight numbers that are computed side by side. Unlike
/// `std::array::from_fn`, this function is always inlined, even into functions for an instruction set that the rest of
/// the program does not use. In such functions the eight results become vectors.
#[inline(always)]
pub(super) fn per_lane<T: Copy + Default>(of: impl Fn(usize) -> T) -> [T; 8] {
    let mut out = [T::default(); 8];
    for (l, to) in out.iter_mut().enumerate() {
        *to = of(l);
    }
    out
}
