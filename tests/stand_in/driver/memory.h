/* Memory: host memory at addresses of its own, and what is copied there. */

static CUresult allocate(CUdeviceptr *pointer, size_t bytes)
{
    if (!bytes)
        return refused(CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    uint64_t pages = (bytes + 4095) / 4096 * 4096;
    char *made = MAP_FAILED;
    if (bytes <= memory_bytes() - allocated)
        made = mmap((void *)next_address, pages, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (made != MAP_FAILED) {
        if (allocation_count == allocation_room)
            allocations = realloc(allocations, (allocation_room = 2 * allocation_room + 64) * sizeof *allocations);
        allocations[allocation_count++] = (struct allocation){next_address, bytes};
        allocated += bytes;
        next_address += pages + 4096; /* a page that belongs to nobody */
        /* Fresh memory holds anything on a GPU; NaN shows whether a kernel counts on zeros. */
        memset(made, 0xff, bytes < 1 << 26 ? bytes : 1 << 26);
        *pointer = (CUdeviceptr)made;
        say("  at %#llx\n", *pointer);
    }
    pthread_mutex_unlock(&lock);
    return made == MAP_FAILED ? refused(CUDA_ERROR_OUT_OF_MEMORY) : CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr pointer)
{
    CUresult result = pointer ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    for (uint64_t i = 0; i < allocation_count; i++)
        if (allocations[i].address == pointer) {
            if (!running) /* a kernel that uses memory which another thread frees must not end the process */
                munmap((void *)pointer, allocations[i].size);
            allocated -= allocations[i].size;
            memmove(allocations + i, allocations + i + 1, (--allocation_count - i) * sizeof *allocations);
            result = CUDA_SUCCESS;
            break;
        }
    pthread_mutex_unlock(&lock);
    return refused(result);
}

/* The allocation that holds all of these bytes, or 0 bytes. */
static struct allocation holding(CUdeviceptr pointer, size_t bytes)
{
    struct allocation found = {0, 0};
    pthread_mutex_lock(&lock);
    for (uint64_t i = 0; i < allocation_count; i++)
        if (allocations[i].address <= pointer && pointer + bytes <= allocations[i].address + allocations[i].size)
            found = allocations[i];
    for (uint64_t i = 0; i < 256; i++)
        if (variables[i].address <= pointer && pointer + bytes <= variables[i].address + variables[i].size)
            found = variables[i];
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    BEGIN(NO_CAPTURE, "%zu bytes", bytes);
    return allocate(pointer, bytes);
}

CUresult cuMemFree(CUdeviceptr pointer)
{
    BEGIN(NO_CAPTURE, "%#llx", pointer);
    wait_for_kernels();
    return release(pointer);
}

static CUresult allocate_on(CUdeviceptr *pointer, size_t bytes, CUstream handle)
{
    struct object *stream;
    CUresult result = use(handle, &stream);
    if (!result && stream && stream->capture) /* a node of the graph on a GPU */
        result = refused(CUDA_ERROR_NOT_SUPPORTED);
    return result ? result : allocate(pointer, bytes);
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    BEGIN(CONTEXT, "%zu bytes", bytes);
    return allocate_on(pointer, bytes, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    BEGIN(CONTEXT, "%zu bytes", bytes);
    return allocate_on(pointer, bytes, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle)
{
    struct object *stream;
    BEGIN(CONTEXT, "%#llx", pointer);
    CUresult result = use(handle, &stream);
    return result ? result : hung ? CUDA_SUCCESS : release(pointer);
}

static CUresult copy(CUdeviceptr device, size_t bytes, void *to, const void *from)
{
    if (bytes && !holding(device, bytes).size)
        return refused(CUDA_ERROR_INVALID_VALUE);
    wait_for_kernels();
    memmove(to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    BEGIN(NO_CAPTURE, "%zu bytes to %#llx", bytes, to);
    return copy(to, bytes, (void *)to, from);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    BEGIN(NO_CAPTURE, "%zu bytes from %#llx", bytes, from);
    return copy(from, bytes, to, (const void *)from);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle)
{
    struct object *stream;
    BEGIN(CONTEXT, "%zu bytes from %#llx to %#llx", bytes, from, to);
    CUresult result = use(handle, &stream);
    if (!result && stream && stream->capture)
        result = refused(CUDA_ERROR_NOT_SUPPORTED);
    if (!result && bytes && !holding(from, bytes).size)
        result = refused(CUDA_ERROR_INVALID_VALUE);
    return result || hung ? result : copy(to, bytes, (void *)to, (const void *)from);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream handle)
{
    struct object *stream;
    BEGIN(CONTEXT, "%zu bytes at %#llx", bytes, to);
    CUresult result = use(handle, &stream);
    if (!result && stream && stream->capture)
        result = refused(CUDA_ERROR_NOT_SUPPORTED);
    if (!result && bytes && !holding(to, bytes).size)
        result = refused(CUDA_ERROR_INVALID_VALUE);
    if (!result && !hung)
        memset((void *)to, value, bytes);
    return result;
}

CUresult cuMemGetInfo(size_t *available, size_t *total)
{
    BEGIN(CONTEXT);
    *total = memory_bytes();
    *available = *total - allocated;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    BEGIN(NOTHING);
    *pool = POOL;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    BEGIN(NOTHING);
    *pool = POOL;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value)
{
    BEGIN(CONTEXT, "%d", (int)which);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value)
{
    BEGIN(CONTEXT, "%d", (int)which);
    if (which < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        *(int *)value = 1;
    else
        *(uint64_t *)value = which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? 0 : allocated;
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr pointer)
{
    BEGIN(CONTEXT, "%d of %#llx", (int)which, pointer);
    struct allocation found = holding(pointer, 1);
    if (!found.size)
        return refused(CUDA_ERROR_INVALID_VALUE);
    switch ((int)which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = PRIMARY; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)data = CU_MEMORYTYPE_DEVICE; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = pointer; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)data = 0; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = found.address; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = found.size; break;
    default: return refused(CUDA_ERROR_NOT_SUPPORTED);
    }
    return CUDA_SUCCESS;
}
