/* Cubins and their kernels, which machine.py knows. */

/* Imports machine.py in the Python that has loaded this library; Python's own lock makes a second thread wait. */
static CUresult start_machine(void)
{
    static const char code[] =
        "(lambda path, place: (path.append(place), __import__('stand_in.machine'), path.remove(place)))("
        "__import__('sys').path, __import__('os').path.dirname(__import__('os').environ['PTXLAB_STAND_IN']))";
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

/* The size of a cubin, an ELF file that ends with its section or its program headers, or of PTX, which ends with 0. */
static uint64_t image_size(const unsigned char *image)
{
    uint64_t programs, sections;
    uint16_t sizes[6]; /* header, program header, their number, section header, their number, names */
    if (memcmp(image, "\177ELF\2", 5))
        return strstr((const char *)image, ".version") ? strlen((const char *)image) : 0;
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
    if (size && memcmp(image, "\177ELF", 4))
        say("  PTX\n");
    CUresult result = size ? start_machine() : CUDA_ERROR_INVALID_IMAGE;
    if (!result)
        result = answer(machine.load(image, size, &module));
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
    CUresult result = library ? answer(machine.describe(library->module, name, &about)) : CUDA_ERROR_INVALID_HANDLE;
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

CUresult cuLibraryGetGlobal(CUdeviceptr *pointer, size_t *bytes, CUlibrary handle, const char *name)
{
    struct object *library = known(handle, LIBRARY);
    struct allocation found;
    static unsigned next;
    BEGIN(CONTEXT, "%s", name);
    CUresult result = library ? answer(machine.variable(library->module, name, &found)) : CUDA_ERROR_INVALID_HANDLE;
    if (result)
        return refused(result);
    variables[next++ % 256] = found;
    *pointer = found.address;
    *bytes = found.size;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    BEGIN(CONTEXT);
    *module = (CUmodule)library;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    BEGIN(CONTEXT);
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
    BEGIN(CONTEXT);
    return known(function, KERNEL) ? CUDA_SUCCESS : refused(CUDA_ERROR_INVALID_HANDLE);
}

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

static CUresult get_attribute(int *value, CUfunction_attribute which, const void *handle)
{
    struct object *kernel = known(handle, KERNEL);
    if (!kernel || (int)which < 0 || (int)which >= 16)
        return refused(CUDA_ERROR_INVALID_VALUE);
    *value = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? (int)kernel->most_shared
                                                                      : kernel->about.attributes[which];
    return CUDA_SUCCESS;
}

static CUresult set_attribute(CUfunction_attribute which, int value, const void *handle)
{
    struct object *kernel = known(handle, KERNEL);
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

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute which, CUkernel kernel, CUdevice device)
{
    BEGIN(CONTEXT, "%d", (int)which);
    return get_attribute(value, which, kernel);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function)
{
    BEGIN(CONTEXT, "%d", (int)which);
    return get_attribute(value, which, function);
}

CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel kernel, CUdevice device)
{
    BEGIN(CONTEXT, "%d = %d", (int)which, value);
    return set_attribute(which, value, kernel);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value)
{
    BEGIN(CONTEXT, "%d = %d", (int)which, value);
    return set_attribute(which, value, function);
}
