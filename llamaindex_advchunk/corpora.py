"""An index that follows the nodes of all documents."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core import VectorStoreIndex
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode

from advchunk.errors import checked


@checked
def update_nodes(index: VectorStoreIndex, nodes: Sequence[BaseNode]) -> None:
    """Change an index so that it has exactly these nodes; those that are the same stay as they are.

    The docstore of the index says what it has, so it must outlive the process if the vector store does, and be used for
    nothing else but documents. Nodes are embedded if they are new, or if anything of them is: their text, place,
    metadata or links. With ``vectors="plain"`` and a ``cache``, the parser sets the embeddings, and embeds only new
    texts.

    An update that is interrupted leaves an index without some nodes; the next one completes it.

    Parameters
    ----------
    index : an index over a vector store that deletes nodes by their ids.
    nodes : all nodes that the index is to have: of all documents, or of a corpus with its communities.

    >>> from llama_index.core import Document, VectorStoreIndex
    >>> from llamaindex_advchunk import DefaultEmbedding, RecursiveNodeParser
    >>> index, parser = VectorStoreIndex([], embed_model=DefaultEmbedding()), RecursiveNodeParser(max_tokens=4)
    >>> for text in ("Boil water. Add tea.", "Well: Boil water. Wait a bit."):
    ...     update_nodes(index, parser([Document(text=text, id_="tea")]))
    ...     print(sorted((node.start_char_idx, node.text) for node in index.docstore.docs.values()))
    [(0, 'Boil water. '), (12, 'Add tea.')]
    [(0, 'Well: '), (6, 'Boil water. '), (18, 'Wait a bit.')]
    """
    docstore, new = index.docstore, {node.node_id: node.model_copy(update={"embedding": None}) for node in nodes}
    old = {name: node for name, node in docstore.docs.items() if not isinstance(node, Document)}
    changed = [
        name for name in old | new if not (name in old and name in new and old[name].to_dict() == new[name].to_dict())
    ]
    if not changed:
        return
    docstore.add_documents([_unfinished((old | new)[name]) for name in changed])
    index.delete_nodes(changed)
    is_changed = set(changed).__contains__
    index.insert_nodes([node for node in nodes if is_changed(node.node_id)])
    docstore.add_documents([new[name] for name in changed if name in new])
    for name in old.keys() - new.keys():
        index.index_struct.nodes_dict.pop(name, None)
        docstore.delete_document(name)
    index.storage_context.index_store.add_index_struct(index.index_struct)  # which is saved with the index


def _unfinished(node: BaseNode) -> TextNode:
    """Return a node that differs from all others with its id: it stands in the docstore until the vector store is
    changed.
    """
    source = {NodeRelationship.SOURCE: node.source_node} if node.source_node else {}
    return TextNode(id_=node.node_id, relationships=source)
