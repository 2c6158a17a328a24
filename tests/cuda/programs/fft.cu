// A radix-2 FFT of 256 points, one block a signal, and the same through double precision.
#define N 256
template <typename T> struct Complex { T re, im; };

__device__ void turn(float angle, float *s, float *c) { sincosf(angle, s, c); }
__device__ void turn(double angle, double *s, double *c) { sincospi(angle / 3.14159265358979323846, s, c); }

template <typename T> __device__ void fft(Complex<T> *data) {
    __shared__ Complex<T> s[N];
    int t = threadIdx.x;
    Complex<T> *signal = data + blockIdx.x * N;
    for (int i = t; i < N; i += N / 2) s[__brev(i) >> 24] = signal[i];
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        int k = t & (half - 1), i = (t - k) * 2 + k;
        T sine, cosine;
        turn((T)-3.14159265358979323846 * k / half, &sine, &cosine);
        Complex<T> a = s[i], b = s[i + half];
        Complex<T> w = {b.re * cosine - b.im * sine, b.re * sine + b.im * cosine};
        s[i] = {a.re + w.re, a.im + w.im};
        s[i + half] = {a.re - w.re, a.im - w.im};
    }
    __syncthreads();
    for (int i = t; i < N; i += N / 2) signal[i] = s[i];
}

extern "C" __global__ void fft32(Complex<float> *data) { fft(data); }
extern "C" __global__ void fft64(Complex<double> *data) { fft(data); }
