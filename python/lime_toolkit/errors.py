# SPDX-License-Identifier: Apache-2.0
"""Exceptions with the texts of the command line."""


class NoSuchNameError(KeyError):
    """A KeyError whose text is shown as it is, without quotes around it."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
