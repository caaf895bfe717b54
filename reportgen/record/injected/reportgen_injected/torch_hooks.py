"""Marks of PyTorch's optimizers and of the outermost modules.

Every function that Dynamo may trace (hooks of optimizers and modules run inside compiled regions
too) first asks whether it is being compiled, and then does nothing that breaks a graph or adds a
guard. A compiled optimizer step sets an attribute: Dynamo repeats that assignment after each run of
the compiled code. Of ``Signal`` that is a mark at once; versions that cannot set attributes of
modules set a flag instead, which the next hook of any kind turns into a mark.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Callable, Optional

if TYPE_CHECKING:
    from .recorder import Recorder

MOST_SEARCHES = 8
"""Searches for outermost modules, one for each new optimizer."""
MOST_ELEMENTS = 100
"""Elements of a collection that are looked at."""

_WRAPPED = ("module", "_orig_mod")
"""Names of the model within DistributedDataParallel and its like, and compiled modules."""

SETS_MODULES_FROM = (2, 15)
"""Dynamo of 2.15 can set attributes of modules, that of 2.4 cannot; the versions between them take
the way that is safe in all (tried with 2.8)."""

now_ns, get_ident = time.monotonic_ns, threading.get_ident


class Flag:
    """Settings of older versions of Dynamo."""

    def __init__(self) -> None:
        self.has_stepped = False


class Signal(ModuleType):
    """A module whose attributes are messages from compiled code."""

    def __init__(self, on_step: Callable[[], None]) -> None:
        super().__init__("reportgen_signal")
        super().__setattr__("on_step", on_step)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "has_stepped":
            self.on_step()
        else:
            super().__setattr__(name, value)


class _Running(threading.local):
    """The outermost optimizer step that runs in a thread."""

    frame: Optional[FrameType] = None
    depth = began_ns = 0


class OptimizerHooks:
    """Pre and post hooks of every optimizer; only the outermost ``step`` counts."""

    def __init__(self, recorder: Recorder, modules: ModuleHooks) -> None:
        self._recorder, self._modules = recorder, modules
        self._torch: Any = None
        self._local = _Running()
        self._fence = recorder.fence("torch.optimizer")
        self._began, self._ended = self._fence(self._on_begin), self._fence(self._on_end)
        self._searched: set[int] = set()
        self._counted: set[int] = set()
        self._is_capture_said = False
        self._flag = Flag()

    def install(self, module: ModuleType) -> None:
        """Register the hooks with ``torch.optim.optimizer``."""
        self._torch = torch = sys.modules["torch"]
        began, ended = self._began, self._ended
        signal: Any = Signal(self._fence(self._on_compiled_step))
        if _version(torch) < SETS_MODULES_FROM:
            signal = self._flag = Flag()
            self._recorder.look = self._fence(self._look_at_flag)

        def before(optimizer: Any, _args: object, _kwargs: object) -> None:
            if torch.compiler.is_compiling():
                return
            began(optimizer)

        def after(optimizer: Any, _args: object, _kwargs: object) -> None:
            if torch.compiler.is_compiling():
                signal.has_stepped = True
                return
            ended(optimizer)

        module.register_optimizer_step_pre_hook(before)
        module.register_optimizer_step_post_hook(after)

    def _on_begin(self, optimizer: Any) -> None:
        at_ns, local = now_ns(), self._local
        outer = local.frame
        # The frames: fenced, before, the wrapper of step.
        frame = sys._getframe(3)  # noqa: SLF001
        if outer is not None and _is_below(frame, outer):
            local.depth += 1
            return
        local.frame, local.depth, local.began_ns = frame, 1, at_ns
        recorder = self._recorder
        backward = self._backward()
        if backward == -1:
            recorder.loop_thread = get_ident()
        recorder.take("optimizer_began", at_ns, id(optimizer), backward)

    def _on_end(self, optimizer: Any) -> None:
        at_ns, local = now_ns(), self._local
        if local.depth != 1:
            local.depth = max(local.depth - 1, 0)
            return
        local.frame, local.depth = None, 0
        recorder = self._recorder
        if self._is_capturing():
            return
        name, identity = f"{type(optimizer).__name__}.step", id(optimizer)
        recorder.take("optimizer_ended", local.began_ns, at_ns, identity, name)
        if identity not in self._searched and len(self._searched) < MOST_SEARCHES:
            self._searched.add(identity)
            self._count_parameters(optimizer)
            self._modules.search(optimizer)

    def _count_parameters(self, optimizer: Any) -> None:
        """Add the elements of the parameters that no optimizer before had."""
        card = self._recorder.output.card
        for parameter in (one for group in optimizer.param_groups for one in group["params"]):
            if id(parameter) not in self._counted:
                self._counted.add(id(parameter))
                card["n_parameters"] = card.get("n_parameters", 0) + int(parameter.numel())

    def _look_at_flag(self) -> None:
        if self._flag.has_stepped:
            self._flag.has_stepped = False
            self._on_compiled_step()

    def _on_compiled_step(self) -> None:
        self._mark_without_length(-1, -1)

    def skipped(self, optimizer: Any) -> None:
        """Take a step that a gradient scaler left out: the iteration took its time."""
        self._mark_without_length(id(optimizer), self._backward())

    def _mark_without_length(self, optimizer: int, backward: int) -> None:
        at_ns, recorder = now_ns(), self._recorder
        recorder.mark(("optimizer_began", at_ns, optimizer, backward))
        recorder.take("optimizer_ended", at_ns, at_ns, optimizer, "")

    def _backward(self) -> int:
        task: int = self._torch._C._current_graph_task_id()  # noqa: SLF001
        return task

    def _is_capturing(self) -> bool:
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not cuda.is_initialized() or not cuda.is_current_stream_capturing():
            return False
        if not self._is_capture_said:
            self._is_capture_said = True
            self._recorder.remark("not_seen", "steps inside a CUDA graph")
        return True


def _is_below(frame: Optional[FrameType], outer: FrameType) -> bool:
    """Return whether ``outer`` still runs: an exception may have left it without its post hook."""
    while frame is not None:
        frame = frame.f_back
        if frame is outer:
            return True
    return False


def _version(torch: Any) -> tuple[int, ...]:
    words = str(getattr(torch, "__version__", "")).split(".")[:2]
    return tuple(int(word) for word in words if word.isdigit())


class ScalerHook:
    """Gradient scalers: a step that they skip never reaches the optimizer."""

    def __init__(self, recorder: Recorder, optimizers: OptimizerHooks) -> None:
        fence = recorder.fence("torch.scaler")
        self._skipped = fence(optimizers.skipped)

    def install(self, module: ModuleType) -> None:
        """Wrap ``GradScaler._maybe_opt_step`` of ``torch.amp.grad_scaler``."""
        scaler = module.GradScaler
        maybe_step, skipped = scaler._maybe_opt_step, self._skipped  # noqa: SLF001

        def maybe_step_then_tell(
            self: Any, optimizer: Any, state: Any, *args: Any, **kw: Any
        ) -> Any:
            result = maybe_step(self, optimizer, state, *args, **kw)
            if any(value.item() for value in state["found_inf_per_device"].values()):
                skipped(optimizer)
            return result

        scaler._maybe_opt_step = maybe_step_then_tell  # noqa: SLF001


class _ModuleHook:
    """A hook that leaves no trace in copies and pickles of the module."""

    def __init__(self, call: Callable[..., None], is_compiling: Callable[[], bool]) -> None:
        self._call, self._is_compiling = call, is_compiling

    def __call__(self, module: Any, *values: Any) -> None:
        if not self._is_compiling():
            self._call(module, *values[1:])

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")

    def __deepcopy__(self, _memo: object) -> Any:
        return contextlib.nullcontext().__exit__


class ModuleHooks:
    """Hooks of the modules that hold an optimizer's parameters and lie in no other module."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        fence = recorder.fence("torch.forward")
        self._began, self._ended = fence(self._on_begin), fence(self._on_end)
        self.search = fence(self._search)
        self._handles: dict[int, list[Any]] = {}
        self._begins, self._ends = fence(self._on_backward), fence(self._on_backward_end)
        self._begins.__torch_unserializable__ = True  # type: ignore[attr-defined]  # no warning
        self._running: Optional[int] = None
        self._began_ns = 0

    def _search(self, optimizer: Any) -> None:
        wanted = {id(one) for group in optimizer.param_groups for one in group["params"]}
        torch = sys.modules["torch"]
        near = _modules_near(sys._getframe(2), torch.nn.Module)  # noqa: SLF001
        found = _outermost(module for module in near if _holds(module, wanted))
        if not found:
            everywhere = _outermost(_modules_anywhere(torch.nn.Module))
            found = [module for module in everywhere if _holds(module, wanted)]
        if any(not one.requires_grad for module in found for one in module.parameters()):
            self._recorder.output.card["has_frozen_parameters"] = True
        for module in [one for outer in found for one in _unwrapped(outer)]:
            if id(module) not in self._handles:
                self._hook(module, torch)

    def _hook(self, module: Any, torch: Any) -> None:
        is_compiling = torch.compiler.is_compiling
        self._handles[id(module)] = [
            module.register_forward_pre_hook(_ModuleHook(self._began, is_compiling)),
            module.register_forward_hook(_ModuleHook(self._ended, is_compiling)),
        ]

    def remove_all(self) -> None:
        """Take all hooks away, for tools that cannot work on modules with hooks."""
        while self._handles:
            _, handles = self._handles.popitem()
            for handle in handles:
                handle.remove()

    def _on_begin(self, module: Any) -> None:
        at_ns = now_ns()
        if self._running not in {None, id(module)} or _is_in_backward():
            return  # a checkpoint runs its forward pass again
        self._running, self._began_ns = id(module), at_ns
        recorder = self._recorder
        recorder.look()
        recorder.take("forward_began", at_ns, module.training)

    def _on_end(self, module: Any, output: Any = None) -> None:
        at_ns = now_ns()
        if self._running != id(module):
            return
        self._running = None
        if module.training and (tensor := _with_gradient(output)) is not None:
            with contextlib.suppress(RuntimeError):  # of transforms (vmap) and the like
                tensor.register_hook(self._begins)
        recorder, name = self._recorder, type(module).__name__
        recorder.take("forward_ended", self._began_ns, at_ns, name, module.training)

    def _on_backward(self, _gradient: Any) -> None:
        """A gradient has reached the module's output: the pass below it begins, and ends later."""
        self._recorder.mark(("backward_began", now_ns()))
        sys.modules["torch"].autograd.Variable._execution_engine.queue_callback(self._ends)  # noqa: SLF001

    def _on_backward_end(self) -> None:
        self._recorder.mark(("backward_ended", now_ns()))

    def install_before(self, module: ModuleType, name: str) -> None:
        """Let a function of torch run without our hooks: it refuses modules that have any."""
        function = getattr(module, name)
        remove_all = self._recorder.fence("torch.forward")(self.remove_all)

        @functools.wraps(function)
        def without_hooks(*args: Any, **kwargs: Any) -> Any:
            remove_all()
            return function(*args, **kwargs)

        setattr(module, name, without_hooks)


def _is_in_backward() -> bool:
    return bool(sys.modules["torch"]._C._current_graph_task_id() != -1)  # noqa: SLF001


def _with_gradient(output: Any, depth: int = 3) -> Any:
    """Return the first tensor of an output through which gradients flow; ``None`` without one."""
    if getattr(output, "requires_grad", False) is True:
        return output
    if depth and isinstance(output, (Mapping, list, tuple)):
        values = output.values() if isinstance(output, Mapping) else output
        for value in list(values)[:MOST_ELEMENTS]:
            if (found := _with_gradient(value, depth - 1)) is not None:
                return found
    return None


def _modules_near(frame: Optional[FrameType], base: type) -> list[Any]:
    """Return the modules that the callers hold: in variables, or one level deeper."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    while frame is not None:
        for names in (frame.f_locals, frame.f_globals):
            if id(names) in seen:
                continue
            seen.add(id(names))
            for value in list(names.values()):
                for one in (value, *_inside(value)):
                    if issubclass(type(one), base):  # a lazy object may claim any class
                        found[id(one)] = one
        frame = frame.f_back
    return list(found.values())


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, (ModuleType, type)):
        return ()
    if type(value) in {list, tuple, set}:
        return list(value)[:MOST_ELEMENTS]
    held = value if type(value) is dict else getattr(value, "__dict__", None)
    return list(held.values())[:MOST_ELEMENTS] if type(held) is dict else ()


def _modules_anywhere(base: type) -> list[Any]:
    """Return all modules of the program; this takes some 100 ms."""
    objects = gc.get_objects()
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, base)}
    return [one for one in objects if type(one) in kinds]


def _outermost(modules: Iterable[Any]) -> list[Any]:
    modules = list(modules)
    inner = {id(one) for module in modules for one in module.modules() if one is not module}
    return [module for module in modules if id(module) not in inner]


def _unwrapped(module: Any) -> Iterable[Any]:
    """Yield a module and what it wraps: evaluation often calls the model without its wrappers."""
    while module is not None:
        yield module
        children = module.__dict__.get("_modules") or {}
        module = next((children[name] for name in _WRAPPED if name in children), None)


def _holds(module: Any, wanted: set[int]) -> bool:
    return any(id(parameter) in wanted for parameter in module.parameters())
