// The standard library of the device: array, tuple, complex, optional, span, bit operations, algorithms.
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>

__device__ cuda::std::optional<float> root(float x) {
    if (x < 0) return {};
    return sqrtf(x);
}

extern "C" __global__ void standard(const float *x, const float *y, float *out, int n) {
    int i = threadIdx.x;
    cuda::std::complex<float> a(x[i], y[i]), b(y[i], 1.0f), c = a * b + cuda::std::conj(a) / b;
    cuda::std::array<float, 4> v{x[i], y[i], c.real(), c.imag()};
    cuda::std::span<float> s(v.data(), 4);
    float sum = 0;
    for (float e : s) sum += e;
    auto pair = cuda::std::make_tuple(sum, cuda::std::popcount((unsigned)i * 77u));
    out[i] = c.real();
    out[n + i] = c.imag();
    out[2 * n + i] = cuda::std::get<0>(pair) + cuda::std::get<1>(pair) + cuda::std::countl_zero((unsigned)i + 1);
    out[3 * n + i] = root(x[i]).value_or(-1.0f);
    out[4 * n + i] = cuda::std::abs(a);
}
