// Ballot mask wrong.
// launch: 1 x 32
// finds: mask names exited lane, mask omits lane
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (t&1) {
#ifdef BUG
        out[t] = __ballot_sync(0x0000ffffu, x[t]>0);
#else
        out[t] = __ballot_sync(0xaaaaaaaau, x[t]>0);
#endif
    }
}
