/* Start, device and context. */

__attribute__((constructor)) static void start(void)
{
    const char *path = setting("PTXLAB_STAND_IN_LOG");
    if (*path && (log_file = fopen(path, "a")))
        setvbuf(log_file, NULL, _IOLBF, 0);
}

__attribute__((destructor)) static void finish(void)
{
    say("at exit: %d launches; alive: %llu allocations (%llu bytes), %d streams, %d events, %d graphs\n", launches,
        (unsigned long long)allocation_count, (unsigned long long)allocated, live_objects[0],
        live_objects[EVENT - STREAM], live_objects[GRAPH - STREAM] + live_objects[EXEC - STREAM]);
}

CUresult cuInit(unsigned flags)
{
    BEGIN(NOTHING);
    return *setting("PTXLAB_STAND_IN") ? CUDA_SUCCESS : refused(CUDA_ERROR_NO_DEVICE);
}

CUresult cuDriverGetVersion(int *version)
{
    BEGIN(NOTHING);
    *version = atoi(setting("PTXLAB_STAND_IN_DRIVER"));
    return CUDA_SUCCESS;
}

/* NVRTC asks for one and takes it that there is none. */
CUresult cuGetExportTable(const void **table, const CUuuid *id) { *table = NULL; return CUDA_ERROR_NOT_FOUND; }

CUresult cuGetErrorName(CUresult error, const char **name)
{
    *name = result_name(error);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text = result_name(error) ? "said by the stand-in for the driver" : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) { BEGIN(NOTHING); *count = 1; return CUDA_SUCCESS; }

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    BEGIN(NOTHING, "%d", ordinal);
    *device = 0;
    return ordinal ? refused(CUDA_ERROR_INVALID_DEVICE) : CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    BEGIN(NOTHING);
    snprintf(name, (size_t)length, "%s", setting("PTXLAB_STAND_IN_NAME"));
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    BEGIN(NOTHING);
    *bytes = memory_bytes();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    BEGIN(NOTHING);
    memset(uuid, 7, sizeof *uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute number, CUdevice device)
{
    BEGIN(NOTHING, "%d", (int)number);
    *value = attribute((int)number);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *primary, CUdevice device)
{
    BEGIN(NOTHING);
    *primary = PRIMARY;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { BEGIN(NOTHING); return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    BEGIN(NOTHING);
    *flags = 0;
    *active = 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext given) { BEGIN(NOTHING); context = given; return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext *current) { BEGIN(NOTHING); *current = context; return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext given) { BEGIN(NOTHING); context = given; return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext *popped)
{
    BEGIN(NOTHING);
    if (popped) *popped = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    BEGIN(NOTHING);
    *device = 0;
    return context ? CUDA_SUCCESS : refused(CUDA_ERROR_INVALID_CONTEXT);
}

/* Bytes of a thread's stack, the one limit that is kept here: of a driver 1024 where nobody has asked for more. */
static size_t stack_limit = 1024;

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    BEGIN(CONTEXT, "%d", (int)limit);
    if (limit != CU_LIMIT_STACK_SIZE)
        return refused(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = stack_limit;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    BEGIN(CONTEXT, "%d = %zu", (int)limit, value);
    if (limit != CU_LIMIT_STACK_SIZE)
        return refused(CUDA_ERROR_UNSUPPORTED_LIMIT);
    stack_limit = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext given, unsigned long long *id) { BEGIN(NOTHING); *id = 1; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { BEGIN(NO_CAPTURE); wait_for_kernels(); return CUDA_SUCCESS; }
