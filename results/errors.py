"""The one base of errors that are meant for people."""


class LockcrossError(Exception):
    """Says what is wrong, where, and what to do; the command line prints it and exits.

    `exit_code` is 2 for the user's mistake and 1 for a failed run.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class NoDataError(LockcrossError):
    """The database holds no study."""
