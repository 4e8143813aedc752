from minutebook.api import open_memory as open_memory
from minutebook.api import open_memory_async as open_memory_async

__version__: str
