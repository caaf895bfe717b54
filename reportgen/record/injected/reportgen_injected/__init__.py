"""The code that ``reportgen record`` puts into a program: standard library, Python 3.9 and newer.

It waits until the program imports a framework itself, marks steps and waits, and writes them.
Nothing is imported and nothing is written before.
"""

from __future__ import annotations

from .settings import Settings, read_settings

TYPE_CHECKING = False  # typing itself takes 6 ms of the program's start
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional

    from .recorder import Recorder
    from .trainers import TrainerMarks

VERSION = 1
FRAMEWORKS = (
    "torch.optim.optimizer",
    "torch.utils.data.dataloader",
    "torch.amp.grad_scaler",
    "torch.jit._recursive",
    "torch._dynamo.eval_frame",
    "torch.cuda.graphs",
    "transformers.trainer",
    "keras.src.callbacks.callback_list",
    "keras.src.callbacks",
    "keras.src.trainers.epoch_iterator",
)


class _Session:
    """The one recording of this process: the hooks in a framework are global, so this is too."""

    settings: Optional[Settings] = None
    recorder: Optional[Recorder] = None
    parts: dict[str, Any] = {}  # noqa: RUF012


def start(settings: Optional[Settings] = None) -> bool:
    """Begin to wait for a framework; return whether anything is recorded.

    Args:
        settings: where to write; without it what the environment says.
    """
    settings = settings or read_settings()
    if settings is None or _Session.settings is not None:
        return False
    _Session.settings = settings
    if _Session.recorder is not None:  # the hooks are there since an earlier recording
        _Session.recorder.restart(settings)
        return True
    from .watching import ImportWatcher

    ImportWatcher({name: _installer(name) for name in FRAMEWORKS}).start()
    return True


def stop() -> None:
    """End the recording of this process; hooks stay in the frameworks and do nothing."""
    _Session.settings = None
    if _Session.recorder is not None:
        _Session.recorder.stop()


def is_recording() -> bool:
    """Return whether marks of this process are written."""
    return _Session.settings is not None


def active() -> Optional[Recorder]:
    """Return the recorder, made when it is first needed; ``None`` where nothing is recorded."""
    if _Session.settings is None:
        return None
    if _Session.recorder is None:
        if _Session.settings.is_foreign():
            _give_up("other_machine", "environment")  # its clock cannot be aligned with ours
            return None
        from .recorder import Recorder

        _Session.recorder = Recorder(_Session.settings)
    return _Session.recorder


def trainer_marks() -> Optional[TrainerMarks]:
    """Return the function that trainers call, ``None`` where nothing is recorded."""
    if active() is None:
        return None
    marks: TrainerMarks = _part("trainers")
    return marks


def _part(name: str) -> Any:
    if name not in _Session.parts:
        _Session.parts[name] = _make_part(name)
    return _Session.parts[name]


def _make_part(name: str) -> Any:
    recorder = active()
    assert recorder is not None
    if name == "trainers":
        from .trainers import TrainerMarks

        return TrainerMarks(recorder)
    if name == "loader":
        from .torch_loader import LoaderHooks

        return LoaderHooks(recorder)
    from .torch_hooks import ModuleHooks, OptimizerHooks

    return (
        ModuleHooks(recorder) if name == "modules" else OptimizerHooks(recorder, _part("modules"))
    )


def _installer(name: str) -> Callable[[ModuleType], object]:
    def install(module: ModuleType) -> None:
        try:
            recorder = active()
        except Exception as error:
            from .fence import own_line

            _give_up("fault", "start", type(error).__name__, own_line(error))
            return
        if recorder is not None:
            recorder.fence(name)(_install)(name, module)

    return install


def _give_up(kind: str, hook: str, error: str = "", line: str = "") -> None:
    from .output import Output

    settings, _Session.settings = _Session.settings, None
    if settings is not None:
        Output(settings).report(kind, hook, error, line)


def _install(name: str, module: ModuleType) -> None:
    if name == "torch.optim.optimizer":
        _part("optimizers").install(module)
    elif name == "torch.utils.data.dataloader":
        _part("loader").install(module)
    elif name == "torch.amp.grad_scaler":
        from .torch_hooks import ScalerHook

        recorder = active()
        assert recorder is not None
        ScalerHook(recorder, _part("optimizers")).install(module)
    elif name == "torch.jit._recursive":
        _part("modules").install_before(module, "create_script_module")
    elif name == "torch._dynamo.eval_frame":
        _part("modules").install_before(module, "export")
    elif name == "torch.cuda.graphs":
        _part("modules").install_before(module, "make_graphed_callables")
    elif name == "transformers.trainer":
        from .trainers import install_transformers

        install_transformers(module, _part("trainers"))
    elif name == "keras.src.trainers.epoch_iterator":
        from .trainers import install_epoch_iterator

        recorder = active()
        assert recorder is not None
        install_epoch_iterator(module, recorder)
    elif module.CallbackList.__module__ == name:
        from .trainers import install_keras

        install_keras(module, _part("trainers"))
