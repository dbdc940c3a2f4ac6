"""A PyTorch module run on one input: its norms are seen by hooks, and those that are functions as they are called."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from inspect import Parameter, signature
from typing import Any

from ..errors import FileError, NormscopeError
from .called import Call, read
from .feeding import check_names, first_line
from .found import Found
from .passing import Passage
from .summary import summary

WIDE = ("float16", "float32", "float64")  # what NumPy has
WEIGHTS = {"gamma": "weight", "beta": "bias", "running_mean": "running_mean", "running_var": "running_var"}
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
Each = Callable[[Passage], None]


def of_module(model: Any, feeds: Mapping[str, Any], norms: Sequence[Found], each: Each) -> list[str]:
    """Run a module and call `each` with every passage through a norm; what could not be had, in words.

    norms  all of its norms that are modules: what is called inside one of them is a part of it
    """
    modules = dict(model.named_modules())
    there = [found for found in norms if found.where in modules]
    notes = [f"{found.where}: it is no module, so nothing is told of what goes through it."
             for found in norms if found.where not in modules]  # fmt: skip
    run = _Run(there, each)
    with ExitStack() as stack:
        run.watch(model, modules, stack)
        _call(model, feeds, notes)
    if run.failed:
        raise run.failed[0]
    reached = run.counts.keys()
    return notes + [f"{found.where}: this input does not reach it." for found in there if found.where not in reached]


class _Run:
    """What one run shows.

    inside  the path of every module that is running, with how often it has called each norm; the innermost last
    """

    def __init__(self, norms: Sequence[Found], each: Each) -> None:
        self.norms, self.each = {found.where: found for found in norms}, each
        self.counts: Counter[str] = Counter()
        self.failed: list[Exception] = []
        self.inside: list[tuple[str, Counter[str]]] = []
        self._called: dict[tuple[str, str, int], Found] = {}

    def watch(self, model: Any, modules: Mapping[str, Any], stack: ExitStack) -> None:
        """Hook every module, in evaluation and without gradients, until the stack is closed."""
        import torch

        for path, module in modules.items():
            parameters = _parameters(model, self.norms[path]) if path in self.norms else {}
            before = module.register_forward_pre_hook(self._entering(path))
            after = module.register_forward_hook(self._leaving(path, parameters), with_kwargs=True)
            stack.callback(before.remove)
            stack.callback(after.remove)
        stack.enter_context(_evaluating(model))
        stack.enter_context(torch.no_grad())
        stack.enter_context(_listening(self._function))

    def _entering(self, path: str) -> Callable[..., None]:
        def enter(*_: Any) -> None:
            self.inside.append((path, Counter()))

        return enter

    def _leaving(self, path: str, parameters: Mapping[str, Any]) -> Callable[..., None]:
        def leave(module: Any, args: tuple[Any, ...], named: Mapping[str, Any], output: Any) -> None:
            self.inside.pop()
            if path in self.norms:
                x = args[0] if args else next(iter(named.values()))
                self._pass(self.norms[path], x, output[0] if isinstance(output, tuple) else output, parameters)

        return leave

    def _function(self, name: str, args: Sequence[Any], named: Mapping[str, Any], output: Any) -> None:
        """A function was called: a norm of its own, unless a norm that is a module called it."""
        if any(path in self.norms for path, _ in self.inside):
            return
        if (call := read(name, args, named)) is not None:
            short, (path, turns) = name.rpartition(".")[2], self.inside[-1]
            turns[short] += 1
            key = path, short, turns[short]
            parameters = {role: cells_of(tensor) for role, tensor in call.parameters.items()}
            if key not in self._called:
                self._called[key] = _found(key, name, call, parameters)
            self._pass(self._called[key], call.x, output, parameters)

    def _pass(self, found: Found, x: Any, y: Any, parameters: Mapping[str, Any]) -> None:
        self.counts[found.where] += 1
        try:
            self.each(Passage(found, cells_of(x), cells_of(y), parameters, self.counts[found.where]))
        except Exception as error:  # told after the run: through the model it would look like the model's
            self.failed.append(error)


def _found(key: tuple[str, str, int], name: str, call: Call, parameters: Mapping[str, Any]) -> Found:
    path, short, turn = key
    where = f"{path}.{short}()".lstrip(".") + (f" {turn}" if turn > 1 else "")
    return Found(
        where,
        call.norm,
        dict(call.norm.sizes),
        "fused",
        dtype=str(call.x.dtype).removeprefix("torch."),
        parameters={role: summary(cells) for role, cells in parameters.items()},
        evidence=(f"{name} was called in {path or 'the module'}",),
    )


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _listening(told: Callable[[str, Sequence[Any], Mapping[str, Any], Any], None]) -> Any:
    """A mode in which every function of PyTorch is told when it has given its output."""
    from torch.overrides import TorchFunctionMode, resolve_name

    class Listening(TorchFunctionMode):  # type: ignore[misc, unused-ignore]  # without PyTorch it is Any
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            output = func(*args, **(kwargs or {}))
            told(resolve_name(func) or "", args, kwargs or {}, output)
            return output

    return Listening()


def _call(model: Any, feeds: Mapping[str, Any], notes: list[str]) -> None:
    """Call a module with the arrays as its arguments by name."""
    given = {name: each for name, each in signature(model.forward).parameters.items() if each.kind in BY_NAME}
    needed = {name: "a tensor" for name, each in given.items() if each.default is each.empty}
    optional = {name: "a tensor" for name in given if name not in needed}
    check_names(type(model).__name__, needed, feeds, notes, optional)
    weight = next((each for each in model.parameters() if each.is_floating_point()), None)
    tensors = {name: _tensor(name, feeds[name], weight, notes) for name in feeds if name in given}
    try:
        model(**tensors)
    except NormscopeError:
        raise
    except Exception as error:  # a stranger's model
        raise FileError(
            f"{type(model).__name__} cannot be run on this input: {type(error).__name__}: {first_line(error)}"
        ) from None


def _tensor(name: str, cells: Any, weight: Any, notes: list[str]) -> Any:
    """An array as a tensor of the dtype and on the device of the model's weights."""
    import torch

    tensor = torch.from_numpy(cells.copy())
    if weight is None:
        return tensor
    if tensor.is_floating_point() and tensor.dtype != weight.dtype:
        notes.append(f"{name} is cast from {cells.dtype} to {str(weight.dtype).removeprefix('torch.')}.")
        tensor = tensor.to(weight.dtype)
    return tensor.to(weight.device)


def _parameters(model: Any, found: Found) -> dict[str, Any]:
    """A module's gamma and beta, and its running statistics, by the names that the find has or that are usual."""
    tensors = dict(model.named_parameters()) | dict(model.named_buffers())
    names = {role: found.tensors.get(role, f"{found.where}.{name}".lstrip(".")) for role, name in WEIGHTS.items()}
    return {role: cells_of(tensors[name]) for role, name in names.items() if _has(found, role) and name in tensors}


def cells_of(tensor: Any) -> Any:
    """A tensor as a NumPy array; what NumPy lacks, in float32."""
    tensor = tensor.detach().cpu()
    return (tensor if str(tensor.dtype).removeprefix("torch.") in WIDE else tensor.float()).numpy().copy()


def _has(found: Found, role: str) -> bool:
    norm = found.norm
    return {"gamma": norm.scale, "beta": norm.shift}.get(role, norm.running)
