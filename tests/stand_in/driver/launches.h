/* Launches, now or as nodes of a graph. */

/* -- launches ------------------------------------------------------------------------------------------------------ */

/* Runs a kernel now. Its fault is reported by a later call: the next one, or the next that waits. */
static CUresult run(const struct launch *launch)
{
    CUresult result;
    launches++;
    if (coming || hung)
        return CUDA_SUCCESS; /* it waits behind one that is stuck */
    if (rule_applies(HANG, setting("PTXLAB_STAND_IN_HANG"), launch->kernel, CUDA_SUCCESS, &result)) {
        hung = 1;
        say("  never ends\n");
        return CUDA_SUCCESS;
    }
    if (!rule_applies(FAIL, setting("PTXLAB_STAND_IN_FAIL"), launch->kernel, CUDA_ERROR_ILLEGAL_ADDRESS, &result)) {
        double seconds = 0, before = now();
        pthread_mutex_lock(&lock);
        uint64_t count = allocation_count;
        struct allocation *live = malloc((count + 1) * sizeof *live);
        memcpy(live, allocations, count * sizeof *live);
        running++;
        pthread_mutex_unlock(&lock);
        result = answer(machine.run(launch, live, count, &seconds));
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
    if (result == CUDA_ERROR_NOT_SUPPORTED) /* the emulator cannot do it, which is no fault of the kernel */
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

static CUresult launch_kernel(const CUlaunchConfig *c, const void *function, void **parameters, void **extra)
{
    struct object *stream, *kernel = known(function, KERNEL);
    say("  %s grid %u,%u,%u block %u,%u,%u shared %u attributes %u\n", kernel ? kernel->name : "?", c->gridDimX,
        c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes, c->numAttrs);
    if (!kernel)
        return refused(CUDA_ERROR_INVALID_HANDLE);
    if (extra || (kernel->about.parameters && !parameters))
        return refused(CUDA_ERROR_INVALID_VALUE);
    CUresult result = use(c->hStream, &stream);
    if (result)
        return result;
    struct launch launch = {
        .module = kernel->module, .kernel = kernel->name,
        .shared = c->sharedMemBytes, .most_shared = kernel->most_shared,
        .grid = {c->gridDimX, c->gridDimY, c->gridDimZ}, .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
        .bytes = (uint64_t)kernel->about.bytes,
    };
    if (!(result = read_attributes(c, &launch)))
        result = answer(machine.check(&launch));
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

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra)
{
    CUlaunchConfig config = {.gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by,
                             .blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream};
    BEGIN(CONTEXT);
    return launch_kernel(&config, function, parameters, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    BEGIN(CONTEXT);
    return launch_kernel(config, function, parameters, extra);
}

/* -- graphs -------------------------------------------------------------------------------------------------------- */

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
