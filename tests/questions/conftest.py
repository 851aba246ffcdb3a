"""What tests of several questions take."""

from tests.java_agent import agent, classes

__all__ = ["agent", "classes"]
