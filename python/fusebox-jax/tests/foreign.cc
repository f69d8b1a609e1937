// Foreign functions for the tests of fusebox-jax.
#include <cstdint>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// Adds `scale` times the sum of `weights` to each element, in the order of memory, and writes the
// position of each element in memory.
static ffi::Error Affine(ffi::Buffer<ffi::F32> x, float scale, ffi::Span<const int64_t> weights, std::string_view mode,
                         ffi::Result<ffi::Buffer<ffi::F32>> y, ffi::Result<ffi::Buffer<ffi::S32>> positions) {
  if (mode != "add") {
    return ffi::Error::InvalidArgument("mode must be `add`");
  }
  int64_t sum = 0;
  for (int64_t weight : weights) sum += weight;
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] + scale * sum;
    positions->typed_data()[i] = static_cast<int32_t>(i);
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(affine, Affine,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Attr<float>("scale")
                                  .Attr<ffi::Span<const int64_t>>("weights")
                                  .Attr<std::string_view>("mode")
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>());

// Doubles each element in tasks on other threads, and is done when the last task is.
static ffi::Future Doubled(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> y, ffi::ThreadPool pool) {
  ffi::CountDownPromise promise(x.element_count());
  ffi::Future future(promise);
  for (size_t i = 0; i < x.element_count(); ++i) {
    pool.Schedule([x, y, promise, i]() mutable {
      y->typed_data()[i] = 2 * x.typed_data()[i];
      promise.CountDown();
    });
  }
  return future;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    doubled, Doubled,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Ctx<ffi::ThreadPool>());
