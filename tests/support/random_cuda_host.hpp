// CUDA C++ as C++ (see random_cuda.py): threads are contexts of their own, which yield where they wait for each other.
#include <ucontext.h>
#include <math.h>
#include <string.h>
#include <stdlib.h>
#define __global__ static
#define __device__ static
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline
#define __shared__ static
#define __restrict__
struct Dim { unsigned x, y, z; };
Dim threadIdx, blockIdx, blockDim, gridDim;
static const unsigned stack_size = 65536;
ucontext_t scheduler, thread_context[1024];
bool thread_done[1024];
int now;
unsigned long long slots[1024];
void set_thread(int t) {
    now = t;
    threadIdx.x = t % blockDim.x; threadIdx.y = t / blockDim.x % blockDim.y; threadIdx.z = t / blockDim.x / blockDim.y;
}
void yield_thread() { int me = now; swapcontext(&thread_context[me], &scheduler); set_thread(me); }
#define __syncthreads yield_thread
#define __syncwarp yield_thread
static void *the_body; static void (*call_body)(void *);
static void start_thread() { call_body(the_body); thread_done[now] = true; }
template <class F> void run_grid(const unsigned *sizes, F body) {
    gridDim = {sizes[0], sizes[1], sizes[2]}; blockDim = {sizes[3], sizes[4], sizes[5]};
    int threads = sizes[3] * sizes[4] * sizes[5];
    char *stacks = (char *)malloc((size_t)threads * stack_size);
    the_body = &body; call_body = [](void *f) { (*(F *)f)(); };
    for (unsigned b = 0; b < sizes[0] * sizes[1] * sizes[2]; b++) {
        blockIdx = {b % sizes[0], b / sizes[0] % sizes[1], b / sizes[0] / sizes[1]};
        for (int t = 0; t < threads; t++) {
            getcontext(&thread_context[t]);
            thread_context[t].uc_stack.ss_sp = stacks + (size_t)t * stack_size;
            thread_context[t].uc_stack.ss_size = stack_size;
            thread_context[t].uc_link = &scheduler;
            makecontext(&thread_context[t], start_thread, 0);
            thread_done[t] = false;
        }
        for (bool any = true; any;) {
            any = false;
            for (int t = 0; t < threads; t++)
                if (!thread_done[t]) { set_thread(t); swapcontext(&scheduler, &thread_context[t]); any = true; }
        }
    }
    free(stacks);
}
template <class T> T shuffled(T v, int source) {
    unsigned long long bits = 0; memcpy(&bits, &v, sizeof v);
    slots[now] = bits; yield_thread();
    bits = slots[source]; yield_thread();
    memcpy(&v, &bits, sizeof v); return v;
}
#define LANE (now & 31)
template <class T> T __shfl_xor_sync(unsigned, T v, int d) { return shuffled(v, now ^ d); }
template <class T> T __shfl_sync(unsigned, T v, int s) { return shuffled(v, (now & ~31) + (s & 31)); }
template <class T> T __shfl_up_sync(unsigned, T v, int d) { return shuffled(v, LANE >= d ? now - d : now); }
template <class T> T __shfl_down_sync(unsigned, T v, int d) { return shuffled(v, LANE + d < 32 ? now + d : now); }
static unsigned __ballot_sync(unsigned, int p) {
    slots[now] = p != 0; yield_thread();
    unsigned r = 0; for (int k = 0; k < 32; k++) r |= (unsigned)slots[(now & ~31) + k] << k;
    yield_thread(); return r;
}
static int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
static int __all_sync(unsigned m, int p) { return __ballot_sync(m, p) == ~0u; }
template <class T> T atomicAdd(T *p, T v) { T o = *p; *p = o + v; return o; }
template <class T> T atomicMax(T *p, T v) { T o = *p; *p = o > v ? o : v; return o; }
template <class T> T atomicMin(T *p, T v) { T o = *p; *p = o < v ? o : v; return o; }
template <class T> T atomicXor(T *p, T v) { T o = *p; *p = o ^ v; return o; }
template <class T> T atomicOr(T *p, T v) { T o = *p; *p = o | v; return o; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static int __ffs(int x) { return __builtin_ffs(x); }
static unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int k = 0; k < 32; k++) r |= (x >> k & 1) << (31 - k);
    return r;
}
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned long long v = (unsigned long long)b << 32 | a; unsigned r = 0;
    for (int k = 0; k < 4; k++) r |= (unsigned)(v >> (s >> 4 * k & 7) * 8 & 255) << 8 * k;
    return r;
}
static unsigned __funnelshift_l(unsigned a, unsigned b, unsigned s) {
    s &= 31; return s ? b << s | a >> (32 - s) : b;
}
static unsigned __vadd4(unsigned a, unsigned b) {
    unsigned r = 0; for (int k = 0; k < 32; k += 8) r |= ((a >> k & 255) + (b >> k & 255) & 255) << k; return r;
}
static int __float2int_rz(float x) {
    return x != x ? 0 : x >= 2147483648.f ? 2147483647 : x < -2147483648.f ? -2147483647 - 1 : (int)x;
}
static int __double2int_rz(double x) {
    return x != x ? -2147483647 - 1 : x >= 2147483647. ? 2147483647 : x <= -2147483648. ? -2147483647 - 1 : (int)x;
}
template <class T> T smaller(T a, T b) {
    return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
template <class T> T larger(T a, T b) {
    return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
#define fminf smaller
#define fmaxf larger
#define fmin smaller
#define fmax larger
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
