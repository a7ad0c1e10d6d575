// Handlers that tests/ffi/test_ffi.py compiles, registers and calls.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// x / sqrt(mean(x^2) + eps), along the last axis.
static ffi::Error RmsNormImpl(float eps, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  auto dims = x.dimensions();
  if (dims.size() == 0) return ffi::Error::InvalidArgument("RmsNorm takes at least one axis");
  int64_t size = dims.back();
  int64_t rows = size ? x.element_count() / size : 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = x.typed_data() + row * size;
    float* out = y->typed_data() + row * size;
    float sum = 0.0f;
    for (int64_t i = 0; i < size; ++i) sum += in[i] * in[i];
    float scale = 1.0f / std::sqrt(sum / size + eps);
    for (int64_t i = 0; i < size; ++i) out[i] = in[i] * scale;
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNorm, RmsNormImpl, ffi::Ffi::Bind()
                                                        .Attr<float>("eps")
                                                        .Arg<ffi::Buffer<ffi::F32>>()
                                                        .Ret<ffi::Buffer<ffi::F32>>());

// What it was told: an int, a float, a bool, the length of a string and the sum of an array.
static ffi::Error ToldImpl(int64_t i, double f, bool b, std::string_view s,
                           ffi::Span<const int32_t> v, ffi::ResultBuffer<ffi::F64> out) {
  double* y = out->typed_data();
  y[0] = static_cast<double>(i);
  y[1] = f;
  y[2] = b;
  y[3] = static_cast<double>(s.size());
  y[4] = std::accumulate(v.begin(), v.end(), 0.0);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Told, ToldImpl, ffi::Ffi::Bind()
                                                  .Attr<int64_t>("i")
                                                  .Attr<double>("f")
                                                  .Attr<bool>("b")
                                                  .Attr<std::string_view>("s")
                                                  .Attr<ffi::Span<const int32_t>>("v")
                                                  .Ret<ffi::Buffer<ffi::F64>>());

// How often it was called, and its operand's rank and elements in the order of memory.
static int calls = 0;
static ffi::Error CountImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::S32> n,
                            ffi::ResultBuffer<ffi::F32> memory) {
  n->typed_data()[0] = ++calls;
  for (size_t i = 0; i < x.element_count(); ++i) memory->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Count, CountImpl, ffi::Ffi::Bind()
                                                    .Arg<ffi::Buffer<ffi::F32>>()
                                                    .Ret<ffi::Buffer<ffi::S32>>()
                                                    .Ret<ffi::Buffer<ffi::F32>>());
