/* What all of the stand-in shares: its state, the wishes of the environment, and how every call begins. */

#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
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
    CUresult (*variable)(int module, const char *name, struct allocation *);
};

static struct machine machine;
EXPORT void stand_in_register(const struct machine *given) { machine = *given; }

/* What machine.py returns for Ctrl-C: the program gets its signal again, once it is back in Python. */
#define INTERRUPTED ((CUresult)-1)

static CUresult answer(CUresult result)
{
    if (result != INTERRUPTED)
        return result;
    raise(SIGINT);
    return CUDA_ERROR_NOT_READY;
}

/* -- the state ----------------------------------------------------------------------------------------------------- */

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
static struct allocation variables[256];                 /* of modules: those last asked for */
static int running;                                      /* kernels on the emulator */
static double elsewhere;                                 /* seconds on the host that the device's clock leaves out */
static int hung;                                         /* a kernel never ends */
static CUresult coming, sticky;                          /* a kernel's error, before and after it is reported */
static __thread CUcontext context;
static __thread struct object *captures[8];              /* this thread's streams that record */
static int launches, live_objects[DEAD - STREAM];
static FILE *log_file;

static CUcontext const PRIMARY = (CUcontext)0x1000;
static CUmemoryPool const POOL = (CUmemoryPool)0x2000;

/* -- results by name ----------------------------------------------------------------------------------------------- */

#define RESULT(code) {code, #code}
static const struct { CUresult code; const char *name; } results[] = {
    RESULT(CUDA_SUCCESS), RESULT(CUDA_ERROR_INVALID_VALUE), RESULT(CUDA_ERROR_OUT_OF_MEMORY),
    RESULT(CUDA_ERROR_NOT_INITIALIZED), RESULT(CUDA_ERROR_DEINITIALIZED), RESULT(CUDA_ERROR_NO_DEVICE),
    RESULT(CUDA_ERROR_INVALID_DEVICE), RESULT(CUDA_ERROR_INVALID_IMAGE), RESULT(CUDA_ERROR_INVALID_CONTEXT),
    RESULT(CUDA_ERROR_NO_BINARY_FOR_GPU), RESULT(CUDA_ERROR_ECC_UNCORRECTABLE), RESULT(CUDA_ERROR_INVALID_PTX),
    RESULT(CUDA_ERROR_UNSUPPORTED_PTX_VERSION), RESULT(CUDA_ERROR_INVALID_SOURCE), RESULT(CUDA_ERROR_INVALID_HANDLE),
    RESULT(CUDA_ERROR_NOT_FOUND), RESULT(CUDA_ERROR_NOT_READY), RESULT(CUDA_ERROR_ILLEGAL_ADDRESS),
    RESULT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES), RESULT(CUDA_ERROR_LAUNCH_TIMEOUT),
    RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED),
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

/* -- the environment's wishes -------------------------------------------------------------------------------------- */

static const char *setting(const char *name) { const char *value = getenv(name); return value ? value : ""; }

/* A rule "pattern=RESULT@n" (both later parts optional): applies from the n-th match on. Found anew in each call, since
   only its count has to be kept. */
#define RULES 32
enum { REFUSE, FAIL, HANG };
static int rule_counts[HANG + 1][RULES];

static int rule_applies(int set, const char *rules, const char *name, CUresult standard, CUresult *result)
{
    char copy[2048], *rest = copy, *rule;
    if (!*rules)
        return 0;
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

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
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

/* -- every call begins here ---------------------------------------------------------------------------------------- */

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
    if (rule_applies(REFUSE, setting("PTXLAB_STAND_IN_REFUSE"), name, CUDA_ERROR_UNKNOWN, &result))
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

#define BEGIN(needs, ...)                                        \
    do {                                                         \
        CUresult early = begin(__func__, needs, "" __VA_ARGS__); \
        if (early)                                               \
            return early;                                        \
    } while (0)

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
