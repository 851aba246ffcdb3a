"""The one base of what is read from files and from other programs' output."""

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """A table or document that holds what its schema has, of the types that it has, and no more."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
