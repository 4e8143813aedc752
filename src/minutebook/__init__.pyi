from minutebook.ask import open_memory as open_memory
from minutebook.ask import open_memory_async as open_memory_async

__version__: str
