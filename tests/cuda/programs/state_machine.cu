// A little virtual machine: each thread interprets its own byte code through a switch (a branch through a table).
extern "C" __global__ void state_machine(const unsigned char *code, int length, const int *input, int *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, stack[16], top = 0, steps = 0;
    const unsigned char *mine = code + t % 4 * length;
    stack[top++] = input[t];
    for (int pc = 0; steps < 200; steps++) {
        unsigned char op = mine[pc++];
        switch (op) {
            case 0: stack[top] = stack[top - 1]; top++; break;
            case 1: top--; stack[top - 1] += stack[top]; break;
            case 2: top--; stack[top - 1] *= stack[top]; break;
            case 3: stack[top - 1] = -stack[top - 1]; break;
            case 4: stack[top++] = mine[pc++]; break;
            case 5: if (stack[--top] > 0) pc = mine[pc]; else pc++; break;
            case 6: top--; stack[top - 1] -= stack[top]; break;
            case 7: { int v = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = v; break; }
            case 8: top--; stack[top - 1] ^= stack[top] >> 1; break;
            case 9: stack[top - 1] = __popc(stack[top - 1]); break;
            default: goto done;
        }
    }
done:
    out[2 * t] = stack[top - 1];
    out[2 * t + 1] = steps;
}
