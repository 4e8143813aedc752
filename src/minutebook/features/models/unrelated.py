"""The cosine of unrelated texts by a model of which it is not known.

Some models give any two texts .7, others .1: what a cosine says of relevance depends on it.
"""

import numpy as np

from minutebook.embedding.protocol import Rows

QUESTIONS = (
    "How long does bread bake?",
    "Who won the chess match last spring?",
    "Wie wird das Fahrrad repariert?",
    "What does the database port have to be?",
    "¿Dónde está la llave del coche?",
    "Why did the volcano erupt?",
    "Quand part le train pour Lyon ?",
    "鸟在冬天去哪里？",
)
PASSAGES = (
    "A loaf of rye bread bakes for fifty minutes at 220 degrees.",
    "Anna won the last game of the chess match in April.",
    "Die Kette des Fahrrads liegt neben dem Hinterrad und muss geölt werden.",
    "The database listens on port 5432 behind the proxy.",
    "La llave del coche está en el cajón de la cocina.",
    "Gas that rose from the magma made the volcano erupt.",
    "Le train pour Lyon part à huit heures du matin.",
    "许多鸟在冬天飞到温暖的南方。",
)
"""One subject each, in the order of the questions."""

HIGHEST = 0.95
"""The most that is believed: a model that tells nothing apart would leave no room above it."""


def unrelated_cosine(questions: Rows, passages: Rows) -> float:
    """Return the mean cosine of each question with the passages of the other subjects, in [0, HIGHEST].

    `questions` and `passages` are the vectors of QUESTIONS and PASSAGES, in their order.
    """
    cosines = questions @ passages.T
    others = ~np.eye(len(QUESTIONS), dtype=bool)
    return float(np.clip(cosines[others].mean(), 0.0, HIGHEST))
