/* Events, streams, and the recording of a stream. */

/* -- events -------------------------------------------------------------------------------------------------------- */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    BEGIN(CONTEXT);
    struct object *made = create(EVENT);
    made->flags = flags;
    *event = (CUevent)made;
    return CUDA_SUCCESS;
}

static CUresult record(CUevent handle, CUstream on)
{
    struct object *stream, *event = known(handle, EVENT);
    CUresult result = event ? use(on, &stream) : refused(CUDA_ERROR_INVALID_HANDLE);
    if (!result && !(stream && stream->capture)) {
        event->time = now();
        event->pending = hung;
    }
    return result;
}

CUresult cuEventRecord(CUevent event, CUstream stream) { BEGIN(CONTEXT); return record(event, stream); }

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    BEGIN(CONTEXT);
    return record(event, stream);
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

/* -- streams and their recording ----------------------------------------------------------------------------------- */

static CUresult create_stream(CUstream *stream, unsigned flags)
{
    struct object *made = create(STREAM);
    made->flags = flags;
    *stream = (CUstream)made;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    BEGIN(CONTEXT, "flags %u", flags);
    return create_stream(stream, flags);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    BEGIN(CONTEXT, "flags %u", flags);
    return create_stream(stream, flags);
}

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

CUresult cuStreamGetCtx(CUstream stream, CUcontext *of)
{
    BEGIN(CONTEXT);
    *of = PRIMARY;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    BEGIN(CONTEXT);
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    struct object *stream;
    BEGIN(CONTEXT);
    CUresult result = use(handle, &stream);
    if (!result)
        *flags = stream ? stream->flags : 0;
    return result;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    BEGIN(CONTEXT);
    *priority = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    BEGIN(CONTEXT);
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}

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
