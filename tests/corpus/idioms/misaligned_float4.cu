// Misaligned float4.
// launch: 1 x 64
// finds: fault
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
#ifdef BUG
    int4 v = *(int4*)(x+t*4+1);
#else
    int4 v = *(int4*)(x+t*4);
#endif
    out[t] = v.x+v.y+v.z+v.w;
}
