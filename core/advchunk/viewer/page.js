"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const HUES = [250, 65, 145, 310, 100, 355, 195, 30];
  const BATCH = 200; // pieces that are laid out together
  const MOST_MATCHES = 2000;
  const element = (id) => document.getElementById(id);
  const make = (name, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };
  let current = { columns: [], active: 0, chunk: -1, matches: [], match: -1 };
  let pages = false;

  /** Return the first index whose value is at least `value`. */
  function lowerBound(values, value, of = (x) => x) {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (of(values[middle]) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A method's chunks of one document. Offsets count UTF-16 units here and characters in the data. */
  class Column {
    constructor(source, place) {
      const method = source.methods[place];
      const convert = (offset) => offset + lowerBound(source.wide, offset);
      this.source = source;
      this.place = place;
      this.chunks = method.chunks;
      this.threshold = method.threshold;
      this.signal = method.signal.map(([offset, score]) => [convert(offset), score]);
      this.cuts = new Map(Object.entries(method.cuts).map(([offset, cut]) => [convert(+offset), cut]));
      this.spans = this.chunks.map(({ spans }) => spans.map(convert));
      const parents = new Set(this.chunks.map((chunk) => chunk.parent));
      this.leaves = this.chunks.map((_, index) => index).filter((index) => !parents.has(index));
      this.pieces = this.tile();
      this.color();
      this.rankCuts();
    }

    /** Cut the text where a span of a leaf starts or ends: [start, end, chunk or -1, in several chunks]. */
    tile() {
      const events = [];
      for (const chunk of this.leaves)
        for (let i = 0; i < this.spans[chunk].length; i += 2)
          events.push([this.spans[chunk][i], 1, chunk], [this.spans[chunk][i + 1], 0, chunk]);
      events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const pieces = [], open = new Set();
      let start = 0;
      const add = (end) => {
        if (end > start) pieces.push({ start, end, chunk: open.size ? Math.max(...open) : -1, repeated: open.size > 1 });
        start = end;
      };
      for (const [offset, opens, chunk] of events) {
        add(offset);
        if (opens) open.add(chunk);
        else open.delete(chunk);
      }
      add(this.source.text.length);
      return pieces;
    }

    /** Give neighbors different colors, and all passages of a chunk the same. */
    color() {
      this.hues = new Map();
      let last = -1;
      for (const { chunk } of this.pieces) {
        if (!this.hues.has(chunk)) {
          const used = this.hues.get(last);
          const next = HUES.indexOf(used) + 1;
          this.hues.set(chunk, HUES[next % HUES.length]);
        }
        last = chunk;
      }
    }

    /** Rank the scores of the cuts from 0 to 1, for their width. */
    rankCuts() {
      const scores = [...this.cuts.values()].map((cut) => cut[1]).filter((score) => score !== null).sort((a, b) => a - b);
      this.rank = (score) => (score === null || scores.length < 2 ? 0 : lowerBound(scores, score) / (scores.length - 1));
    }

    pieceAt(offset) {
      return this.pieces[Math.max(lowerBound(this.pieces, offset + 1, (piece) => piece.start) - 1, 0)];
    }

    draw(others) {
      const node = element("column").content.cloneNode(true).firstElementChild;
      const tokens = this.leaves.map((index) => this.chunks[index].tokens).sort((a, b) => a - b);
      const sizes = tokens.length ? `, ${tokens[0]} to ${tokens.at(-1)} tokens, median ${tokens[tokens.length >> 1]}` : "";
      node.querySelector("h2").textContent = data.methods[this.place] || this.source.name;
      this.only = [...this.cuts.keys()].filter((offset) => others.some((other) => !other.cuts.has(offset)));
      const differences = others.length ? `; ${this.only.length} of ${this.cuts.size} boundaries only here` : "";
      node.querySelector(".facts").textContent = `${this.leaves.length} chunks${sizes}${differences}`;
      this.node = node;
      this.text = node.querySelector(".text");
      this.canvas = node.querySelector("canvas");
      this.canvas.setAttribute("aria-label", "Sizes of the chunks over the text" + (this.signal.length ? ", and the scores of the gaps" : ""));
      this.fill();
      this.canvas.addEventListener("click", (event) => {
        const share = event.offsetX / this.canvas.clientWidth;
        select(this, this.pieceAt(Math.floor(share * this.source.text.length)).chunk);
      });
      for (const kind of ["click", "mouseover"])
        this.text.addEventListener(kind, (event) => {
          const piece = event.target.closest("[data-chunk]");
          if (!piece) return;
          if (kind === "click") select(this, +piece.dataset.chunk, false);
          else if (current.chunk < 0) describe(this, +piece.dataset.chunk);
        });
      this.text.addEventListener("scroll", () => follow(this), { passive: true });
      return node;
    }

    fill() {
      this.text.replaceChildren(...(pages ? this.drawPages() : this.drawText()));
    }

    drawText() {
      const only = new Set(this.only), batches = [];
      this.nodes = new Map(this.leaves.map((index) => [index, []]));
      for (const [index, piece] of this.pieces.entries()) {
        if (index % BATCH === 0) batches.push(make("div", { className: "batch" }));
        const batch = batches.at(-1), cut = this.cuts.get(piece.start);
        if (cut) {
          const mark = make("span", { className: only.has(piece.start) ? "cut only" : "cut", title: cutText(cut) });
          if (cut[1] !== null) mark.style.borderLeftWidth = `${1 + Math.round(4 * this.rank(cut[1]))}px`;
          batch.append(mark);
        }
        const node = make("span", { textContent: this.source.text.slice(piece.start, piece.end) });
        piece.node = node;
        if (piece.chunk >= 0) {
          node.className = piece.repeated ? "piece repeated" : "piece";
          node.dataset.chunk = piece.chunk;
          node.style.setProperty("--hue", this.hues.get(piece.chunk));
          this.nodes.get(piece.chunk).push(node);
        }
        batch.append(node);
      }
      return batches;
    }

    drawPages() {
      const boxes = this.source.pages, figures = new Map();
      const width = Math.max(...boxes.map((box) => box[3])) * 1.05, height = Math.max(...boxes.map((box) => box[4])) * 1.05;
      this.nodes = new Map(this.leaves.map((index) => [index, []]));
      for (const [page, left, top, right, bottom, start, end] of boxes) {
        if (!figures.has(page)) {
          const figure = make("figure", { className: "page" }, make("figcaption", { textContent: `page ${page}` }));
          figure.style.aspectRatio = `${width} / ${height}`;
          figures.set(page, figure);
        }
        const offset = start + lowerBound(this.source.wide, start);
        const { chunk } = this.pieceAt(offset);
        const box = make("button", { className: "box", textContent: this.source.text.slice(offset, Math.min(offset + end - start, offset + 600)) });
        const place = { left: left / width, top: top / height, width: (right - left) / width, height: (bottom - top) / height };
        for (const [name, share] of Object.entries(place)) box.style[name] = `${100 * share}%`;
        box.style.setProperty("--hue", this.hues.get(chunk));
        box.dataset.chunk = chunk;
        this.nodes.get(chunk)?.push(box);
        figures.get(page).append(box);
      }
      return figures.values();
    }

    /** Draw the size of each chunk where it starts, and the signal with its threshold over it. */
    drawOverview() {
      const ratio = devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = this.canvas;
      if (!width) return;
      Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
      const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
      const context = this.canvas.getContext("2d"), scale = width / Math.max(this.source.text.length, 1);
      context.scale(ratio, ratio);
      const base = height - 1, top = this.signal.length ? height / 2 : 4;
      const largest = Math.max(...this.leaves.map((index) => this.chunks[index].tokens), 1);
      for (const { start, end, chunk } of this.pieces) {
        if (chunk < 0) continue;
        const size = (base - top) * (this.chunks[chunk].tokens / largest);
        context.fillStyle = `oklch(${color("--bar")} ${this.hues.get(chunk)})`;
        context.fillRect(start * scale, base - size, Math.max((end - start) * scale - 0.5, 0.5), size);
      }
      if (this.signal.length) {
        const scores = this.signal.map(([, score]) => score).concat(this.threshold ?? []);
        const low = Math.min(...scores), high = Math.max(...scores, low + 1e-9);
        const y = (score) => top - 6 - ((score - low) / (high - low)) * (top - 10);
        context.strokeStyle = color("--signal");
        context.beginPath();
        for (const [offset, score] of this.signal) context.lineTo(offset * scale, y(score));
        context.stroke();
        if (this.threshold !== null) {
          context.strokeStyle = color("--threshold");
          context.setLineDash([4, 3]);
          context.strokeRect(0, y(this.threshold), width, 0);
          context.setLineDash([]);
        }
        context.fillStyle = color("--quiet");
        for (const offset of this.cuts.keys()) context.fillRect(offset * scale, top - 4, 1, 5);
      }
      if (this === current.columns[current.active] && current.chunk >= 0) {
        context.fillStyle = color("--ring");
        for (let i = 0; i < this.spans[current.chunk].length; i += 2) {
          const [start, end] = this.spans[current.chunk].slice(i, i + 2);
          context.fillRect(start * scale, 0, Math.max((end - start) * scale, 2), 3);
        }
      }
    }
  }

  const cutText = ([reason, score]) => (score === null ? reason : `${reason}, score ${score}`);

  /** Show the facts of a chunk. */
  function describe(column, index) {
    const chunk = column.chunks[index], list = make("dl"), size = column.spans[index].length / 2;
    const fact = (name, value) => list.append(make("dt", { textContent: name }), make("dd", { textContent: value }));
    fact("tokens", chunk.tokens);
    if (chunk.level) fact("level", chunk.level);
    if (chunk.parent !== null) fact("parent", chunk.parent);
    if (chunk.context) fact("context", chunk.context);
    const places = make("dd");
    for (let i = 0; i < 2 * size; i += 2) {
      const jump = make("button", { textContent: `${chunk.spans[i]}–${chunk.spans[i + 1]}`, title: "Go to this passage" });
      jump.addEventListener("click", () => column.nodes.get(index)?.[i / 2]?.scrollIntoView({ block: "center" }));
      places.append(jump, " ");
    }
    list.append(make("dt", { textContent: size === 1 ? "span" : `${size} spans` }), places);
    const cut = column.cuts.get(column.spans[index].at(-1));
    if (cut) fact("ends by", cutText(cut));
    for (const [name, value] of Object.entries(chunk.metadata ?? {}))
      fact(name, typeof value === "string" ? value : JSON.stringify(value));
    fact("id", chunk.id);
    const name = data.methods[column.place];
    element("details").replaceChildren(make("h3", { textContent: `Chunk ${index}${name && current.columns.length > 1 ? ` of ${name}` : ""}` }), list);
  }

  /** Make a chunk the current one; -1 for none. */
  function select(column, index, scroll = true) {
    document.querySelectorAll(".current").forEach((node) => node.classList.remove("current"));
    current.active = current.columns.indexOf(column);
    current.chunk = index;
    if (index >= 0) {
      const nodes = column.nodes.get(index) ?? [];
      nodes.forEach((node) => node.classList.add("current"));
      if (scroll) nodes[0]?.scrollIntoView({ block: "center" });
      describe(column, index);
    }
    current.columns.forEach((other) => other.drawOverview());
  }

  function step(by) {
    const column = current.columns[current.active], place = column.leaves.indexOf(current.chunk);
    const next = place < 0 ? (by > 0 ? 0 : column.leaves.length - 1) : Math.min(Math.max(place + by, 0), column.leaves.length - 1);
    if (column.leaves.length) select(column, column.leaves[next]);
  }

  /** Go to the next boundary that some method does not have. */
  function nextDifference() {
    const offsets = [...new Set(current.columns.flatMap((column) => column.only))].sort((a, b) => a - b);
    if (!offsets.length) return;
    const next = offsets[lowerBound(offsets, (current.difference ?? -1) + 1)] ?? offsets[0];
    current.difference = next;
    const owner = current.columns.find((column) => column.only.includes(next));
    select(owner, owner.pieceAt(next).chunk);
    scrollOthers(owner, next);
  }

  let quietUntil = 0, scheduled = false; // while columns are scrolled by the script
  function follow(column) {
    if (pages || scheduled || performance.now() < quietUntil || current.columns.length < 2) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      const box = column.text.getBoundingClientRect();
      const node = document.elementFromPoint(box.left + 24, box.top + 24)?.closest("[data-chunk]");
      if (!node) return;
      const piece = column.pieces.find((candidate) => candidate.node === node);
      scrollOthers(column, piece.start, node.getBoundingClientRect().top - box.top);
    });
  }

  function scrollOthers(column, offset, shift = 80) {
    quietUntil = performance.now() + 150;
    for (const other of current.columns) {
      if (other === column || !other.pieceAt(offset)?.node) continue;
      const box = other.text.getBoundingClientRect();
      other.text.scrollTop += other.pieceAt(offset).node.getBoundingClientRect().top - box.top - shift;
    }
  }

  /** Find a text, ignoring case, and highlight its places. */
  function find(query) {
    const text = current.columns[0].source.text, matches = [];
    if (query) {
      const pattern = new RegExp(query.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&"), "giu");
      for (const match of text.matchAll(pattern)) if (matches.push([match.index, match.index + match[0].length]) >= MOST_MATCHES) break;
    }
    Object.assign(current, { matches, match: -1 });
    if (window.Highlight && !pages) {
      const ranges = current.columns.flatMap((column) => matches.map(([start, end]) => rangeOf(column, start, end)));
      CSS.highlights.set("found", new Highlight(...ranges));
    }
    showMatches();
  }

  function rangeOf(column, start, end) {
    const range = new Range(), first = column.pieceAt(start), last = column.pieceAt(end - 1);
    range.setStart(first.node.firstChild, start - first.start);
    range.setEnd(last.node.firstChild, end - last.start);
    return range;
  }

  function nextMatch() {
    if (!current.matches.length) return;
    current.match = (current.match + 1) % current.matches.length;
    const column = current.columns[current.active];
    select(column, column.pieceAt(current.matches[current.match][0]).chunk);
    showMatches();
  }

  function showMatches() {
    const { matches, match } = current, more = matches.length >= MOST_MATCHES ? "or more " : "";
    element("matches").textContent = element("find").value ? `${match < 0 ? "" : `${match + 1} of `}${matches.length} ${more}found` : "";
  }

  function open(place) {
    const source = data.documents[place];
    pages = pages && source.pages.length > 0;
    const columns = data.methods.map((_, index) => new Column(source, index));
    current = { columns, active: 0, chunk: -1, matches: [], match: -1 };
    element("columns").replaceChildren(...columns.map((column) => column.draw(columns.filter((other) => other !== column))));
    element("layout").hidden = !source.pages.length;
    element("difference").hidden = columns.length < 2;
    element("more-keys").textContent = columns.length < 2 ? "" : ", d for the next difference";
    columns.forEach((column) => column.drawOverview());
    find(element("find").value);
  }

  function toggleLayout() {
    if (element("layout").hidden) return;
    pages = !pages;
    element("layout").setAttribute("aria-pressed", pages);
    current.columns.forEach((column) => column.fill());
    select(current.columns[current.active], current.chunk);
    find(element("find").value);
  }

  const keys = { j: () => step(1), k: () => step(-1), d: nextDifference, p: toggleLayout, "/": () => element("find").focus(), n: nextMatch };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.target.blur?.();
      select(current.columns[current.active], -1);
    } else if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) {
      if (event.target === element("find") && event.key === "Enter") nextMatch();
    } else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  element("find").addEventListener("input", (event) => find(event.target.value));
  element("next").addEventListener("click", () => step(1));
  element("previous").addEventListener("click", () => step(-1));
  element("difference").addEventListener("click", nextDifference);
  element("layout").addEventListener("click", toggleLayout);
  addEventListener("resize", () => current.columns.forEach((column) => column.drawOverview()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current.columns.forEach((column) => column.drawOverview()));

  const chooser = element("documents");
  chooser.hidden = data.documents.length < 2;
  chooser.querySelector("select").append(...data.documents.map((source, index) => make("option", { value: index, textContent: source.name || `document ${index + 1}` })));
  chooser.querySelector("select").addEventListener("change", (event) => open(+event.target.value));
  open(0);
})();
