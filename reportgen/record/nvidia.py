"""NVIDIA's GPUs, as NVML counts them. No call that waits: rates come from counters or from GPM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reportgen.record.readings import Rates, Reading

Values = Iterable[tuple[str, float]]
"""(dimension, value) of one GPU."""

_MOST_FAILURES = 3
"""A call that fails so often in a row is not made again."""
_KIB, _MIB = 1 << 10, 1 << 20
_MILLI = 1e-3
_ALL_LINKS = 0xFFFFFFFF
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Where the union of a field's value holds it, by its type."""


@dataclass(slots=True, kw_only=True)
class Gpu:
    """One GPU: its number in the driver's order, what it is, and how it is asked."""

    index: int
    uuid: str
    name: str
    memory_bytes: int
    handle: Any
    probes: list[tuple[str, Callable[[Gpu, int], Values]]] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    gpm_before: Any = None
    gpm_after: Any = None


def open_gpus() -> tuple[NvidiaGpus | None, list[str]]:
    """Return the GPUs of this machine, and what to say where none can be sampled."""
    try:
        return NvidiaGpus(), []
    except ImportError:
        return None, ["GPUs (nvidia-ml-py is not installed)"]
    except RuntimeError as err:
        return None, [f"GPUs ({err})"]


class NvidiaGpus:
    """All GPUs that NVML shows; ``missing`` names what could not be read."""

    def __init__(self) -> None:
        """Find the GPUs.

        Raises:
            ImportError: nvidia-ml-py is not installed.
            RuntimeError: there is no driver, or it answers with an error.
        """
        import pynvml

        self._nvml: Any = pynvml
        self.missing: list[str] = []
        self._rates = Rates()
        try:
            pynvml.nvmlInit()
            self.driver = str(pynvml.nvmlSystemGetDriverVersion())
            n_gpus = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as err:
            raise RuntimeError(str(err)) from err
        self.gpus = [gpu for index in range(n_gpus) if (gpu := self._open(index)) is not None]

    def read(self, now_ns: int) -> list[Reading]:
        """Return the samples of a tick; what fails is left out, at last for good."""
        readings: list[Reading] = []
        for gpu in self.gpus:
            name = f"gpu{gpu.index}"
            for probe in list(gpu.probes):
                for dimension, value in self._ask(gpu, probe, now_ns):
                    readings.append(Reading("gpu", name, dimension, value))
        return readings

    def processes(self) -> dict[int, list[int]]:
        """Return the processes that compute on each GPU, by its number, as NVML numbers them."""
        found: dict[int, list[int]] = {}
        for gpu in self.gpus:
            try:
                running = self._nvml.nvmlDeviceGetComputeRunningProcesses(gpu.handle)
            except self._nvml.NVMLError:
                continue
            found[gpu.index] = [int(process.pid) for process in running]
        return found

    def _open(self, index: int) -> Gpu | None:
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            gpu = Gpu(
                index=index,
                handle=handle,
                uuid=str(nvml.nvmlDeviceGetUUID(handle)),
                name=str(nvml.nvmlDeviceGetName(handle)),
                memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
            )
        except nvml.NVMLError as err:
            self.missing.append(f"gpu{index} ({err})")
            return None
        gpu.probes = [
            ("utilization", self._utilization),
            ("memory", self._memory),
            ("power", self._power),
            ("clocks", self._clocks),
            ("temperature", self._temperature),
            ("throttle reasons", self._throttling),
            ("counters", self._counters),
        ]
        if self._has_gpm(gpu):
            gpu.probes.append(("GPM", self._gpm))
        return gpu

    def _ask(
        self, gpu: Gpu, probe: tuple[str, Callable[[Gpu, int], Values]], now_ns: int
    ) -> list[tuple[str, float]]:
        what, read = probe
        try:
            values = list(read(gpu, now_ns))
        except self._nvml.NVMLError as err:
            failures = gpu.failures[what] = gpu.failures.get(what, 0) + 1
            is_final = isinstance(err, self._nvml.NVMLError_NotSupported)
            if is_final or failures >= _MOST_FAILURES:
                gpu.probes.remove(probe)
                self.missing.append(f"{what} of gpu{gpu.index} ({err})")
            return []
        gpu.failures[what] = 0
        return values

    # Queries of each GPU

    def _utilization(self, gpu: Gpu, _now_ns: int) -> Iterator[tuple[str, float]]:
        rates = self._nvml.nvmlDeviceGetUtilizationRates(gpu.handle)
        yield "GPUUtilization", rates.gpu
        yield "GPUMemoryUtilization", rates.memory

    def _memory(self, gpu: Gpu, _now_ns: int) -> Iterator[tuple[str, float]]:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(gpu.handle)
        yield "GPUMemoryUsedBytes", memory.used
        yield "GPUMemoryTotalBytes", memory.total

    def _power(self, gpu: Gpu, _now_ns: int) -> Iterator[tuple[str, float]]:
        yield "GPUPowerWatts", self._nvml.nvmlDeviceGetPowerUsage(gpu.handle) * _MILLI

    def _clocks(self, gpu: Gpu, _now_ns: int) -> Iterator[tuple[str, float]]:
        nvml = self._nvml
        yield "GPUSMClockMHz", nvml.nvmlDeviceGetClockInfo(gpu.handle, nvml.NVML_CLOCK_SM)
        yield "GPUMemoryClockMHz", nvml.nvmlDeviceGetClockInfo(gpu.handle, nvml.NVML_CLOCK_MEM)

    def _temperature(self, gpu: Gpu, _now_ns: int) -> Iterator[tuple[str, float]]:
        nvml = self._nvml
        celsius = nvml.nvmlDeviceGetTemperature(gpu.handle, nvml.NVML_TEMPERATURE_GPU)
        yield "GPUTemperatureCelsius", celsius

    def _throttling(self, gpu: Gpu, _now_ns: int) -> Iterator[tuple[str, float]]:
        reasons = self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu.handle)
        yield "GPUThrottleReasons", reasons

    def _counters(self, gpu: Gpu, now_ns: int) -> Iterator[tuple[str, float]]:
        nvml = self._nvml
        asked = [
            (nvml.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0),
            (nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 0),
            (nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 0),
            (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _ALL_LINKS),
            (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, _ALL_LINKS),
        ]
        counts = [_value_of(item) for item in nvml.nvmlDeviceGetFieldValues(gpu.handle, asked)]
        if counts[0] is not None:
            yield "GPUEnergyJoules", counts[0] * _MILLI
        for dimension, count, unit in zip(_TRAFFIC, counts[1:], _TRAFFIC_UNITS, strict=True):
            if count is None:
                continue
            gpu.counted.add(dimension)
            rate = self._rates.rate((gpu.index, dimension), count * unit, now_ns)
            if rate is not None:
                yield dimension, rate

    # Metrics of Hopper and newer GPUs

    def _has_gpm(self, gpu: Gpu) -> bool:
        nvml = self._nvml
        try:
            if not nvml.nvmlGpmQueryDeviceSupport(gpu.handle).isSupportedDevice:
                return False
            gpu.gpm_before, gpu.gpm_after = nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()
            nvml.nvmlGpmSampleGet(gpu.handle, gpu.gpm_before)
        except nvml.NVMLError:
            return False
        return True

    def _gpm(self, gpu: Gpu, _now_ns: int) -> Iterator[tuple[str, float]]:
        nvml = self._nvml
        nvml.nvmlGpmSampleGet(gpu.handle, gpu.gpm_after)
        request = nvml.c_nvmlGpmMetricsGet_t()
        request.version, request.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, len(_GPM)
        request.sample1, request.sample2 = gpu.gpm_before, gpu.gpm_after
        for place, (metric, _, _) in enumerate(_GPM):
            request.metrics[place].metricId = getattr(nvml, metric)
        nvml.nvmlGpmMetricsGet(request)
        gpu.gpm_before, gpu.gpm_after = gpu.gpm_after, gpu.gpm_before
        for place, (_, dimension, unit) in enumerate(_GPM):
            answer = request.metrics[place]
            is_number = answer.nvmlReturn == 0 and answer.value == answer.value  # NaN != NaN
            if is_number and dimension not in gpu.counted:
                yield dimension, answer.value * unit


_TRAFFIC = (
    "GPUPCIeTransmitBytesPerSecond",
    "GPUPCIeReceiveBytesPerSecond",
    "GPUNVLinkTransmitBytesPerSecond",
    "GPUNVLinkReceiveBytesPerSecond",
)
_TRAFFIC_UNITS = (1, 1, _KIB, _KIB)

_GPM = (
    ("NVML_GPM_METRIC_SM_UTIL", "GPUSMActivity", 1),
    ("NVML_GPM_METRIC_ANY_TENSOR_UTIL", "GPUTensorActivity", 1),
    ("NVML_GPM_METRIC_DRAM_BW_UTIL", "GPUDRAMActivity", 1),
    ("NVML_GPM_METRIC_PCIE_TX_PER_SEC", _TRAFFIC[0], _MIB),
    ("NVML_GPM_METRIC_PCIE_RX_PER_SEC", _TRAFFIC[1], _MIB),
    ("NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC", _TRAFFIC[2], _MIB),
    ("NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC", _TRAFFIC[3], _MIB),
)
"""Metric of GPM, the dimension that it becomes, and how much its unit is; of traffic, counters are
preferred."""


def _value_of(item: Any) -> float | None:
    if item.nvmlReturn != 0 or not 0 <= item.valueType < len(_MEMBERS):
        return None
    return float(getattr(item.value, _MEMBERS[item.valueType]))
