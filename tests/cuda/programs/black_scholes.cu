// Prices of European calls and puts after Black and Scholes, in single and double precision.
template <typename T> __device__ T normal(T d) { return T(0.5) * erfc(-d * T(0.70710678118654752440)); }

template <typename T>
__device__ void price(const T *stock, const T *strike, const T *years, T *call, T *put, T rate, T volatility, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T s = stock[i], k = strike[i], t = years[i], root = sqrt(t);
    T d1 = (log(s / k) + (rate + T(0.5) * volatility * volatility) * t) / (volatility * root);
    T d2 = d1 - volatility * root, discount = exp(-rate * t);
    call[i] = s * normal(d1) - k * discount * normal(d2);
    put[i] = k * discount * (1 - normal(d2)) - s * (1 - normal(d1));
}

extern "C" __global__ void black_scholes32(const float *s, const float *k, const float *t, float *call, float *put,
                                           float rate, float volatility, int n) {
    price(s, k, t, call, put, rate, volatility, n);
}
extern "C" __global__ void black_scholes64(const double *s, const double *k, const double *t, double *call,
                                           double *put, double rate, double volatility, int n) {
    price(s, k, t, call, put, rate, volatility, n);
}
