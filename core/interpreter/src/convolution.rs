//! `convolution`.

use fusebox_core::hlo::{ConvolutionAttrs, ElementType, WindowDim};

use crate::contraction::Sums;
use crate::error::{Outcome, ensure};
use crate::movement::{dimension_numbers, transpose_by};
use crate::number::{LongSum, complex};
use crate::strided::{for_each_index, permuted, strides};
use crate::value::{Array, Data, Scalar, element_count};
use crate::window::{covered, ensure_memory, window_count};

/// Evaluates a convolution, which slides the kernel over the input's spatial dimensions. The
/// convolution sums products in the same types as a dot.
pub(crate) fn convolution(
    input: &Array,
    kernel: &Array,
    attrs: &ConvolutionAttrs,
    ty: ElementType,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let numbers = &attrs.dims;
    // The input's dimensions are put in the order batch, space, features; the kernel's dimensions
    // in the order output features, space, input features.
    let input_order = ordered(input, numbers.input_batch, &numbers.input_spatial, numbers.input_feature)?;
    let kernel_order =
        ordered(kernel, numbers.kernel_output_feature, &numbers.kernel_spatial, numbers.kernel_input_feature)?;
    let output_order = {
        let mut order = vec![numbers.output_batch];
        order.extend(&numbers.output_spatial);
        order.push(numbers.output_feature);
        dimension_numbers(&order, dims.len())?
    };
    let output_dims = permuted(&dims, &output_order);
    let shape = Shape::new(&input_order.dims, &kernel_order.dims, &output_dims, attrs)?;
    let sums = Sums::of(input.ty, kernel.ty, ty);
    let (input, kernel) = (sums.operand(input_order), sums.operand(kernel_order));
    let mut data = Data::with_capacity(ty, element_count(&output_dims)?);
    for_each_index(&output_dims, |index| data.push(shape.output_element(sums, &input, &kernel, index)?))?;
    let output = Array::new(ty, output_dims, data);
    let mut inverse = vec![0; output_order.len()];
    output_order.iter().enumerate().for_each(|(at, &d)| inverse[d] = at);
    transpose_by(&output, &inverse)
}

fn ordered(x: &Array, first: i64, spatial: &[i64], last: i64) -> Outcome<Array> {
    let mut order = vec![first];
    order.extend(spatial);
    order.push(last);
    transpose_by(x, &dimension_numbers(&order, x.rank())?)
}

/// Sizes and strides of a convolution whose input and kernel are already transposed to a fixed
/// order of dimensions.
struct Shape<'a> {
    window: &'a [WindowDim],
    /// Sizes of the input's spatial dimensions.
    input_sizes: Vec<usize>,
    input_steps: Vec<isize>,
    kernel_steps: Vec<isize>,
    /// Number of input features of the kernel.
    features: usize,
    outputs_per_feature_group: usize,
    outputs_per_batch_group: usize,
    output_batch: usize,
}

impl<'a> Shape<'a> {
    fn new(input: &[usize], kernel: &[usize], output: &[usize], attrs: &'a ConvolutionAttrs) -> Outcome<Self> {
        let spatial = attrs.window.dims.len();
        let feature_groups = usize::try_from(attrs.feature_group_count).unwrap_or(0);
        let batch_groups = usize::try_from(attrs.batch_group_count).unwrap_or(0);
        let ranks_fit = [input, kernel, output].iter().all(|dims| dims.len() == spatial + 2);
        let fits = ranks_fit && feature_groups > 0 && batch_groups > 0;
        ensure!(fits, "the ranks or group counts of a convolution do not fit its window");
        let (features, outputs) = (kernel[spatial + 1], kernel[0]);
        let mut counts = Vec::with_capacity(spatial);
        for (d, window) in attrs.window.dims.iter().enumerate() {
            ensure!(window.size == kernel[d + 1] as i64, "the window has another size than the kernel");
            counts.push(window_count(input[d + 1], window)?);
        }
        ensure_memory(&attrs.window.dims)?;
        let consistent = input[spatial + 1] == features * feature_groups
            && outputs % feature_groups == 0
            && outputs % batch_groups == 0
            && output[spatial + 1] == outputs
            && output[0] * batch_groups == input[0]
            && output[1..=spatial] == counts;
        ensure!(consistent, "the sizes of input, kernel and output of a convolution do not fit together");
        Ok(Shape {
            window: &attrs.window.dims,
            input_sizes: input[1..=spatial].to_vec(),
            input_steps: strides(input),
            kernel_steps: strides(kernel),
            features,
            outputs_per_feature_group: outputs / feature_groups,
            outputs_per_batch_group: outputs / batch_groups,
            output_batch: output[0],
        })
    }

    /// Returns those pairs (kernel position, input position) along the spatial dimension `d` whose
    /// products contribute to output position `at`.
    fn taps(&self, d: usize, at: usize) -> Vec<(usize, usize)> {
        // A reversed window reads the kernel backwards and the input forwards.
        let window = &self.window[d];
        let places = covered(self.input_sizes[d], &WindowDim { reversal: false, ..*window }, at);
        let kernel_place = |k: usize| if window.reversal { window.size as usize - 1 - k } else { k };
        places.into_iter().enumerate().filter_map(|(k, place)| Some((kernel_place(k), place?))).collect()
    }

    /// Computes one output element. `index` is the element's index in the order batch, space,
    /// feature.
    fn output_element(&self, sums: Sums, input: &Data, kernel: &Data, index: &[usize]) -> Outcome<Scalar> {
        let spatial = self.window.len();
        let out = index[spatial + 1];
        let batch = out / self.outputs_per_batch_group * self.output_batch + index[0];
        let first_feature = out / self.outputs_per_feature_group * self.features;
        let input_base = batch * self.input_steps[0] as usize + first_feature;
        let kernel_base = out * self.kernel_steps[0] as usize;
        let lines: Vec<Vec<(usize, usize)>> = (0..spatial).map(|d| self.taps(d, index[d + 1])).collect();
        let line_lengths: Vec<usize> = lines.iter().map(Vec::len).collect();
        let mut sum = Total::default();
        for_each_index(&line_lengths, |at| {
            let (mut kernel_at, mut input_at) = (kernel_base, input_base);
            for (d, (&i, line)) in at.iter().zip(&lines).enumerate() {
                let (kernel_place, input_place) = line[i];
                kernel_at += kernel_place * self.kernel_steps[d + 1] as usize;
                input_at += input_place * self.input_steps[d + 1] as usize;
            }
            sum.add(sums.unrounded(input, input_at, kernel, kernel_at, self.features)?);
            Outcome::Ok(())
        })?;
        Ok(sums.finish(sum.value(sums.accumulation)))
    }
}

/// A sum of inner products, all of one kind (integer, float or complex).
#[derive(Default)]
struct Total {
    int: i64,
    re: LongSum,
    im: LongSum,
}

impl Total {
    fn add(&mut self, term: Scalar) {
        match term {
            Scalar::Int(x) => self.int = self.int.wrapping_add(x),
            Scalar::Float(x) => self.re.add(x),
            Scalar::Complex(z) => {
                self.re.add(z.re);
                self.im.add(z.im);
            }
        }
    }

    /// Returns the sum as a number of the accumulation type's kind (integer, float or complex).
    fn value(&self, accumulation: ElementType) -> Scalar {
        match () {
            () if accumulation.is_float() => Scalar::Float(self.re.value()),
            () if accumulation.is_complex() => Scalar::Complex(complex(self.re.value(), self.im.value())),
            () => Scalar::Int(self.int),
        }
    }
}
