"""Every setting once: its name, type, default and help, one file a subject.

A setting comes from the command line, else the environment (`MINUTEBOOK_` and its name in capitals),
else `config.toml` in the data directory, else its default. A relative path is one from the folder of
that file, or on the command line and in the environment from where the process was started.
"""

from minutebook.config.loading import Stated, check_setting, load, option_of, stated, variable_of
from minutebook.config.settings import Settings, all_settings, settings_with, subjects
from minutebook.serve.invocation import environment

__all__ = [
    "Settings",
    "Stated",
    "all_settings",
    "check_setting",
    "environment",
    "load",
    "option_of",
    "settings_with",
    "stated",
    "subjects",
    "variable_of",
]
