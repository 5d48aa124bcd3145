"""Find clauses without a parser, by connectives, punctuation and verbs."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from advchunk.chunkers.experimental.edus.lexicon import BREAKS, COMMAS, SPACED_BREAKS, Connective, Lexicon, Token

_PAIRS = dict(zip('([{（"“„«「『《', ')]}）"”“»」』》', strict=True))  # noqa: RUF001
_QUOTES, _QUOTES_END = frozenset('"“„«「『'), frozenset('"”“»」』')
_TAG = 6  # maximum words of "he said" after a quotation
_REPORT = 12  # words within which reported speech without "that" has its verb
_REACH = 3  # words within which "that" follows a verb of saying
_CLAUSE = 2  # words that count as a clause in a language without known verbs


def clause_ends(sentence: str, lexicon: Lexicon) -> list[int]:
    """Return the ends of all units of a sentence but the last, in linear time, without the white space after them."""
    tokens = lexicon.tokens(sentence)
    return [tokens[i - 1].end for i in _Sentence(tokens, lexicon).starts()]


class _Sentence:
    """A sentence, parsed up to the unit that begins with token ``last``."""

    def __init__(self, tokens: Sequence[Token], lexicon: Lexicon) -> None:
        self.tokens, self.lexicon, self.last = tokens, lexicon, 0
        self.words = [token.text for token in tokens]
        self.inside = find_enclosed(self.words)
        # Brackets and quotations are kept whole, so words inside them are not evidence either.
        outside = [i for i, hidden in enumerate(self.inside) if not hidden]
        matches = ((i, lexicon.at(tokens, i)) for i in outside)
        self.connectives = {i: match for i, match in matches if match is not None and match[0].kind != "adverb"}
        self.enough = 1 if lexicon.verbs else _CLAUSE
        self.evidence = [0, *accumulate(not hidden and self.counts(i) for i, hidden in enumerate(self.inside))]
        visible = zip(self.words, self.inside, strict=True)
        self.sayings = [0, *accumulate(not hidden and word in lexicon.attribution for word, hidden in visible)]
        end = len(tokens)
        self.stops = sorted({*self.connectives, *(i for i in outside if self.words[i] in BREAKS), end})
        self.commas = [i for i in outside if self.words[i] in COMMAS]
        self.pauses = sorted({*self.stops, *self.commas})
        self.resumed = [i for i in self.commas if i + 2 <= end and self.clause(i + 1, i + 2)]  # by a verb

    def starts(self) -> list[int]:
        """Return the first tokens of all units except the first."""
        starts = []
        for i in range(1, len(self.tokens)):
            if not self.inside[i] and self.words[i] not in COMMAS | BREAKS and self.begins(i):
                starts.append(i)
                self.last = i
        return starts

    def begins(self, i: int) -> bool:
        before = self.words[i - 1]
        if before in BREAKS:
            return self.after_break(i)
        if i in self.connectives:
            connective, end = self.connectives[i]
            if connective.kind == "conjunction":
                return self.conjoined(i, end)
            return self.clause(self.last, i) and self.subordinate(connective, i, end)
        if before in COMMAS and (self.after_fronted(i) or self.participial(i) or self.with_preposition(i)):
            return True
        return self.reported(i) or self.quoted(i) or self.speech_tag(i)

    def counts(self, i: int) -> bool:  # a finite verb, or any word if verbs are unknown
        return self.lexicon.finite(self.words, i) if self.lexicon.verbs else self.words[i][0].isalnum()

    def clause(self, start: int, end: int) -> bool:
        return self.evidence[max(start, end)] - self.evidence[start] >= self.enough

    def stop(self, i: int) -> int:
        """Return the first connective or semicolon after token ``i``, or the end."""
        return self.stops[bisect_right(self.stops, i)]

    def pause(self, i: int) -> int:
        """Return the first connective, semicolon or comma after token ``i``, or the end."""
        return self.pauses[bisect_right(self.pauses, i)]

    def is_listed(self, i: int) -> bool:
        """Return True if the words between the last two commas before token ``i`` are not a clause: "salt, |"."""
        place = bisect_left(self.commas, i - 1)
        before = self.commas[place - 1] if place else -1
        return self.words[i - 1] in COMMAS and before > self.last and not self.clause(before + 1, i)

    def host_goes_on(self, i: int) -> bool:
        """Return True if the clause at ``i`` is followed by the rest of its host: ", who had gone, came"."""
        place = bisect_right(self.resumed, i)
        return place < len(self.resumed) and self.resumed[place] < self.stop(i)

    # The rest are rules for the start of a unit.

    def after_break(self, i: int) -> bool:
        """After a semicolon or colon: a clause after a clause, or an adverb; after a dash, only an adverb."""
        mark = self.words[i - 1]
        if mark in SPACED_BREAKS and self.tokens[i].start == self.tokens[i - 1].end:  # "12:30", "https://"
            return False
        if self.words[i] in _QUOTES:
            return self.says(self.last, i)
        both = mark in ";；:：" and self.clause(self.last, i - 1) and self.clause(i, self.stop(i))
        return both or self.adverb(i) > i

    def conjoined(self, i: int, end: int) -> bool:
        """Before a conjunction, if the clause after it has its own subject."""
        j = self.adverb(end)
        if j >= len(self.words) or not self.clause(self.last, i):
            return False
        if self.words[j] in self.lexicon.complementizers and self.words[self.last] in self.lexicon.complementizers:
            return self.clause(j + 1, self.stop(j))
        if j in self.connectives:  # "and when he came, she left"
            return self.connectives[j][0].kind == "subordinator" and self.clause(self.connectives[j][1], self.stop(j))
        no_subject = self.lexicon.finite(self.words, j) or self.words[j] in self.lexicon.prepositions
        if no_subject or not self.clause(j, self.stop(j)) or self.is_listed(i):
            return False
        noun = self.lexicon.verbs and self.words[j] in self.lexicon.determiners and self.clause(j, self.pause(j))
        return self.words[i - 1] in COMMAS or bool(noun) or self.words[j] in self.lexicon.subjects

    def subordinate(self, connective: Connective, i: int, end: int) -> bool:
        """Before a subordinator, a relative pronoun, or a preposition whose phrase counts."""
        if connective.kind == "preposition":
            return self.pause(i) == self.stop(i) or self.pause(i) + 1 == self.stop(i)
        clause = self.clause(end if self.lexicon.verbs else i, self.stop(i))
        participle = connective.kind == "subordinator" and self.lexicon.is_participle(self.words, end)
        return (clause or participle) and not self.host_goes_on(i)

    def after_fronted(self, i: int) -> bool:
        """After a comma that ends a fronted clause or phrase: "When he came, she left"."""
        start = self.last
        if start in self.connectives and self.connectives[start][0].kind == "conjunction":
            start = self.adverb(self.connectives[start][1])
        place = bisect_right(self.commas, i)
        comma = self.commas[place] if place < len(self.commas) else len(self.words)
        if start >= i or not self.clause(i, comma) or self.lexicon.finite(self.words, i):
            return False
        if start not in self.connectives:
            return self.lexicon.is_participle(self.words, start)
        connective, end = self.connectives[start]
        if connective.kind == "subordinator":
            start = end if self.lexicon.verbs else start
            return self.clause(start, i) or self.lexicon.is_participle(self.words, end)
        return connective.kind == "preposition"

    def participial(self, i: int) -> bool:
        """After a comma before a participle: ", leaving the port empty"."""
        end = self.pause(i)
        listed = end + 1 in self.connectives and self.words[end] in COMMAS
        participle = self.lexicon.is_participle(self.words, i) and end > i + 1 and not listed
        return participle and self.clause(self.last, i) and not self.host_goes_on(i)

    def with_preposition(self, i: int) -> bool:
        """After a comma before a preposition and a relative pronoun: ", in which"."""
        word = self.words[i + 1] if i + 1 < len(self.words) else ""
        connective = self.lexicon.connectives.get(word)
        relative = connective is not None and connective.kind == "relative" and self.words[i].isalpha()
        return relative and self.clause(self.last, i) and self.clause(i + 2, self.stop(i)) and not self.host_goes_on(i)

    def reported(self, i: int) -> bool:
        """After a verb of saying or thinking: "He said | that it rained", "He thinks | it will"."""
        if self.words[i] in self.lexicon.complementizers:
            return self.says_that(i) and self.clause(i + 1, self.stop(i))
        opens = self.words[i] in self.lexicon.subjects or self.words[i] in self.lexicon.determiners
        verb = opens and bool(self.lexicon.verbs) and self.says(i - 1, i)
        noun = i > 1 and self.words[i - 2] in self.lexicon.determiners  # "the report"
        if not verb or noun:
            return False
        end = min(self.pause(i), i + _REPORT)
        of_noun = (j for j in range(i, end) if self.words[j] in self.lexicon.complementizers)  # "the view that"
        return self.clause(i + 1, next(of_noun, end))

    def quoted(self, i: int) -> bool:
        """Before a quotation after a comma: "He said, | ..."."""
        opens = self.words[i] in _QUOTES and i + 1 < len(self.words) and self.inside[i + 1]
        return opens and self.words[i - 1] in COMMAS and self.says(self.last, i)

    def speech_tag(self, i: int) -> bool:
        """Before a verb of saying after the speech: ", he said"."""
        end, quotation = self.pause(i), self.words[i - 1] in _QUOTES_END and self.inside[i - 1]
        if end - i > _TAG or not self.says(i, min(i + _REACH + 1, end)):
            return False
        if quotation:
            return True
        opens = self.words[i] in self.lexicon.subjects or self.words[i] in self.lexicon.determiners
        one_verb = self.evidence[end] - self.evidence[i] == 1
        return opens and one_verb and self.words[i - 1] in COMMAS and self.clause(self.last, i)

    def says(self, start: int, end: int) -> bool:
        return self.sayings[end] > self.sayings[start]

    def says_that(self, i: int) -> bool:
        """Return True if "that" at token ``i`` belongs to a verb ("told him"), not to a noun ("confirmed the view")."""
        lexicon, start = self.lexicon, max(self.last, i - _REACH)
        verb = next((j for j in range(i - 1, start - 1, -1) if self.says(j, j + 1)), None)
        if verb is None:
            return False
        return self.words[verb] in lexicon.addressing or lexicon.determiners.isdisjoint(self.words[verb + 1 : i])

    def adverb(self, i: int) -> int:
        """Return the index after the adverb at token ``i`` and its comma; ``i`` if there is none."""
        match = self.lexicon.at(self.tokens, i) if i < len(self.tokens) else None
        if match is None or match[0].kind != "adverb":
            return i
        end = match[1]
        return end + 1 if end < len(self.words) and self.words[end] in COMMAS else end


def find_enclosed(words: Sequence[str]) -> list[bool]:
    """Return True for each token inside a pair of brackets or quotation marks; also for the closing mark."""
    change, awaited, opened = [0] * (len(words) + 1), Counter[str](), list[tuple[str, int]]()
    for i, word in enumerate(words):
        if awaited[word]:
            closes = ""
            while closes != word:
                closes, start = opened.pop()
                awaited[closes] -= 1
            change[start + 1] += 1
            change[i + 1] -= 1
        elif word in _PAIRS:
            opened.append((_PAIRS[word], i))
            awaited[_PAIRS[word]] += 1
    return [depth > 0 for depth in accumulate(change[:-1])]
