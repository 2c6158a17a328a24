/* A stand-in for libcuda.so.1: the driver API over host memory, with kernels handed to the CPU machine (machine.py).

   Device memory is host memory at its true address, far from where the process has its own and never used twice, so that
   an access after `cuMemFree` or past the end is found. Everything is done at once and in order: a stream has nothing
   left to do when a call returns, except behind a kernel that never ends. The functions are written under the names of
   cuda.h, whose macros give them the driver's (cuMemAlloc is exported as cuMemAlloc_v2) and whose prototypes the
   compiler checks. What the environment can ask for is described in README.md. */

#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* -- what machine.py is asked, and what it answers ----------------------------------------------------------------- */

struct allocation { uint64_t address, size; };

/* What a kernel is: its parameters' places in the parameter block, and the values of its CUfunction_attributes. */
struct description { int parameters, bytes; const int *offsets, *sizes; int attributes[16]; };

struct launch {
    int module;
    const char *kernel;
    unsigned grid[3], block[3], cluster[3];
    unsigned shared, most_shared, cooperative;
    uint64_t bytes;
    const void *parameters;
};

struct machine {
    CUresult (*load)(const void *image, uint64_t size, int *module);
    CUresult (*describe)(int module, const char *kernel, struct description *);
    CUresult (*check)(const struct launch *); /* whether a driver takes such a launch */
    CUresult (*run)(const struct launch *, const struct allocation *, uint64_t count, double *seconds);
};

static struct machine machine;
EXPORT void stand_in_register(const struct machine *given) { machine = *given; }

/* -- the state ------------------------------------------------------------------------------------------------------ */

enum kind { STREAM = 0x57e40001, EVENT, LIBRARY, KERNEL, GRAPH, EXEC, DEAD };

/* What a handle points to. Handles are never given out twice: the use of a destroyed one is an error, not a crash. */
struct object {
    enum kind kind;
    unsigned flags;
    double time;                  /* of an event: when it was recorded, in seconds; 0 before */
    int pending;                  /* of an event: recorded behind a kernel that never ends */
    int module;                   /* of a library and of a kernel */
    char *name;                   /* of a kernel */
    struct object *library;       /* of a kernel */
    struct description about;     /* of a kernel */
    unsigned most_shared;         /* of a kernel: the dynamic shared memory that it may ask for */
    struct launch *nodes;         /* of a graph: its launches */
    size_t count;
    struct object *capture;       /* of a stream: the graph that its launches go into */
    CUstreamCaptureMode mode;
    int broken;                   /* of a stream: something forbidden was done during its capture */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the allocations and the log, never held over a kernel */
static struct allocation *allocations;                   /* the live ones, by address */
static uint64_t allocation_count, allocation_room, allocated, next_address = 0x050000000000;
static int running;                                      /* kernels on the CPU machine */
static double elsewhere;                                 /* seconds on the host that the device's clock leaves out */
static int hung;                                         /* a kernel never ends */
static CUresult coming, sticky;                          /* a kernel's error, before and after it is reported */
static __thread CUcontext context;
static __thread struct object *captures[8];              /* this thread's streams that record */
static int launches, live_objects[DEAD - STREAM];
static FILE *log_file;

static CUcontext const PRIMARY = (CUcontext)0x1000;
static CUmemoryPool const POOL = (CUmemoryPool)0x2000;

/* -- results by name ------------------------------------------------------------------------------------------------ */

#define RESULT(code) {code, #code}
static const struct { CUresult code; const char *name; } results[] = {
    RESULT(CUDA_SUCCESS), RESULT(CUDA_ERROR_INVALID_VALUE), RESULT(CUDA_ERROR_OUT_OF_MEMORY),
    RESULT(CUDA_ERROR_NOT_INITIALIZED), RESULT(CUDA_ERROR_DEINITIALIZED), RESULT(CUDA_ERROR_NO_DEVICE),
    RESULT(CUDA_ERROR_INVALID_DEVICE), RESULT(CUDA_ERROR_INVALID_IMAGE), RESULT(CUDA_ERROR_INVALID_CONTEXT),
    RESULT(CUDA_ERROR_NO_BINARY_FOR_GPU), RESULT(CUDA_ERROR_ECC_UNCORRECTABLE), RESULT(CUDA_ERROR_INVALID_PTX),
    RESULT(CUDA_ERROR_UNSUPPORTED_PTX_VERSION), RESULT(CUDA_ERROR_INVALID_SOURCE), RESULT(CUDA_ERROR_INVALID_HANDLE),
    RESULT(CUDA_ERROR_NOT_FOUND), RESULT(CUDA_ERROR_NOT_READY), RESULT(CUDA_ERROR_ILLEGAL_ADDRESS),
    RESULT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES), RESULT(CUDA_ERROR_LAUNCH_TIMEOUT), RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED),
    RESULT(CUDA_ERROR_ASSERT), RESULT(CUDA_ERROR_HARDWARE_STACK_ERROR), RESULT(CUDA_ERROR_ILLEGAL_INSTRUCTION),
    RESULT(CUDA_ERROR_MISALIGNED_ADDRESS), RESULT(CUDA_ERROR_INVALID_ADDRESS_SPACE), RESULT(CUDA_ERROR_INVALID_PC),
    RESULT(CUDA_ERROR_LAUNCH_FAILED), RESULT(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE), RESULT(CUDA_ERROR_NOT_PERMITTED),
    RESULT(CUDA_ERROR_NOT_SUPPORTED), RESULT(CUDA_ERROR_SYSTEM_NOT_READY), RESULT(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
    RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED), RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    RESULT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT), RESULT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED),
    RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE), RESULT(CUDA_ERROR_UNKNOWN),
};
#define RESULTS (sizeof results / sizeof *results)

static const char *result_name(CUresult code)
{
    for (size_t i = 0; i < RESULTS; i++)
        if (results[i].code == code)
            return results[i].name;
    return NULL;
}

static CUresult result_called(const char *name)
{
    for (size_t i = 0; i < RESULTS; i++)
        if (!strcmp(results[i].name, name))
            return results[i].code;
    fprintf(stderr, "stand-in: there is no CUresult %s\n", name);
    abort();
}

/* -- the environment's wishes --------------------------------------------------------------------------------------- */

static const char *setting(const char *name) { const char *value = getenv(name); return value ? value : ""; }

/* A rule "pattern=RESULT@n" (both later parts optional): applies from the n-th match on. Found anew in each call, since
   only its count has to be kept. */
#define RULES 32
static int rule_counts[2][RULES];

static int rule_applies(int set, const char *rules, const char *name, CUresult standard, CUresult *result)
{
    char copy[2048], *rest = copy, *rule;
    snprintf(copy, sizeof copy, "%s", rules);
    for (int i = 0; i < RULES && (rule = strsep(&rest, ",; ")) != NULL; i++) {
        char *count = strchr(rule, '@'), *code;
        if (count)
            *count++ = 0;
        if ((code = strchr(rule, '=')))
            *code++ = 0;
        if (!*rule || fnmatch(rule, name, 0))
            continue;
        if (__sync_add_and_fetch(&rule_counts[set][i], 1) < (count ? atoi(count) : 1))
            continue;
        *result = code ? result_called(code) : standard;
        return 1;
    }
    return 0;
}

static void say(const char *format, ...)
{
    if (!log_file)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(log_file, format, arguments);
    va_end(arguments);
}

EXPORT void stand_in_note(const char *reason) { say("  %s\n", reason); }

/* An attribute of the device out of "number=value,number=value"; 0 where it is not listed. */
static int attribute(int number)
{
    const char *at = setting("PTXLAB_STAND_IN_ATTRIBUTES");
    while (*at) {
        char *end;
        long found = strtol(at, &end, 10);
        if (*end != '=')
            break;
        long value = strtol(end + 1, &end, 10);
        if (found == number)
            return (int)value;
        at = *end ? end + 1 : end;
    }
    return 0;
}

static uint64_t memory_bytes(void) { return strtoull(setting("PTXLAB_STAND_IN_MEMORY"), NULL, 10); }

/* -- every call begins here ----------------------------------------------------------------------------------------- */

enum needs {
    NOTHING, /* works after a fault too */
    CONTEXT, /* fails after a fault that was reported */
    RESULTS_OF_KERNELS, /* waits or asks for what was launched: reports a fault */
    NO_CAPTURE, /* besides, is not allowed while this thread records a stream */
};

static CUresult refused(CUresult result)
{
    if (result)
        say("  %s\n", result_name(result));
    return result;
}

static void break_captures(void)
{
    for (int i = 0; i < 8; i++)
        if (captures[i])
            captures[i]->broken = 1;
}

/* Logs a call and decides whether it fails at once. */
static CUresult begin(const char *function, enum needs needs, const char *format, ...)
{
    char name[64];
    snprintf(name, sizeof name, "%s", function);
    char *version = strrchr(name, '_');
    if (version && version[1] == 'v')
        *version = 0;
    if (log_file) {
        char words[256];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(words, sizeof words, format, arguments);
        va_end(arguments);
        say("%s%s%s\n", name, *words ? " " : "", words);
    }
    CUresult result;
    if (rule_applies(0, setting("PTXLAB_STAND_IN_REFUSE"), name, CUDA_ERROR_UNKNOWN, &result))
        return refused(result);
    if (needs == NOTHING)
        return CUDA_SUCCESS;
    if (!sticky && needs >= RESULTS_OF_KERNELS)
        sticky = coming;
    if (sticky)
        return refused(sticky);
    for (int i = 0; needs == NO_CAPTURE && i < 8; i++)
        if (captures[i] && captures[i]->mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
            break_captures();
            return refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
    return CUDA_SUCCESS;
}

#define BEGIN(needs, ...) do { CUresult early = begin(__func__, needs, "" __VA_ARGS__); if (early) return early; } while (0)

static void wait_for_kernels(void)
{
    if (hung)
        say("  waits for ever\n");
    while (hung)
        pause();
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9 - elsewhere;
}

static struct object *create(enum kind kind)
{
    struct object *made = calloc(1, sizeof *made);
    made->kind = kind;
    live_objects[kind - STREAM]++;
    return made;
}

static struct object *known(const void *handle, enum kind kind)
{
    struct object *object = (struct object *)handle;
    return (uintptr_t)object > 0xffff && object->kind == kind ? object : NULL;
}

static CUresult destroy(const void *handle, enum kind kind)
{
    struct object *object = known(handle, kind);
    if (!object)
        return refused(CUDA_ERROR_INVALID_HANDLE);
    object->kind = DEAD;
    live_objects[kind - STREAM]--;
    return CUDA_SUCCESS;
}

/* Whether a stream can be given work: the two default streams are numbers, and a recording that the legacy stream would
   have to wait for ends. `*stream` is NULL for a default stream. */
static CUresult use(CUstream handle, struct object **stream)
{
    *stream = NULL;
    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        for (int i = 0; i < 8; i++)
            if (captures[i] && !(captures[i]->flags & CU_STREAM_NON_BLOCKING)) {
                break_captures();
                return refused(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
            }
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return CUDA_SUCCESS;
    *stream = known(handle, STREAM);
    if (!*stream)
        return refused(CUDA_ERROR_INVALID_HANDLE);
    return CUDA_SUCCESS;
}

/* -- start, device, context ----------------------------------------------------------------------------------------- */

__attribute__((constructor)) static void start(void)
{
    const char *path = setting("PTXLAB_STAND_IN_LOG");
    if (*path && (log_file = fopen(path, "a")))
        setvbuf(log_file, NULL, _IOLBF, 0);
}

__attribute__((destructor)) static void finish(void)
{
    say("at exit: %d launches; alive: %llu allocations (%llu bytes), %d streams, %d events, %d graphs\n", launches,
        (unsigned long long)allocation_count, (unsigned long long)allocated, live_objects[0], live_objects[EVENT - STREAM],
        live_objects[GRAPH - STREAM] + live_objects[EXEC - STREAM]);
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

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) { BEGIN(NOTHING); *bytes = memory_bytes(); return CUDA_SUCCESS; }
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { BEGIN(NOTHING); memset(uuid, 7, sizeof *uuid); return CUDA_SUCCESS; }

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute number, CUdevice device)
{
    BEGIN(NOTHING, "%d", (int)number);
    *value = attribute((int)number);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *primary, CUdevice device) { BEGIN(NOTHING); *primary = PRIMARY; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { BEGIN(NOTHING); return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) { BEGIN(NOTHING); *flags = 0; *active = 1; return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext given) { BEGIN(NOTHING); context = given; return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext *current) { BEGIN(NOTHING); *current = context; return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext given) { BEGIN(NOTHING); context = given; return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext *popped) { BEGIN(NOTHING); if (popped) *popped = context; return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) { BEGIN(NOTHING); *device = 0; return context ? CUDA_SUCCESS : refused(CUDA_ERROR_INVALID_CONTEXT); }
CUresult cuCtxGetId(CUcontext given, unsigned long long *id) { BEGIN(NOTHING); *id = 1; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { BEGIN(NO_CAPTURE); wait_for_kernels(); return CUDA_SUCCESS; }

/* -- memory --------------------------------------------------------------------------------------------------------- */

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
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes) { BEGIN(NO_CAPTURE, "%zu bytes", bytes); return allocate(pointer, bytes); }
CUresult cuMemFree(CUdeviceptr pointer) { BEGIN(NO_CAPTURE, "%#llx", pointer); wait_for_kernels(); return release(pointer); }

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream handle)
{
    struct object *stream;
    BEGIN(CONTEXT, "%zu bytes", bytes);
    CUresult result = use(handle, &stream);
    if (!result && stream && stream->capture) /* a node of the graph on a GPU */
        result = refused(CUDA_ERROR_NOT_SUPPORTED);
    return result ? result : allocate(pointer, bytes);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream handle)
{
    BEGIN(CONTEXT);
    return cuMemAllocAsync(pointer, bytes, handle);
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

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) { BEGIN(NOTHING); *pool = POOL; return CUDA_SUCCESS; }
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) { BEGIN(NOTHING); *pool = POOL; return CUDA_SUCCESS; }
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value) { BEGIN(CONTEXT, "%d", (int)which); return CUDA_SUCCESS; }

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

/* -- events --------------------------------------------------------------------------------------------------------- */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    BEGIN(CONTEXT);
    struct object *made = create(EVENT);
    made->flags = flags;
    *event = (CUevent)made;
    return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream on, unsigned flags)
{
    struct object *stream, *event = known(handle, EVENT);
    BEGIN(CONTEXT);
    CUresult result = event ? use(on, &stream) : refused(CUDA_ERROR_INVALID_HANDLE);
    if (!result && !(stream && stream->capture)) {
        event->time = now();
        event->pending = hung;
    }
    return result;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    BEGIN(CONTEXT);
    return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuEventQuery(CUevent handle)
{
    struct object *event = known(handle, EVENT);
    BEGIN(RESULTS_OF_KERNELS);
    return refused(!event ? CUDA_ERROR_INVALID_HANDLE : event->pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent handle)
{
    struct object *event = known(handle, EVENT);
    BEGIN(RESULTS_OF_KERNELS);
    if (!event)
        return refused(CUDA_ERROR_INVALID_HANDLE);
    if (event->pending)
        wait_for_kernels();
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
    struct object *start = known(from, EVENT), *end = known(to, EVENT);
    BEGIN(RESULTS_OF_KERNELS);
    if (!start || !end || !start->time || !end->time || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return refused(CUDA_ERROR_INVALID_HANDLE);
    if (start->pending || end->pending)
        return refused(CUDA_ERROR_NOT_READY);
    *milliseconds = (float)((end->time - start->time) * 1e3);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) { BEGIN(CONTEXT); return destroy(event, EVENT); }

/* -- streams and their recording ------------------------------------------------------------------------------------ */

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    BEGIN(CONTEXT, "flags %u", flags);
    struct object *made = create(STREAM);
    made->flags = flags;
    *stream = (CUstream)made;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) { BEGIN(CONTEXT); return cuStreamCreateWithPriority(stream, flags, 0); }

static void stop_recording(struct object *stream)
{
    for (int i = 0; i < 8; i++)
        if (captures[i] == stream)
            captures[i] = NULL;
    stream->capture = NULL;
    stream->broken = 0;
}

CUresult cuStreamDestroy(CUstream handle)
{
    BEGIN(CONTEXT);
    struct object *stream = known(handle, STREAM);
    if (stream && stream->capture) {
        destroy(stream->capture, GRAPH);
        stop_recording(stream);
    }
    return destroy(handle, STREAM);
}

CUresult cuStreamSynchronize(CUstream handle)
{
    struct object *stream;
    BEGIN(RESULTS_OF_KERNELS);
    CUresult result = use(handle, &stream);
    if (!result && stream && stream->capture) {
        stream->broken = 1;
        result = refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    if (!result)
        wait_for_kernels();
    return result;
}

CUresult cuStreamQuery(CUstream handle)
{
    struct object *stream;
    BEGIN(RESULTS_OF_KERNELS);
    CUresult result = use(handle, &stream);
    return result ? result : refused(hung ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
    struct object *stream;
    BEGIN(CONTEXT);
    return known(event, EVENT) ? use(handle, &stream) : refused(CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *of) { BEGIN(CONTEXT); *of = PRIMARY; return CUDA_SUCCESS; }
CUresult cuStreamGetDevice(CUstream stream, CUdevice *device) { BEGIN(CONTEXT); *device = 0; return CUDA_SUCCESS; }

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    struct object *stream;
    BEGIN(CONTEXT);
    CUresult result = use(handle, &stream);
    if (!result)
        *flags = stream ? stream->flags : 0;
    return result;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority) { BEGIN(CONTEXT); *priority = 0; return CUDA_SUCCESS; }
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) { BEGIN(CONTEXT); *least = 0; *greatest = -5; return CUDA_SUCCESS; }

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    struct object *stream = known(handle, STREAM); /* the legacy stream cannot be recorded */
    BEGIN(CONTEXT, "mode %d", (int)mode);
    if (!stream)
        return refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    int at = 0;
    while (at < 8 && captures[at])
        at++;
    if (at == 8 || stream->capture)
        return refused(CUDA_ERROR_INVALID_VALUE);
    captures[at] = stream;
    stream->capture = create(GRAPH);
    stream->mode = mode;
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    struct object *stream;
    BEGIN(CONTEXT);
    CUresult result = use(handle, &stream);
    *status = !stream || !stream->capture ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->broken           ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return result;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    struct object *stream = known(handle, STREAM);
    BEGIN(CONTEXT);
    *graph = NULL;
    if (!stream || !stream->capture)
        return refused(CUDA_ERROR_INVALID_VALUE);
    int broken = stream->broken;
    if (broken)
        destroy(stream->capture, GRAPH);
    else
        *graph = (CUgraph)stream->capture;
    stop_recording(stream);
    return refused(broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
}

/* -- code ----------------------------------------------------------------------------------------------------------- */

/* Starts machine.py in the Python that has loaded this library. */
static CUresult start_machine(void)
{
    static const char code[] =
        "import importlib.util as _util, os as _os, sys as _sys\n"
        "_path = _os.path.join(_os.environ['PTXLAB_STAND_IN'], 'machine.py')\n"
        "_spec = _util.spec_from_file_location('ptxlab_stand_in_machine', _path)\n"
        "_sys.modules[_spec.name] = _util.module_from_spec(_spec)\n"
        "_spec.loader.exec_module(_sys.modules[_spec.name])\n"
        "del _util, _os, _sys, _path, _spec\n";
    if (machine.run)
        return CUDA_SUCCESS;
    int (*ensure)(void) = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*leave)(int) = dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int (*run)(const char *, void *) = dlsym(RTLD_DEFAULT, "PyRun_SimpleStringFlags");
    if (!ensure || !leave || !run) {
        fprintf(stderr, "stand-in: kernels run in a Python process only\n");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    int state = ensure();
    run(code, NULL); /* prints what goes wrong */
    leave(state);
    return machine.run ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/* The size of a cubin, an ELF file that ends with its section or its program headers. */
static uint64_t image_size(const unsigned char *image)
{
    uint64_t programs, sections;
    uint16_t sizes[6]; /* header, program header, their number, section header, their number, names */
    if (memcmp(image, "\177ELF\2", 5))
        return 0;
    memcpy(&programs, image + 32, 8);
    memcpy(&sections, image + 40, 8);
    memcpy(sizes, image + 52, sizeof sizes);
    uint64_t end = sections + (uint64_t)sizes[3] * sizes[4], other = programs + (uint64_t)sizes[1] * sizes[2];
    return end > other ? end : other;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options, void **values, unsigned count,
                           CUlibraryOption *library_options, void **library_values, unsigned library_count)
{
    int module = 0;
    BEGIN(NO_CAPTURE);
    uint64_t size = image_size(image);
    CUresult result = size ? start_machine() : CUDA_ERROR_INVALID_IMAGE;
    if (!result)
        result = machine.load(image, size, &module);
    if (result)
        return refused(result);
    struct object *made = create(LIBRARY);
    made->module = module;
    *library = (CUlibrary)made;
    return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library) { BEGIN(CONTEXT); return destroy(library, LIBRARY); }

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name)
{
    struct object *library = known(handle, LIBRARY);
    struct description about = {0};
    BEGIN(CONTEXT, "%s", name);
    CUresult result = library ? machine.describe(library->module, name, &about) : CUDA_ERROR_INVALID_HANDLE;
    if (result)
        return refused(result);
    struct object *made = create(KERNEL);
    made->module = library->module;
    made->library = library;
    made->name = strdup(name);
    made->about = about;
    made->most_shared = (unsigned)about.attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    *kernel = (CUkernel)made;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) { BEGIN(CONTEXT); *module = (CUmodule)library; return CUDA_SUCCESS; }
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) { BEGIN(CONTEXT); *function = (CUfunction)kernel; return CUDA_SUCCESS; }
CUresult cuFuncLoad(CUfunction function) { BEGIN(CONTEXT); return known(function, KERNEL) ? CUDA_SUCCESS : refused(CUDA_ERROR_INVALID_HANDLE); }

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel handle)
{
    struct object *kernel = known(handle, KERNEL);
    BEGIN(CONTEXT);
    if (kernel)
        *library = (CUlibrary)kernel->library;
    return kernel ? CUDA_SUCCESS : refused(CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
    struct object *kernel = known(handle, KERNEL);
    BEGIN(CONTEXT, "%zu", index);
    if (!kernel || index >= (size_t)kernel->about.parameters)
        return refused(CUDA_ERROR_INVALID_VALUE);
    *offset = (size_t)kernel->about.offsets[index];
    if (size)
        *size = (size_t)kernel->about.sizes[index];
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute which, CUkernel handle, CUdevice device)
{
    struct object *kernel = known(handle, KERNEL);
    BEGIN(CONTEXT, "%d", (int)which);
    if (!kernel || (int)which < 0 || (int)which >= 16)
        return refused(CUDA_ERROR_INVALID_VALUE);
    *value = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? (int)kernel->most_shared
                                                                      : kernel->about.attributes[which];
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function) { BEGIN(CONTEXT); return cuKernelGetAttribute(value, which, (CUkernel)function, 0); }

CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel handle, CUdevice device)
{
    struct object *kernel = known(handle, KERNEL);
    BEGIN(CONTEXT, "%d = %d", (int)which, value);
    if (!kernel)
        return refused(CUDA_ERROR_INVALID_HANDLE);
    if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        int most = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
                   - kernel->about.attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
        if (value < 0 || value > most)
            return refused(CUDA_ERROR_INVALID_VALUE);
        kernel->most_shared = (unsigned)value;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) { BEGIN(CONTEXT); return cuKernelSetAttribute(which, value, (CUkernel)function, 0); }

/* -- launches ------------------------------------------------------------------------------------------------------- */

/* Runs a kernel now. Its fault is reported by a later call: the next one, or the next that waits. */
static CUresult run(const struct launch *launch)
{
    CUresult result;
    launches++;
    if (coming || hung)
        return CUDA_SUCCESS; /* it waits behind one that is stuck */
    if (rule_applies(1, setting("PTXLAB_STAND_IN_HANG"), launch->kernel, CUDA_SUCCESS, &result)) {
        hung = 1;
        say("  never ends\n");
        return CUDA_SUCCESS;
    }
    if (!rule_applies(1, setting("PTXLAB_STAND_IN_FAIL"), launch->kernel, CUDA_ERROR_ILLEGAL_ADDRESS, &result)) {
        double seconds = 0, before = now();
        pthread_mutex_lock(&lock);
        uint64_t count = allocation_count;
        struct allocation *live = malloc((count + 1) * sizeof *live);
        memcpy(live, allocations, count * sizeof *live);
        running++;
        pthread_mutex_unlock(&lock);
        result = machine.run(launch, live, count, &seconds);
        pthread_mutex_lock(&lock);
        running--;
        pthread_mutex_unlock(&lock);
        free(live);
        elsewhere += now() - before - seconds; /* translating the kernel takes no time on the device */
    }
    if (result == CUDA_ERROR_NOT_READY) {
        hung = 1;
        say("  never ends\n");
        return CUDA_SUCCESS;
    }
    if (result == CUDA_ERROR_NOT_SUPPORTED) /* the CPU machine cannot do it, which is no fault of the kernel */
        return refused(result);
    if (result) {
        coming = result;
        say("  will be %s\n", result_name(result));
        if (!strcmp(setting("PTXLAB_STAND_IN_REPORTS"), "early"))
            sticky = coming;
    }
    return CUDA_SUCCESS;
}

static CUresult read_attributes(const CUlaunchConfig *config, struct launch *launch)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &config->attrs[i].value;
        switch ((int)config->attrs[i].id) {
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            launch->cluster[0] = value->clusterDim.x;
            launch->cluster[1] = value->clusterDim.y;
            launch->cluster[2] = value->clusterDim.z;
            break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            launch->cooperative = value->cooperative != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_IGNORE: /* these change how fast it goes, not what it does */
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
            break;
        default:
            say("  launch attribute %d is not known\n", (int)config->attrs[i].id);
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    struct object *stream, *kernel = known(function, KERNEL);
    const CUlaunchConfig *c = config;
    BEGIN(CONTEXT, "%s grid %u,%u,%u block %u,%u,%u shared %u attributes %u", kernel ? kernel->name : "?", c->gridDimX,
          c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes, c->numAttrs);
    if (!kernel)
        return refused(CUDA_ERROR_INVALID_HANDLE);
    if (extra || (kernel->about.parameters && !parameters))
        return refused(CUDA_ERROR_INVALID_VALUE);
    CUresult result = use(c->hStream, &stream);
    if (result)
        return result;
    struct launch launch = {
        .module = kernel->module, .kernel = kernel->name, .shared = c->sharedMemBytes, .most_shared = kernel->most_shared,
        .grid = {c->gridDimX, c->gridDimY, c->gridDimZ}, .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
        .bytes = (uint64_t)kernel->about.bytes,
    };
    if (!(result = read_attributes(config, &launch)))
        result = machine.check(&launch);
    if (result)
        return refused(result);
    unsigned char *block = calloc(1, launch.bytes + 1);
    for (int i = 0; i < kernel->about.parameters; i++)
        memcpy(block + kernel->about.offsets[i], parameters[i], (size_t)kernel->about.sizes[i]);
    launch.parameters = block;
    if (stream && stream->capture) {
        struct object *graph = stream->capture;
        graph->nodes = realloc(graph->nodes, (graph->count + 1) * sizeof launch);
        graph->nodes[graph->count++] = launch; /* and keeps its parameters */
        return CUDA_SUCCESS;
    }
    result = run(&launch);
    free(block);
    return result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **parameters, void **extra)
{
    CUlaunchConfig config = {.gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by,
                             .blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream};
    BEGIN(CONTEXT);
    return cuLaunchKernelEx(&config, function, parameters, extra);
}

/* -- graphs --------------------------------------------------------------------------------------------------------- */

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph handle, unsigned long long flags)
{
    struct object *graph = known(handle, GRAPH);
    BEGIN(CONTEXT);
    if (!graph)
        return refused(CUDA_ERROR_INVALID_VALUE);
    struct object *made = create(EXEC);
    made->nodes = graph->nodes; /* nobody changes them, and their memory stays */
    made->count = graph->count;
    *exec = (CUgraphExec)made;
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream on)
{
    struct object *stream, *exec = known(handle, EXEC);
    BEGIN(CONTEXT);
    CUresult result = exec ? use(on, &stream) : refused(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; !result && i < exec->count; i++)
        result = run(exec->nodes + i);
    return result;
}

CUresult cuGraphDestroy(CUgraph graph) { BEGIN(CONTEXT); return destroy(graph, GRAPH); }
CUresult cuGraphExecDestroy(CUgraphExec exec) { BEGIN(CONTEXT); return destroy(exec, EXEC); }

/* -- the table ------------------------------------------------------------------------------------------------------ */

/* The name is taken before cuda.h's macro turns it into the version that is exported. */
#define FUNCTION(name) {#name, (void *)name}
static const struct { const char *name; void *function; } functions[] = {
    FUNCTION(cuInit), FUNCTION(cuDriverGetVersion), FUNCTION(cuGetErrorName), FUNCTION(cuGetErrorString),
    FUNCTION(cuGetProcAddress),
    FUNCTION(cuDeviceGetCount), FUNCTION(cuDeviceGet), FUNCTION(cuDeviceGetName), FUNCTION(cuDeviceTotalMem),
    FUNCTION(cuDeviceGetUuid), FUNCTION(cuDeviceGetAttribute), FUNCTION(cuDevicePrimaryCtxRetain),
    FUNCTION(cuDevicePrimaryCtxRelease), FUNCTION(cuDevicePrimaryCtxGetState),
    FUNCTION(cuCtxSetCurrent), FUNCTION(cuCtxGetCurrent), FUNCTION(cuCtxPushCurrent), FUNCTION(cuCtxPopCurrent),
    FUNCTION(cuCtxGetDevice), FUNCTION(cuCtxGetId), FUNCTION(cuCtxSynchronize), FUNCTION(cuCtxGetStreamPriorityRange),
    FUNCTION(cuMemAlloc), FUNCTION(cuMemFree), FUNCTION(cuMemAllocAsync), FUNCTION(cuMemAllocFromPoolAsync),
    FUNCTION(cuMemFreeAsync), FUNCTION(cuMemcpyHtoD), FUNCTION(cuMemcpyDtoH), FUNCTION(cuMemcpyDtoDAsync),
    FUNCTION(cuMemsetD8Async), FUNCTION(cuMemGetInfo), FUNCTION(cuDeviceGetDefaultMemPool), FUNCTION(cuDeviceGetMemPool),
    FUNCTION(cuMemPoolSetAttribute), FUNCTION(cuMemPoolGetAttribute), FUNCTION(cuPointerGetAttribute),
    FUNCTION(cuEventCreate), FUNCTION(cuEventRecord), FUNCTION(cuEventRecordWithFlags), FUNCTION(cuEventQuery),
    FUNCTION(cuEventSynchronize), FUNCTION(cuEventElapsedTime), FUNCTION(cuEventDestroy),
    FUNCTION(cuStreamCreate), FUNCTION(cuStreamCreateWithPriority), FUNCTION(cuStreamDestroy), FUNCTION(cuStreamQuery),
    FUNCTION(cuStreamSynchronize), FUNCTION(cuStreamWaitEvent), FUNCTION(cuStreamGetCtx), FUNCTION(cuStreamGetDevice),
    FUNCTION(cuStreamGetFlags), FUNCTION(cuStreamGetPriority), FUNCTION(cuStreamBeginCapture),
    FUNCTION(cuStreamIsCapturing), FUNCTION(cuStreamEndCapture),
    FUNCTION(cuLibraryLoadData), FUNCTION(cuLibraryUnload), FUNCTION(cuLibraryGetKernel), FUNCTION(cuLibraryGetModule),
    FUNCTION(cuKernelGetFunction), FUNCTION(cuKernelGetLibrary), FUNCTION(cuKernelGetParamInfo),
    FUNCTION(cuKernelGetAttribute), FUNCTION(cuKernelSetAttribute), FUNCTION(cuFuncLoad), FUNCTION(cuFuncGetAttribute),
    FUNCTION(cuFuncSetAttribute), FUNCTION(cuLaunchKernel), FUNCTION(cuLaunchKernelEx),
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
