"""The one base of what is read from files and from other programs' output."""

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """A table or document that holds what its schema has, of the types that it has, and no more."""

    # A schema is built when something is first read by it: most commands read few of them.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
