"""Topics, planted in one paragraph, so that layout gives no hint."""

import numpy as np

CATS = (
    "The cat naps on the sofa. The kitten purrs and naps. A cat chases a mouse. Cats and kittens eat fish. "
    "My cat purrs on my lap. The kitten chases the cat. "
)
COURTS = (
    "The court heard the appeal. Judges ruled on the law. The court issued its ruling. A lawyer argued the law. "
    "The appeal went to the judge. The judge and the lawyer agreed. "
)

_TOPICS = (  # who, does what, to what
    ("farmer shepherd orchard village harvest", "grows feeds waters sells", "wheat apples sheep barley hay cattle"),
    (
        "surgeon nurse clinic patient hospital",
        "treats examines heals admits",
        "fever wounds infection fractures pain asthma",
    ),
    (
        "pianist orchestra choir singer conductor",
        "plays rehearses records hums",
        "sonatas melodies hymns waltzes songs operas",
    ),
    (
        "judge lawyer court jury prosecutor",
        "hears appeals settles argues",
        "lawsuits verdicts evidence contracts crimes trials",
    ),
    ("sailor captain ship harbor crew", "steers anchors repairs boards", "sails cargo masts decks hulls boats"),
    (
        "astronomer telescope comet planet galaxy",
        "orbits observes maps lights",
        "stars moons asteroids meteors nebulae skies",
    ),
)
_FILLERS = (
    "In the morning",
    "By now",
    "Every year",
    "At last",
    "For a while",
    "As a rule",
    "Once more",
    "Without haste",
)


def planted_topics(seed: int) -> tuple[str, list[int]]:
    """Return a text of four topics with 9 to 14 sentences each, and the numbers of the sentences that begin one."""
    rng = np.random.default_rng(seed)
    sentences, changes = list[str](), list[int]()
    for topic in rng.choice(len(_TOPICS), 4, replace=False):
        whos, acts, whats = (words.split() for words in _TOPICS[topic])
        changes.append(len(sentences))
        for _ in range(rng.integers(9, 15)):
            filler, who, act, what = (rng.choice(words) for words in (_FILLERS, whos, acts, whats))
            sentences.append(f"{filler}, the {who} {act} {what}.")
    return " ".join(sentences), changes[1:]
