/* Tensor maps: the 128 bytes as the emulator reads them (see ptxlab/isa/tensor_map.py, which names the source).
 * Refused is what the driver API's page on cuTensorMapEncodeTiled forbids, and, as a driver does, a null pointer for the
 * strides of one dimension, of which it reads none. */

static void put(CUtensorMap *map, int at, int width, uint64_t value)
{
    uint64_t mask = (width < 64 ? (uint64_t)1 << width : 0) - 1;
    map->opaque[at / 64] = (map->opaque[at / 64] & ~(mask << at % 64)) | (value & mask) << at % 64;
}

/* Bytes of an element, by the number of `CUtensorMapDataType`. */
static const int element_sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};

/* The number of a type in a map, by that of `CUtensorMapDataType`. */
static const int element_types[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10};

static CUresult describe(CUtensorMap *map, CUtensorMapDataType type, unsigned rank, void *address,
                         const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *steps,
                         CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapFloatOOBfill fill)
{
    if (!rank || rank > 5 || (uintptr_t)address % 16 || (unsigned)type >= sizeof element_types / sizeof *element_types)
        return refused(CUDA_ERROR_INVALID_VALUE);
    if (!dims || !strides || !steps)
        return refused(CUDA_ERROR_INVALID_VALUE);
    memset(map, 0, sizeof *map);
    put(map, 0, 64, (uintptr_t)address);
    put(map, 68, 3, rank - 1);
    put(map, 71, 4, element_types[type]);
    put(map, 75, 2, interleave);
    put(map, 77, 2, swizzle);
    put(map, 79, 1, fill);
    for (unsigned k = 0; k < rank; k++) {
        if (!dims[k] || dims[k] > (uint64_t)1 << 32 || !steps[k] || steps[k] > 8)
            return refused(CUDA_ERROR_INVALID_VALUE);
        put(map, 256 + 32 * k, 32, dims[k] - 1);
        put(map, 416 + 3 * k, 3, steps[k] - 1);
    }
    for (unsigned k = 0; k + 1 < rank; k++) {
        if (strides[k] % 16 || strides[k] >> 40)
            return refused(CUDA_ERROR_INVALID_VALUE);
        put(map, 96 + 32 * k, 32, strides[k] >> 4);
        put(map, 224 + 4 * k, 4, strides[k] >> 36);
    }
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    BEGIN(NOTHING, "rank %u, promotion %d", rank, (int)promotion);
    CUresult result = describe(map, type, rank, address, dims, strides, steps, interleave, swizzle, fill);
    if (result == CUDA_SUCCESS) {
        unsigned row = box[0] * element_sizes[type];
        if (row % 16 || (swizzle && row > 16u << swizzle))
            return refused(CUDA_ERROR_INVALID_VALUE);
    }
    for (unsigned k = 0; result == CUDA_SUCCESS && k < rank; k++) {
        if (!box[k] || box[k] > 256)
            return refused(CUDA_ERROR_INVALID_VALUE);
        put(map, k ? 448 + 8 * (k - 1) : 440, 8, box[k] - 1);
    }
    return result;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *dims, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    BEGIN(NOTHING, "rank %u, promotion %d", rank, (int)promotion);
    if (rank < 3)
        return refused(CUDA_ERROR_INVALID_VALUE);
    CUresult result = describe(map, type, rank, address, dims, strides, steps, interleave, swizzle, fill);
    if (result != CUDA_SUCCESS)
        return result;
    map->opaque[8] = 0x7A3;
    for (unsigned k = 0; k + 2 < rank; k++) {
        put(map, 64 * 9 + 16 * k, 16, lower[k]);
        put(map, 64 * 10 + 16 * k, 16, upper[k]);
    }
    map->opaque[11] = channels | (uint64_t)pixels << 32;
    return CUDA_SUCCESS;
}
