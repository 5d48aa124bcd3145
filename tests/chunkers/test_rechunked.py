"""An edited document is chunked again, and its ids are compared."""

import pytest

from advchunk import ConfigurationError, MSTSemanticChunker, RecursiveChunker

TEXT = "\n\n".join(f"Tea number {i} is green. Milk number {i} is white." for i in range(30))


@pytest.mark.parametrize("chunker", [RecursiveChunker(max_tokens=20), MSTSemanticChunker(max_tokens=20)])
def test_an_edit_keeps_the_ids_of_unchanged_chunks(chunker):
    old, edited = (
        chunker.chunk(TEXT),
        "# Drinks\n\n" + TEXT.replace("Milk number 14 is white", "Milk number 14 is cold"),
    )
    result = chunker.rechunk(old, edited)
    assert result.chunks == chunker.chunk(edited)
    before, after = [chunk.id for chunk in old], [chunk.id for chunk in result.chunks]
    assert result.kept == tuple(name for name in after if name in before)
    assert result.added == tuple(name for name in after if name not in before)
    assert result.removed == tuple(name for name in before if name not in after)
    assert len(result.kept) > len(before) - 4  # also behind the edits
    assert result.added
    assert result.removed


def test_all_may_be_new_or_gone():
    chunker = RecursiveChunker()
    assert chunker.rechunk(chunker.chunk("Cats."), "").removed == tuple(chunk.id for chunk in chunker.chunk("Cats."))
    assert chunker.rechunk([], "Cats.").added == tuple(chunk.id for chunk in chunker.chunk("Cats."))
    with pytest.raises(ConfigurationError, match="old_chunks must be Chunks"):
        chunker.rechunk(["Cats."], "Cats.")


def test_with_a_cache_only_what_was_edited_is_embedded():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return [[1.0, len(text)] for text in texts]

    embed.model_name = "counts"
    chunker = MSTSemanticChunker(max_tokens=20, embedder=embed, cache={})
    old = chunker.chunk(TEXT)
    asked.clear()
    chunker.rechunk(old, TEXT.replace("Milk number 14 is white", "Milk number 14 is cold"))
    assert 0 < len(asked) < 6
    assert all("14" in text for text in asked)
