//! Iteration over arrays by strides. Only this module converts indices to positions.

pub(crate) fn strides(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d] as isize;
    }
    strides
}

/// Calls `visit` with every index into `dims`, in row-major order.
pub(crate) fn for_each_index<E>(dims: &[usize], mut visit: impl FnMut(&[usize]) -> Result<(), E>) -> Result<(), E> {
    if dims.contains(&0) {
        return Ok(());
    }
    let mut index = vec![0usize; dims.len()];
    loop {
        visit(&index)?;
        if !advance(&mut index, dims) {
            return Ok(());
        }
    }
}

/// Advances to the next index in row-major order. After the last index, resets the index to zeros
/// and returns false.
pub(crate) fn advance(index: &mut [usize], dims: &[usize]) -> bool {
    for d in (0..dims.len()).rev() {
        index[d] += 1;
        if index[d] < dims[d] {
            return true;
        }
        index[d] = 0;
    }
    false
}

/// Calls `visit` with the position of every index into `dims`, in row-major order.
fn for_each_position(dims: &[usize], strides: &[isize], offset: isize, visit: &mut impl FnMut(usize)) {
    match (dims.split_first(), strides.split_first()) {
        (Some((&size, inner_dims)), Some((&stride, inner_strides))) => {
            for i in 0..size as isize {
                for_each_position(inner_dims, inner_strides, offset + i * stride, visit);
            }
        }
        _ => visit(offset as usize),
    }
}

/// Reads the elements at strided positions of `source` into a dense array.
pub(crate) fn read<T: Copy>(source: &[T], offset: isize, dims: &[usize], strides: &[isize]) -> Vec<T> {
    let mut result = Vec::with_capacity(dims.iter().product());
    for_each_position(dims, strides, offset, &mut |at| result.push(source[at]));
    result
}

/// Writes the elements of the dense array `source` to strided positions of `target`.
pub(crate) fn write<T: Copy>(target: &mut [T], offset: isize, dims: &[usize], strides: &[isize], source: &[T]) {
    let mut values = source.iter();
    for_each_position(dims, strides, offset, &mut |at| {
        if let Some(&value) = values.next() {
            target[at] = value;
        }
    });
}

pub(crate) fn position(index: &[usize], strides: &[isize]) -> usize {
    index.iter().zip(strides).map(|(&i, &s)| i as isize * s).sum::<isize>() as usize
}

/// Permutes dimensions or strides: entry `i` of the result is entry `order[i]` of `values`.
pub(crate) fn permuted<T: Copy>(values: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|&d| values[d]).collect()
}
