// Quicksort of one short array a thread, with a stack of its own in local memory.
extern "C" __global__ void sort_quick(int *data, int length) {
    int *x = data + (blockIdx.x * blockDim.x + threadIdx.x) * length;
    int stack[64], top = 0;
    stack[top++] = 0;
    stack[top++] = length - 1;
    while (top) {
        int high = stack[--top], low = stack[--top];
        if (low >= high) continue;
        int pivot = x[(low + high) / 2], i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i <= j) {
                int t = x[i];
                x[i++] = x[j];
                x[j--] = t;
            }
        }
        stack[top++] = low;
        stack[top++] = j;
        stack[top++] = i;
        stack[top++] = high;
    }
}
