"""Words for what pydantic found wrong in a TOML file."""

from pydantic import BaseModel, ValidationError

_MAX_VALUE = 60  # characters of a wrong value that are shown


def explain(error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """One line a mistake: the key, the value, what is wrong; unknown keys list what is allowed.

    `model` is the table whose keys are allowed where an unknown one was found.
    """
    lines = []
    for detail in error.errors(include_url=False):
        key = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        kind = detail["type"]
        if kind == "extra_forbidden":
            message = "unknown key"
            if model is not None:
                message += f"; allowed are {', '.join(model.model_fields)}"
        elif kind == "missing":
            message = "missing"
        else:
            value = repr(detail["input"])
            if not isinstance(detail["input"], dict) and len(value) <= _MAX_VALUE:
                message = f"{value}: {message}"
        lines.append(f"{key}: {message}" if key else message)
    return "\n  ".join(lines)
