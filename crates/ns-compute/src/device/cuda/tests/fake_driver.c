// A stand-in for NVIDIA's driver library, for tests on machines without a GPU: memory is the host's, and work of
// streams waits in one queue until somebody waits for it, so that memory reused too early is noticed.
//
// FAKE_CUDA says how it behaves: see `scenario` below.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
       UNSUPPORTED_PTX = 222, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, UNAVAILABLE = 46 };

// "old": a driver of CUDA 11.4. "empty": no device. "busy": the GPU is taken. "small": 1 MiB of memory.
// "text": machine code is refused. "deaf": all code is refused. "broken": a kernel fails. "crowded": there is no memory for
// code at first. "slow": a little shared memory is allowed after a while.
static int scenario(const char* name) {
    const char* set = getenv("FAKE_CUDA");
    return set && strcmp(set, name) == 0;
}

static int current, retained, broken;
static size_t taken;
static const size_t CONTEXT = 0x77, STREAM = 0x550, EVENT = 0x900;

#define IN_CONTEXT if (current <= 0) return INVALID_CONTEXT; if (broken) return ILLEGAL_ADDRESS;

int cuDriverGetVersion(int* version) { *version = scenario("old") ? 11040 : 13000; return OK; }
int cuInit(unsigned flags) { (void)flags; return scenario("empty") ? NO_DEVICE : OK; }
int cuDeviceGetCount(int* count) { *count = 2; return OK; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return OK; }
int cuDeviceGetName(char* name, int length, int device) {
    snprintf(name, (size_t)length, device == 0 ? "Fake GPU" : "Old GPU");
    return OK;
}
static size_t memory(void) { return scenario("small") ? 1 << 20 : (size_t)1 << 34; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { (void)device; *bytes = memory(); return OK; }
int cuDeviceGetAttribute(int* value, int which, int device) {
    switch (which) {
        case 16: *value = 132; return OK;
        case 75: *value = device == 0 ? 9 : 6; return OK;
        case 76: *value = device == 0 ? 0 : 1; return OK;
        case 81: *value = 233472; return OK;
        case 97: *value = 232448; return OK;
        default: return INVALID;
    }
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    (void)device;
    if (scenario("busy")) return UNAVAILABLE;
    retained++;
    *context = (void*)CONTEXT;
    return OK;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    if (--retained == 0) broken = 0;
    return OK;
}
int cuCtxPushCurrent_v2(void* context) { current += context == (void*)CONTEXT; return OK; }
int cuCtxPopCurrent_v2(void** context) { *context = (void*)CONTEXT; current--; return OK; }
static void finish(void);
int cuCtxSynchronize(void) { IN_CONTEXT finish(); return OK; }
// Streams and events that exist, by their handles.
static char streams[8], events[64];
static int make(void** handle, char* of, int n, size_t first) {
    for (int i = 0; i < n; i++) {
        if (!of[i]) {
            of[i] = 1;
            *handle = (void*)(first + i);
            return OK;
        }
    }
    return OUT_OF_MEMORY;
}
static int exists(const void* handle, const char* of, int n, size_t first) {
    size_t i = (size_t)handle - first;
    return i < (size_t)n && of[i];
}
#define A_STREAM(stream) if (!exists(stream, streams, 8, STREAM)) return INVALID;
#define AN_EVENT(event) if (!exists(event, events, 64, EVENT)) return INVALID;
int cuStreamCreate(void** stream, unsigned flags) { IN_CONTEXT (void)flags; return make(stream, streams, 8, STREAM); }

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
    IN_CONTEXT
    *total = memory();
    *free_bytes = *total - taken;
    return OK;
}
// The size is kept in front of the memory.
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
    IN_CONTEXT
    if (taken + bytes > memory()) return OUT_OF_MEMORY;
    char* block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    *(size_t*)block = bytes;
    taken += bytes;
    *address = (uint64_t)(block + 256);
    return OK;
}

// Work that waits.
static struct Work { void* to; const void* from; size_t bytes; int fill; } queue[4096];
static int waiting;
static void finish(void) {
    for (int i = 0; i < waiting; i++) {
        if (queue[i].from) memcpy(queue[i].to, queue[i].from, queue[i].bytes);
        else memset(queue[i].to, queue[i].fill, queue[i].bytes);
    }
    waiting = 0;
}
static int push(struct Work work) {
    if (waiting == 4096) finish();
    queue[waiting++] = work;
    return OK;
}
int cuMemFree_v2(uint64_t address) {
    IN_CONTEXT
    finish();
    taken -= *(size_t*)(address - 256);
    free((char*)address - 256);
    return OK;
}

// Page-locked memory, by address.
static struct { char* start; size_t bytes; } locked[16];
static int n_locked;
int cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
    IN_CONTEXT
    (void)flags;
    *address = locked[n_locked].start = malloc(bytes);
    locked[n_locked++].bytes = bytes;
    return OK;
}
int cuMemFreeHost(void* address) {
    IN_CONTEXT
    // Whoever frees memory has waited for all that uses it.
    if (waiting) return INVALID;
    for (int i = 0; i < n_locked; i++) {
        if (locked[i].start == address) {
            free(address);
            locked[i] = locked[--n_locked];
            return OK;
        }
    }
    return INVALID;
}
static int is_locked(const void* address) {
    for (int i = 0; i < n_locked; i++) {
        if ((const char*)address >= locked[i].start && (const char*)address < locked[i].start + locked[i].bytes) return 1;
    }
    return 0;
}
static int copy(void* to, const void* from, size_t bytes, const void* host, const void* stream) {
    IN_CONTEXT
    A_STREAM(stream)
    push((struct Work){to, from, bytes, 0});
    if (!is_locked(host)) finish();
    return OK;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
    return copy((void*)to, from, bytes, from, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
    return copy(to, (void*)from, bytes, to, stream);
}
int cuEventCreate(void** event, unsigned flags) { IN_CONTEXT (void)flags; return make(event, events, 64, EVENT); }
int cuEventRecord(void* event, void* stream) { IN_CONTEXT AN_EVENT(event) A_STREAM(stream) return OK; }
int cuEventSynchronize(void* event) { IN_CONTEXT AN_EVENT(event) finish(); return OK; }
int cuEventDestroy_v2(void* event) { IN_CONTEXT AN_EVENT(event) events[(size_t)event - EVENT] = 0; return OK; }
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
    IN_CONTEXT A_STREAM(stream) AN_EVENT(event)
    return flags ? INVALID : OK;
}
int cuStreamSynchronize(void* stream) { IN_CONTEXT A_STREAM(stream) finish(); return OK; }
int cuStreamDestroy_v2(void* stream) { IN_CONTEXT A_STREAM(stream) finish(); streams[(size_t)stream - STREAM] = 0; return OK; }

static const char* kernels[] = {"ns_fit", "ns_fit_global", "ns_fit_own", "ns_evaluate", "ns_evaluate_global", "ns_covariance", "ns_draw",
                                "ns_differentiate", "ns_differentiate_global", "ns_differentiate_changing",
                                "ns_differentiate_changing_global", "ns_event_sums", "ns_event_totals",
                                "ns_event_toys", "ns_event_toys_global", "ns_event_draw", "ns_event_place",
                                "ns_flow_nll_reduce", "ns_flow_batch_nll_reduce"};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };
static int allowed[N_KERNELS];
int cuModuleLoadData(void** module, const void* image) {
    IN_CONTEXT
    int text = memcmp(image, "\x7f" "ELF", 4) != 0;
    // Text must end.
    if (text && strlen(image) == 0) return INVALID;
    if (scenario("deaf")) return text ? UNSUPPORTED_PTX : INVALID_IMAGE;
    if (scenario("text") && !text) return INVALID_IMAGE;
    static int crowded = 1;
    if (scenario("crowded") && crowded) {
        crowded = 0;
        return OUT_OF_MEMORY;
    }
    *module = (void*)image;
    return OK;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
    IN_CONTEXT
    (void)module;
    for (int i = 0; i < N_KERNELS; i++) {
        if (strcmp(name, kernels[i]) == 0) {
            *function = &allowed[i];
            return OK;
        }
    }
    return NOT_FOUND;
}
int cuFuncSetAttribute(void* function, int which, int value) {
    IN_CONTEXT
    if (scenario("slow") && which == 8 && value < 100000) usleep(200000);
    if (which == 8) *(int*)function = value;
    return which == 8 || (which == 9 && value == 100) ? OK : INVALID;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, size_t shared) {
    IN_CONTEXT
    if (shared > 49152 && shared > (size_t)*(int*)function) return INVALID;
    *blocks = shared ? (int)(233472 / (shared + 1024)) : 2048 / threads;
    return OK;
}
// Every kernel here writes a byte many times: the parameter is an address, a number of bytes, and the byte.
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void** extra) {
    IN_CONTEXT
    if (extra || !gx || gy != 1 || gz != 1 || !bx || by != 1 || bz != 1) return INVALID;
    A_STREAM(stream)
    if (shared > 49152 && shared > (unsigned)*(int*)function) return INVALID;
    if (scenario("broken")) {
        broken = 1;
        return OK;
    }
    uint64_t* parameter = parameters[0];
    return push((struct Work){(void*)parameter[0], 0, parameter[1], (int)parameter[2]});
}
