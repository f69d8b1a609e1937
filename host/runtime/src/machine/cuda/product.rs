//! Computes matrix products with the library cuBLASLt. The library is loaded when the process first
//! needs it.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, DevicePtr};
use fusebox_core::hlo::ElementType;
use fusebox_routines::Product;

use super::gpu::Gpu;
use super::load_error;
use crate::{LoadError, RunError};

/// Size in bytes of the GPU memory that cuBLASLt may use while it multiplies.
const WORKSPACE_BYTES: usize = 32 << 20;

/// Whether cuBLASLt can be loaded on this machine.
pub fn is_present() -> bool {
    // SAFETY: the function only asks the dynamic linker to load the library.
    unsafe { sys::is_culib_present() }
}

/// A handle of cuBLASLt and its workspace, for one program.
#[derive(Debug)]
pub struct CublasLibrary {
    handle: CublasObject<sys::cublasLtHandle_t>,
    workspace: CudaSlice<u8>,
}

impl CublasLibrary {
    /// Loads cuBLASLt and allocates its workspace. Fails if cuBLASLt is not installed or memory is
    /// short.
    pub fn open(device: &Gpu) -> Result<Arc<CublasLibrary>, LoadError> {
        if !is_present() {
            return Err(LoadError::Device(
                "the program needs cuBLASLt, but libcublasLt.so cannot be loaded: run where the CUDA toolkit's \
                 libraries are installed, or compile without cuBLASLt, with `--emitter contraction=mma-contraction` or \
                 for a target by its name"
                    .into(),
            ));
        }
        device.context.bind_to_thread().map_err(|e| load_error("using the GPU", e))?;
        let handle = CublasObject::new(result::create_handle(), result::destroy_handle)?;
        let workspace = device.stream.alloc_zeros(WORKSPACE_BYTES);
        let workspace = workspace.map_err(|_| LoadError::Memory { bytes: WORKSPACE_BYTES as u64 })?;
        Ok(Arc::new(CublasLibrary { handle, workspace }))
    }
}

/// A matrix product that is prepared for execution by cuBLASLt.
#[derive(Debug)]
pub struct LoadedProduct {
    product: Product,
    form: CublasProduct,
    library: Arc<CublasLibrary>,
    description: CublasObject<sys::cublasLtMatmulDesc_t>,
    /// Memory layouts of three matrices: first the two factors in cuBLASLt's order, then the
    /// result.
    layouts: [CublasObject<sys::cublasLtMatrixLayout_t>; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
}

impl LoadedProduct {
    /// Prepares a product, and lets cuBLASLt choose an algorithm for the product. Fails if cuBLASLt
    /// does not support the product.
    pub fn load(library: &Arc<CublasLibrary>, product: Product) -> Result<LoadedProduct, LoadError> {
        let form = CublasProduct::of(&product).ok_or_else(|| {
            LoadError::Device("cuBLASLt has no product of matrices without contiguous rows or columns".into())
        })?;
        let types = CublasTypes::of(product.element)?;
        let description =
            CublasObject::new(result::create_matmul_desc(types.compute, types.scale), result::destroy_matmul_desc)?;
        let layouts = form.layouts(types.data)?;
        let preference = CublasObject::new(result::create_matmul_pref(), result::destroy_matmul_pref)?;
        let limit = WORKSPACE_BYTES;
        // SAFETY: the handles are live, and each attribute has the documented type. The attribute
        // of a transposition is an `i32` from the library's enumeration, and the attribute of the
        // workspace is a size.
        let found = unsafe {
            for (number, attribute) in [
                sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA,
                sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSB,
            ]
            .into_iter()
            .enumerate()
            {
                let value = i32::from(form.factors[number].transposed);
                result::set_matmul_desc_attribute(description.raw, attribute, address(&value), size_of_val(&value))
                    .map_err(refused)?;
            }
            let most = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            result::set_matmul_pref_attribute(preference.raw, most, address(&limit), size_of_val(&limit))
                .map_err(refused)?;
            let [left, right, to] = [0, 1, 2].map(|number: usize| layouts[number].raw);
            result::get_matmul_algo_heuristic(library.handle.raw, description.raw, left, right, to, to, preference.raw)
        };
        let algorithm = found.map_err(refused)?.algo;
        Ok(LoadedProduct { product, form, library: library.clone(), description, layouts, algorithm })
    }

    /// Computes the product. `left`, `right` and `to` are the addresses of the two operands and of
    /// the result. The buffers at these three addresses must have the sizes of the product's
    /// shapes.
    pub fn run(&self, device: &Gpu, [left, right]: [CUdeviceptr; 2], to: CUdeviceptr) -> Result<(), RunError> {
        let (width, one) = (self.product.element.byte_size() as u64, one(self.product.element));
        let zero = [0u8; 16];
        let (workspace, _using) = self.library.workspace.device_ptr(&device.stream);
        for call in 0..self.form.calls {
            let [in_left, in_right] = self.product.begin(call * self.form.batch);
            let result = call * self.form.batch * self.product.rows * self.product.columns;
            // SAFETY: the buffers of the operands and of the result have the sizes of the
            // operation's shapes (checked at load). Strides and counts follow from the same shapes.
            // The buffers live as long as the program, and the program waits for its stream.
            unsafe {
                result::matmul(
                    self.library.handle.raw,
                    self.description.raw,
                    one.as_ptr().cast(),
                    zero.as_ptr().cast(),
                    pointer(right + in_right as u64 * width),
                    self.layouts[0].raw,
                    pointer(left + in_left as u64 * width),
                    self.layouts[1].raw,
                    pointer(to + result as u64 * width),
                    self.layouts[2].raw,
                    pointer(to + result as u64 * width),
                    self.layouts[2].raw,
                    &self.algorithm,
                    pointer(workspace),
                    WORKSPACE_BYTES,
                    device.stream.cu_stream().cast(),
                )
            }
            .map_err(|error| RunError::Device(format!("a product: cuBLASLt says {error}")))?;
        }
        Ok(())
    }
}

/// Describes a matrix in memory as cuBLASLt does: as a column-major matrix with `columns` columns
/// of `lines` elements. A column starts `leading_dimension` elements after the previous column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CublasMatrix {
    /// Whether the column-major matrix is the transpose of the product's factor.
    transposed: bool,
    lines: usize,
    columns: usize,
    leading_dimension: usize,
    /// Distance, in elements, from one matrix of the batch to the next.
    next: usize,
}

impl CublasMatrix {
    /// Describes a matrix with `sizes[0]` rows and `sizes[1]` columns. `strides[0]` is the distance
    /// from one row to the next, and `strides[1]` the distance from one column to the next. Returns
    /// `None` if neither the rows nor the columns are contiguous.
    fn of(sizes: [usize; 2], strides: [isize; 2], next: usize) -> Option<CublasMatrix> {
        let lies = |side: usize| strides[side] == 1 || sizes[side] == 1;
        let transposed = if lies(0) { false } else { lies(1).then_some(true)? };
        let (fast, slow) = if transposed { (1, 0) } else { (0, 1) };
        let leading_dimension = if sizes[slow] == 1 { sizes[fast] } else { strides[slow].unsigned_abs() };
        (leading_dimension >= sizes[fast]).then_some(CublasMatrix {
            transposed,
            lines: sizes[fast],
            columns: sizes[slow],
            leading_dimension,
            next,
        })
    }
}

/// Describes a product in the terms of cuBLASLt. For cuBLASLt all matrices are column-major, but
/// the result of a product is row-major. So cuBLASLt computes the transposed product
/// `[columns, steps] [steps, rows]`.
#[derive(Clone, Debug)]
struct CublasProduct {
    factors: [CublasMatrix; 2],
    result: CublasMatrix,
    /// Number of matrix products per call of cuBLASLt (`batch`), and number of calls (`calls`).
    batch: usize,
    calls: usize,
}

impl CublasProduct {
    fn of(product: &Product) -> Option<CublasProduct> {
        let Product { rows, steps, columns, left, right, .. } = product;
        let (outer, inner) = match product.batch.split_last() {
            Some((&(count, next), outer)) => (outer, (count, next)),
            None => (&[][..], (1, [0, 0])),
        };
        let (batch, [of_left, of_right]) = inner;
        let factors = [
            CublasMatrix::of([*columns, *steps], [right.column, right.row], of_right)?,
            CublasMatrix::of([*steps, *rows], [left.column, left.row], of_left)?,
        ];
        let size = columns * rows;
        let result = CublasMatrix {
            transposed: false,
            lines: *columns,
            columns: *rows,
            leading_dimension: *columns,
            next: size,
        };
        Some(CublasProduct { factors, result, batch, calls: outer.iter().map(|(count, _)| count).product() })
    }

    fn layouts(&self, data: sys::cudaDataType) -> Result<[CublasObject<sys::cublasLtMatrixLayout_t>; 3], LoadError> {
        let layout = |of: &CublasMatrix| {
            let made =
                result::create_matrix_layout(data, of.lines as u64, of.columns as u64, of.leading_dimension as i64);
            let layout = CublasObject::new(made, result::destroy_matrix_layout)?;
            let count = i32::try_from(self.batch)
                .map_err(|_| LoadError::Device(format!("cuBLASLt has no batch of {} products", self.batch)))?;
            let next = of.next as i64;
            use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
            // SAFETY: the layout is live, and the attributes are the integers that the library
            // documents.
            unsafe {
                let set = |attribute, value: *const c_void, bytes| {
                    result::set_matrix_layout_attribute(layout.raw, attribute, value, bytes).map_err(refused)
                };
                set(Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, address(&count), size_of_val(&count))?;
                set(Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, address(&next), size_of_val(&next))?;
            }
            Ok::<_, LoadError>(layout)
        };
        Ok([layout(&self.factors[0])?, layout(&self.factors[1])?, layout(&self.result)?])
    }
}

/// cuBLASLt's types for one element type: the type of elements, the type of the computation, and
/// the type of scale factors.
struct CublasTypes {
    data: sys::cudaDataType,
    compute: sys::cublasComputeType_t,
    scale: sys::cudaDataType,
}

impl CublasTypes {
    /// Returns the types that cuBLASLt uses for an element type. Products of floats narrower than
    /// 32 bits are summed in `f32`. Factors of type `f32` are multiplied with full precision, not
    /// rounded to fewer bits first.
    fn of(element: ElementType) -> Result<CublasTypes, LoadError> {
        use sys::cublasComputeType_t::{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F};
        use sys::cudaDataType::{CUDA_C_32F, CUDA_C_64F, CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_64F};
        let (data, compute, scale) = match element {
            ElementType::F16 => (CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            ElementType::BF16 => (CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            ElementType::F32 => (CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            ElementType::F64 => (CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F),
            ElementType::C64 => (CUDA_C_32F, CUBLAS_COMPUTE_32F, CUDA_C_32F),
            ElementType::C128 => (CUDA_C_64F, CUBLAS_COMPUTE_64F, CUDA_C_64F),
            other => return Err(LoadError::Device(format!("cuBLASLt has no product of matrices of {other}"))),
        };
        Ok(CublasTypes { data, compute, scale })
    }
}

/// Returns the bytes of the number one, as a real or complex number. This number is the scale
/// factor that cuBLASLt applies to the product.
fn one(element: ElementType) -> [u8; 16] {
    let mut bytes = [0; 16];
    match element.real_part() {
        ElementType::F64 => bytes[..8].copy_from_slice(&1f64.to_le_bytes()),
        _ => bytes[..4].copy_from_slice(&1f32.to_le_bytes()),
    }
    bytes
}

fn address<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

fn pointer(address: CUdeviceptr) -> *mut c_void {
    address as *mut c_void
}

fn refused(error: CublasError) -> LoadError {
    LoadError::Device(format!("cuBLASLt refuses a product: {error}"))
}

/// Owns an object of cuBLASLt: the object is destroyed when this value is dropped.
#[derive(Debug)]
struct CublasObject<T: Copy> {
    raw: T,
    destroy: unsafe fn(T) -> Result<(), CublasError>,
}

// SAFETY: any thread may use the library's objects, but only one thread at a time. This holds
// because an execution on a GPU holds the lock `Gpu::turn`.
unsafe impl<T: Copy> Send for CublasObject<T> {}
// SAFETY: as above. No method changes the object through a shared reference.
unsafe impl<T: Copy> Sync for CublasObject<T> {}

impl<T: Copy> CublasObject<T> {
    fn new(made: Result<T, CublasError>, destroy: unsafe fn(T) -> Result<(), CublasError>) -> Result<Self, LoadError> {
        Ok(CublasObject { raw: made.map_err(refused)?, destroy })
    }
}

impl<T: Copy> Drop for CublasObject<T> {
    fn drop(&mut self) {
        // SAFETY: the object is created once and destroyed once. An error of this call is ignored,
        // because no caller could handle it.
        _ = unsafe { (self.destroy)(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::parse_module;
    use fusebox_routines::product_of;

    use super::*;

    fn product(left: &str, right: &str, result: &str, roles: &str) -> Product {
        let text = format!(
            "ENTRY e {{\n  a = f64[{left}] parameter(0)\n  b = f64[{right}] parameter(1)\n  ROOT r = f64[{result}] dot(a, b), {roles}\n}}\n"
        );
        product_of(&parse_module(&text, "m").unwrap()).unwrap()
    }

    /// Computes the product from the description `form`, as the documentation of cuBLASLt
    /// specifies.
    fn multiplied(product: &Product, form: &CublasProduct, left: &[f64], right: &[f64]) -> Vec<f64> {
        let element = |matrix: &CublasMatrix, row: usize, column: usize| {
            if matrix.transposed {
                column + row * matrix.leading_dimension
            } else {
                row + column * matrix.leading_dimension
            }
        };
        let mut result = vec![f64::NAN; form.calls * form.batch * form.result.next];
        for call in 0..form.calls {
            let [in_left, in_right] = product.begin(call * form.batch);
            for batch in 0..form.batch {
                let [first, second] = [(0, in_right), (1, in_left)].map(|(n, at)| at + batch * form.factors[n].next);
                let to = (call * form.batch + batch) * form.result.next;
                for (row, column) in (0..product.columns).flat_map(|row| (0..product.rows).map(move |it| (row, it))) {
                    let sum = (0..product.steps).map(|step| {
                        right[first + element(&form.factors[0], row, step)]
                            * left[second + element(&form.factors[1], step, column)]
                    });
                    result[to + element(&form.result, row, column)] = sum.sum();
                }
            }
        }
        result
    }

    /// Computes the product directly from the strides of `product`.
    fn expected(product: &Product, left: &[f64], right: &[f64]) -> Vec<f64> {
        let batches: usize = product.batch.iter().map(|(count, _)| count).product();
        let at = |first: usize, by: [isize; 2], index: [usize; 2]| {
            first + index[0] * by[0].unsigned_abs() + index[1] * by[1].unsigned_abs()
        };
        let mut result = Vec::new();
        for batch in 0..batches {
            let [in_left, in_right] = product.begin(batch);
            for (row, column) in (0..product.rows).flat_map(|row| (0..product.columns).map(move |it| (row, it))) {
                let sum = (0..product.steps).map(|step| {
                    left[at(in_left, [product.left.row, product.left.column], [row, step])]
                        * right[at(in_right, [product.right.row, product.right.column], [step, column])]
                });
                result.push(sum.sum());
            }
        }
        result
    }

    #[test]
    fn products_are_said_in_the_librarys_terms() {
        let cases = [
            ("3,5", "5,4", "3,4", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            ("5,3", "4,5", "3,4", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
            ("3,5", "4,5", "3,4", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
            ("5,3", "5,4", "3,4", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
            ("5", "4,5", "4", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
            (
                "2,3,5",
                "2,5,4",
                "2,3,4",
                "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}",
            ),
            (
                "3,2,5",
                "5,2,4",
                "2,3,4",
                "lhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={0}",
            ),
            (
                "2,3,6,5",
                "6,2,4,5",
                "2,6,3,4",
                "lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={1,0}, rhs_contracting_dims={3}",
            ),
        ];
        for (left, right, result, roles) in cases {
            let product = product(left, right, result, roles);
            let form = CublasProduct::of(&product).unwrap();
            let size = |dims: &str| dims.split(',').map(|it| it.parse::<usize>().unwrap()).product::<usize>();
            let values = |dims: &str, by: usize| (0..size(dims)).map(|i| (i * by % 17) as f64).collect::<Vec<f64>>();
            let (left, right) = (values(left, 7), values(right, 5));
            assert_eq!(multiplied(&product, &form, &left, &right), expected(&product, &left, &right), "{roles}");
        }
    }

    #[test]
    fn matrices_in_pieces_are_none_of_the_librarys() {
        let roles = "lhs_batch_dims={2}, lhs_contracting_dims={1}, rhs_batch_dims={2}, rhs_contracting_dims={0}";
        assert!(CublasProduct::of(&product("3,5,2", "5,4,2", "2,3,4", roles)).is_none());
    }
}
