"""The settings: each is declared once, with its name, type, default and help.

A value comes from the command line, else the environment (`MINUTEBOOK_` and the name in capitals),
else `config.toml` in the data directory, else the default. A path in that file is relative to its
folder, one on the command line or in the environment to the working directory.
"""

from minutebook.config.loading import (
    SetValue,
    check_setting,
    explicit,
    load,
    option_of,
    variable_of,
)
from minutebook.config.settings import Settings, all_settings, settings_with, subjects
from minutebook.serve.invocation import environment

__all__ = [
    "SetValue",
    "Settings",
    "all_settings",
    "check_setting",
    "environment",
    "explicit",
    "load",
    "option_of",
    "settings_with",
    "subjects",
    "variable_of",
]
