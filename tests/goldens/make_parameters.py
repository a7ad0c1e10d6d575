"""Write down the parameters of JAX's public functions: python -m tests.goldens.make_parameters.

Under jax 0.10, for tests/names/test_parameters.py. Counted are the parameters that can be given by
name, without those that have an underscore in front; methods are those of a few objects.
"""

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def parameters(function: Any) -> list[str] | None:
    """The names by which arguments can be given; None where a function does not say."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p.name for p in found if p.kind in KINDS and not p.name.startswith("_")]


def objects(jax: Any) -> dict[str, Any]:
    """Objects of classes whose methods programs call, by what they are called in the record."""
    x = jax.numpy.ones((2, 2))
    mesh = jax.make_mesh((1,), ("a",))
    jitted = jax.jit(lambda y: y)
    return {
        "array": x,
        "array.at[0]": x.at[0],
        "config": jax.config,
        "custom_jvp": jax.custom_jvp(lambda y: y),
        "custom_vjp": jax.custom_vjp(lambda y: y),
        "device": jax.devices()[0],
        "jitted": jitted,
        "jitted.trace(x)": jitted.trace(x),
        "jitted.lower(x)": jitted.lower(x),
        "jitted.lower(x).compile()": jitted.lower(x).compile(),
        "mesh": mesh,
        "named sharding": jax.sharding.NamedSharding(mesh, jax.P("a")),
        "sharding": x.sharding,
        "treedef": jax.tree.structure((1, 2)),
        "ufunc": jax.numpy.add,
    }


def methods(jax: Any) -> dict[str, list[str]]:
    """The parameters of the methods of these objects."""
    found = {}
    for called, thing in objects(jax).items():
        for name in (n for n in dir(thing) if not n.startswith("_")):
            try:
                method = getattr(thing, name)
            except (AttributeError, RuntimeError, NotImplementedError, ValueError):
                continue  # a property that this device has not
            if callable(method) and (names := parameters(method)) is not None:
                found[f"{called}.{name}"] = names
    return found


def functions(modules: dict[str, list[str]], package: str = "jax") -> dict[str, list[str]]:
    """The parameters of the functions, not classes, of these modules and names."""
    found = {}
    for module, names in modules.items():
        home = importlib.import_module(package + module.removeprefix("jax"))
        for name in names:
            thing = getattr(home, name, None)
            if callable(thing) and not inspect.isclass(thing):
                taken = parameters(thing)
                if taken is not None:
                    found[f"{module}.{name}"] = taken
    return found


def main() -> None:
    import jax

    listed = json.loads((HERE / "jax_names.json").read_text(encoding="utf-8"))
    record = functions(listed["modules"]) | methods(jax)
    text = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(record.items()))
    (HERE / "jax_parameters.json").write_text("{\n" + text + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
