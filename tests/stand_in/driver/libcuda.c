/* A stand-in for libcuda.so.1: the driver API over host memory, with kernels handed to the emulator (machine.py).

   Device memory is host memory at its true address, far from where the process has its own and never used twice, so
   that an access after `cuMemFree` or past the end is found. Everything is done at once and in order: a stream has
   nothing left to do when a call returns, except behind a kernel that never ends. The functions are written under the
   names of
   cuda.h, whose macros give them the driver's (cuMemAlloc is exported as cuMemAlloc_v2) and whose prototypes the
   compiler checks. What the environment can ask for is described in README.md. */

#include "base.h"
#include "device.h"
#include "memory.h"
#include "streams.h"
#include "code.h"
#include "launches.h"
#include "tensor_maps.h"

/* The name is taken before cuda.h's macro turns it into the version that is exported. */
#define FUNCTION(name) {#name, (void *)name}
static const struct { const char *name; void *function; } functions[] = {
    FUNCTION(cuInit), FUNCTION(cuDriverGetVersion), FUNCTION(cuGetErrorName), FUNCTION(cuGetErrorString),
    FUNCTION(cuGetProcAddress),
    FUNCTION(cuDeviceGetCount), FUNCTION(cuDeviceGet), FUNCTION(cuDeviceGetName), FUNCTION(cuDeviceTotalMem),
    FUNCTION(cuDeviceGetUuid), FUNCTION(cuDeviceGetAttribute), FUNCTION(cuDevicePrimaryCtxRetain),
    FUNCTION(cuDevicePrimaryCtxRelease), FUNCTION(cuDevicePrimaryCtxGetState),
    FUNCTION(cuCtxSetCurrent), FUNCTION(cuCtxGetCurrent), FUNCTION(cuCtxPushCurrent), FUNCTION(cuCtxPopCurrent),
    FUNCTION(cuCtxGetDevice), FUNCTION(cuCtxGetLimit), FUNCTION(cuCtxSetLimit), FUNCTION(cuCtxGetId), FUNCTION(cuCtxSynchronize), FUNCTION(cuCtxGetStreamPriorityRange),
    FUNCTION(cuMemAlloc), FUNCTION(cuMemFree), FUNCTION(cuMemAllocAsync), FUNCTION(cuMemAllocFromPoolAsync),
    FUNCTION(cuMemFreeAsync), FUNCTION(cuMemcpyHtoD), FUNCTION(cuMemcpyDtoH), FUNCTION(cuMemcpyDtoDAsync),
    FUNCTION(cuMemsetD8Async), FUNCTION(cuMemGetInfo), FUNCTION(cuDeviceGetDefaultMemPool),
    FUNCTION(cuDeviceGetMemPool),
    FUNCTION(cuMemPoolSetAttribute), FUNCTION(cuMemPoolGetAttribute), FUNCTION(cuPointerGetAttribute),
    FUNCTION(cuEventCreate), FUNCTION(cuEventRecord), FUNCTION(cuEventRecordWithFlags), FUNCTION(cuEventQuery),
    FUNCTION(cuEventSynchronize), FUNCTION(cuEventElapsedTime), FUNCTION(cuEventDestroy),
    FUNCTION(cuStreamCreate), FUNCTION(cuStreamCreateWithPriority), FUNCTION(cuStreamDestroy), FUNCTION(cuStreamQuery),
    FUNCTION(cuStreamSynchronize), FUNCTION(cuStreamWaitEvent), FUNCTION(cuStreamGetCtx), FUNCTION(cuStreamGetDevice),
    FUNCTION(cuStreamGetFlags), FUNCTION(cuStreamGetPriority), FUNCTION(cuStreamBeginCapture),
    FUNCTION(cuStreamIsCapturing), FUNCTION(cuStreamEndCapture),
    FUNCTION(cuLibraryLoadData), FUNCTION(cuLibraryUnload), FUNCTION(cuLibraryGetKernel), FUNCTION(cuLibraryGetModule),
    FUNCTION(cuLibraryGetGlobal),
    FUNCTION(cuKernelGetFunction), FUNCTION(cuKernelGetLibrary), FUNCTION(cuKernelGetParamInfo),
    FUNCTION(cuKernelGetAttribute), FUNCTION(cuKernelSetAttribute), FUNCTION(cuFuncLoad), FUNCTION(cuFuncGetAttribute),
    FUNCTION(cuFuncSetAttribute), FUNCTION(cuLaunchKernel), FUNCTION(cuLaunchKernelEx),
    FUNCTION(cuTensorMapEncodeTiled), FUNCTION(cuTensorMapEncodeIm2col),
    FUNCTION(cuGraphInstantiate), {"cuGraphInstantiateWithFlags", (void *)cuGraphInstantiate},
    FUNCTION(cuGraphLaunch), FUNCTION(cuGraphDestroy), FUNCTION(cuGraphExecDestroy),
};

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    *function = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name))
            *function = functions[i].function;
    if (status)
        *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
