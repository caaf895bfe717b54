/* A small libnvidia-ml.so.1: two GPUs whose values the environment sets, for tests of the sampler.
   Structures are laid out as in NVIDIA's nvml.h, as far as the sampler uses them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int index; } *Device;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned long long total, free, used; } Memory;
typedef union { double d; unsigned ui; unsigned long ul; unsigned long long ull; long long sll; int si; unsigned short us; } Value;
typedef struct { unsigned fieldId, scopeId; long long timestamp, latencyUsec; unsigned valueType, nvmlReturn; Value value; } FieldValue;
typedef struct { unsigned pid; unsigned long long used; unsigned gpuInstance, computeInstance; } Process;
typedef struct { unsigned version, isSupported; } GpmSupport;
typedef struct { char *shortName, *longName, *unit; } MetricInfo;
typedef struct { unsigned metricId, nvmlReturn; double value; MetricInfo info; } GpmMetric;
typedef struct { unsigned version, numMetrics; void *sample1, *sample2; GpmMetric metrics[]; } GpmMetrics;

enum { OK = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15, UNKNOWN = 999 };
static struct { int index; } devices[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
static unsigned long long calls;

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}
/* From the given call on, everything fails as after the loss of a GPU. */
static int lost(void) {
    int from = number("FAKE_NVML_LOST_FROM", 0);
    return from && ++calls > (unsigned long long)from;
}

/* Benchmarks ask for values that change as those of a busy GPU do. */
static unsigned noise(unsigned most) { return number("FAKE_NVML_NOISE", 0) ? rand() % most : 0; }

int nvmlInit_v2(void) { return number("FAKE_NVML_INIT", OK); }
int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
    return code == NOT_SUPPORTED ? "Not Supported" : code == GPU_IS_LOST ? "GPU is lost"
         : code == 4 ? "Insufficient Permissions" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char *text, unsigned n) { snprintf(text, n, "550.1"); return OK; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = number("FAKE_NVML_GPUS", 2); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, Device *d) { *d = (Device)&devices[i]; return OK; }
int nvmlDeviceGetUUID(Device d, char *text, unsigned n) { snprintf(text, n, "GPU-fake-%d", d->index); return OK; }
int nvmlDeviceGetName(Device d, char *text, unsigned n) { snprintf(text, n, "Fake GPU"); return OK; }
int nvmlDeviceGetUtilizationRates(Device d, Utilization *u) {
    if (lost()) return GPU_IS_LOST;
    u->gpu = 70 + d->index + noise(15); u->memory = 30 + noise(20); return OK;
}
int nvmlDeviceGetMemoryInfo(Device d, Memory *m) {
    m->total = 80ull << 30; m->used = 20ull << 30; m->free = 60ull << 30; return OK;
}
int nvmlDeviceGetPowerUsage(Device d, unsigned *mw) { if (lost()) return GPU_IS_LOST; *mw = 312500 + noise(200000); return OK; }
int nvmlDeviceGetClockInfo(Device d, unsigned kind, unsigned *mhz) { *mhz = kind == 1 ? 1980 - 15 * noise(8) : 2619; return OK; }
int nvmlDeviceGetTemperature(Device d, unsigned sensor, unsigned *c) {
    if (number("FAKE_NVML_NO_TEMPERATURE", 0)) return NOT_SUPPORTED;
    *c = 61 + noise(3); return OK;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Device d, unsigned long long *r) { *r = 0x4 | 0x20; return OK; }
int nvmlDeviceGetFieldValues(Device d, int n, FieldValue *values) {
    static unsigned long long count;
    if (d->index == 0) count += 1 + noise(1000);
    for (int i = 0; i < n; i++) {
        FieldValue *v = &values[i];
        v->nvmlReturn = OK; v->valueType = 3;
        if (v->fieldId == 83) v->value.ull = 5000000 + 1000 * count;             /* energy, mJ */
        else if (v->fieldId == 197) v->value.ull = 1000000 * count;               /* PCIe out */
        else if (v->fieldId == 198) v->value.ull = 2000000 * count;               /* PCIe in */
        else v->nvmlReturn = NOT_SUPPORTED;                                       /* NVLink */
    }
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device d, unsigned *n, Process *p) {
    const char *text = getenv(d->index ? "FAKE_NVML_PIDS_1" : "FAKE_NVML_PIDS_0");
    unsigned found = 0, room = *n, pids[16];
    if (!text) { *n = 0; return OK; }
    char copy[256]; snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok(copy, ","); w && found < 16; w = strtok(NULL, ",")) pids[found++] = atoi(w);
    *n = found;
    if (found > room || !p) return found ? INSUFFICIENT_SIZE : OK;
    for (unsigned i = 0; i < found; i++) { memset(&p[i], 0, sizeof p[i]); p[i].pid = pids[i]; }
    return OK;
}
int nvmlGpmQueryDeviceSupport(Device d, GpmSupport *s) { s->isSupported = number("FAKE_NVML_GPM", 1); return OK; }
int nvmlGpmSampleAlloc(void **sample) { *sample = malloc(8); return OK; }
int nvmlGpmSampleFree(void *sample) { free(sample); return OK; }
int nvmlGpmSampleGet(Device d, void *sample) { if (lost()) return GPU_IS_LOST; return OK; }
int nvmlGpmMetricsGet(GpmMetrics *m) {
    for (unsigned i = 0; i < m->numMetrics; i++) {
        m->metrics[i].nvmlReturn = OK;
        m->metrics[i].value = m->metrics[i].metricId + noise(10000) / 500.0;   /* SM 2, tensor 5, DRAM 10, NVLink 60, 61 */
    }
    return OK;
}
