"""Processes of ours that run with other values of constants than they have: with shorter waits, and less room."""

from pathlib import Path


def with_constants(folder: Path, **values: object) -> dict[str, str]:
    """Return the variables by which processes have these values, each named `MODULE__NAME` below minutebook.

    Python itself runs the module `sitecustomize` in `folder` when it starts; dots of MODULE are written as `__` too.
    """
    lines = []
    for constant, value in values.items():
        module, _, name = constant.rpartition("__")
        lines.append(
            f"import minutebook.{module.replace('__', '.')} as module; module.{name} = {value!r}\n"
        )
    (folder / "sitecustomize.py").write_text("".join(lines), encoding="utf-8")
    return {"PYTHONPATH": str(folder)}
