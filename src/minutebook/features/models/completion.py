"""Texts from an OpenAI-compatible service: `POST {base_url}/chat/completions`."""

import time
from collections.abc import Callable

from minutebook.domain.errors import ModelUnavailable, Unanswered
from minutebook.embedding.protocol import without_surrogates
from minutebook.features.models.http_client import Service

TIMEOUT, TRIES = 60.0, 2
"""Seconds to wait for an answer, and how often to ask."""


class Completion:
    """Asks the service for a text; safe to call from several threads. The first call connects."""

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None,
        timeout: float = TIMEOUT,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self._service = Service(
            url=f"{base_url.rstrip('/')}/chat/completions",
            key=key,
            timeout=timeout,
            tries=TRIES,
            pause=pause,
        )

    def ask(self, system: str, prompt: str, max_tokens: int) -> str:
        """Return the model's answer. Raises Unanswered if the service gives none."""
        prompts = (("system", system), ("user", prompt))
        request = {
            "model": self.model,
            "messages": [
                {"role": role, "content": without_surrogates(text)} for role, text in prompts
            ],
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        try:
            answer = self._service.post(request)
        except ModelUnavailable as error:
            raise Unanswered(error.reason) from error
        try:
            text = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            text = None
        if not isinstance(text, str):
            raise Unanswered(self._service.refusal("answered what is not a completion").reason)
        return text
