"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const HUES = [250, 65, 145, 310, 100, 355, 195, 30];
  const BATCH = 10000; // characters that are laid out together, where pieces allow
  const MOST_MATCHES = 2000;
  const element = (id) => document.getElementById(id);
  const make = (name, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };
  let current = { columns: [], active: 0, chunk: -1, offset: -1, matches: [], match: -1 };
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

  /** The places of a document that are drawn apart, in order: blocks, and the cells of tables. Offsets count UTF-16 units. */
  function areasOf(source) {
    const convert = (offset) => offset + lowerBound(source.wide, offset), areas = [];
    source.blocks.forEach(([kind, level, rows], block) => rows.forEach((row, number) => {
      for (let i = 0; i < row.length; i += 2)
        areas.push({ kind, level, block, row: number, start: convert(row[i]), end: convert(row[i + 1]) });
    }));
    return areas.sort((a, b) => a.start - b.start);
  }

  /** A method's chunks of one document, or the passages for the question. Offsets count UTF-16 units here and characters in the data. */
  class Column {
    constructor(source, place) {
      const method = source.methods[place];
      const convert = (offset) => offset + lowerBound(source.wide, offset);
      this.source = source;
      this.place = place;
      this.isAnswer = data.asked && place === 0;
      this.noun = this.isAnswer ? "passage" : "chunk";
      this.chunks = method.chunks;
      this.areas = areasOf(source);
      this.threshold = method.threshold;
      this.summary = method.summary ?? "";
      this.sentences = (method.sentences ?? []).map(([offset, score]) => [convert(offset), score]);
      this.signal = method.signal.map(([offset, score]) => [convert(offset), score]);
      this.cuts = new Map(Object.entries(method.cuts).map(([offset, cut]) => [convert(+offset), cut]));
      this.spans = this.chunks.map(({ spans }) => spans.map(convert));
      const parents = new Set(this.chunks.map((chunk) => chunk.parent));
      this.leaves = this.chunks.map((_, index) => index).filter((index) => !parents.has(index));
      this.pieces = this.tile();
      this.color();
      this.rankCuts();
    }

    /** Cut the text where a span of a leaf or an area starts or ends, or a sentence starts: [start, end, chunk or -1, in several chunks]. */
    tile() {
      const events = this.sentences.map(([offset]) => [offset, 2, -1]);
      for (const { start, end } of this.areas) events.push([start, 2, -1], [end, 2, -1]);
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
        if (opens === 1) open.add(chunk);
        else if (!opens) open.delete(chunk);
      }
      add(this.source.text.length);
      return pieces;
    }

    /** Give neighbors different colors, and all passages of a chunk the same; those for the question have one color. */
    color() {
      this.hues = new Map();
      let last = -1;
      for (const { chunk } of this.pieces) {
        if (!this.hues.has(chunk)) {
          const used = this.hues.get(last);
          const next = HUES.indexOf(used) + 1;
          this.hues.set(chunk, this.isAnswer ? 75 : HUES[next % HUES.length]);
        }
        last = chunk;
      }
    }

    /** Rank the scores of the cuts from 0 to 1, for their width. */
    rankCuts() {
      const scores = [...this.cuts.values()].map((cut) => cut[1]).filter((score) => score !== null).sort((a, b) => a - b);
      this.rank = (score) => (score === null || scores.length < 2 ? 0 : lowerBound(scores, score) / (scores.length - 1));
    }

    placeAt(offset) {
      return Math.max(lowerBound(this.pieces, offset + 1, (piece) => piece.start) - 1, 0);
    }

    pieceAt(offset) {
      return this.pieces[this.placeAt(offset)];
    }

    /** Return the chunks that share more than white space with some spans. */
    sharing(spans) {
      const chunks = new Set();
      for (let i = 0; i < spans.length; i += 2) {
        const first = lowerBound(this.pieces, spans[i] + 1, (piece) => piece.start) - 1;
        for (let place = first; place < this.pieces.length && this.pieces[place].start < spans[i + 1]; place++) {
          const { start, end, chunk } = this.pieces[place];
          const shared = this.source.text.slice(Math.max(start, spans[i]), Math.min(end, spans[i + 1]));
          if (chunk >= 0 && shared.trim()) chunks.add(chunk);
        }
      }
      return [...chunks];
    }

    /** Return how many pixels below the top of the column an offset is shown, or NaN if it is not. */
    heightOf(offset) {
      let place = this.placeAt(offset);
      while (!pages && this.pieces[place].isGap && place + 1 < this.pieces.length) offset = this.pieces[++place].start;
      const { chunk, node } = this.pieces[place];
      if (!pages) node.closest(".batch").style.contentVisibility = "visible"; // otherwise its place is an estimate
      const shown = pages ? this.nodes.get(chunk)?.[0] : rangeOf(this, offset, offset + 1);
      return (shown?.getBoundingClientRect().top ?? NaN) - this.text.getBoundingClientRect().top;
    }

    draw(others) {
      const node = element("column").content.cloneNode(true).firstElementChild;
      const tokens = this.leaves.map((index) => this.chunks[index].tokens).sort((a, b) => a - b);
      const range = `${tokens[0]} to ${tokens.at(-1)} tokens, median ${tokens[tokens.length >> 1]}`;
      const sizes = tokens.length > 1 ? `, ${range}` : tokens.length ? `, ${tokens[0]} tokens` : "";
      node.querySelector("h2").textContent = data.methods[this.place] || this.source.name;
      node.classList.toggle("passages", this.isAnswer);
      this.only = [...this.cuts.keys()].filter((offset) => others.some((other) => !other.cuts.has(offset)));
      node.querySelector(".facts").textContent = `${plural(this.noun, this.leaves.length)}${sizes}`;
      if (others.length) {
        const textContent = `${this.only.length} of ${this.cuts.size} boundaries only here`;
        node.querySelector(".facts").append(" ", make("span", { className: "differences", textContent }));
      }
      if (this.summary) node.querySelector(".facts").append(make("br"), this.summary);
      this.node = node;
      this.text = node.querySelector(".text");
      this.text.setAttribute("role", "region");
      this.text.setAttribute("aria-label", node.querySelector("h2").textContent || "text");
      this.canvas = node.querySelector("canvas");
      this.canvas.setAttribute("aria-label", `Sizes of the ${this.noun}s over the text` + (this.signal.length ? ", and the scores of the gaps" : ""));
      this.fill();
      this.canvas.addEventListener("click", (event) => {
        const share = event.offsetX / this.canvas.clientWidth;
        select(this, this.pieceAt(Math.floor(share * this.source.text.length)).chunk);
      });
      for (const kind of ["click", "mouseover"])
        this.text.addEventListener(kind, (event) => {
          const piece = event.target.closest("[data-chunk]");
          if (!piece) return;
          const chunk = +piece.dataset.chunk, isSelected = this === current.columns[current.active] && chunk === current.chunk;
          if (kind === "mouseover") {
            if (current.chunk < 0) mark(this, chunk);
          } else if (isSelected) select(this, -1);
          else select(this, chunk, this.pieces.find(({ node }) => node === piece)?.start, false);
        });
      this.text.addEventListener("scroll", () => follow(this), { passive: true });
      return node;
    }

    fill() {
      this.text.replaceChildren(...(pages ? this.drawPages() : this.drawText()));
    }

    drawText() {
      const only = new Set(this.only), batches = [];
      let first = -Infinity, mark = null, sentence = 0, place = 0, area = null, holder = null;
      this.nodes = new Map(this.leaves.map((index) => [index, []]));
      for (const piece of this.pieces) {
        const textContent = this.source.text.slice(piece.start, piece.end), cut = this.cuts.get(piece.start);
        while (this.areas[place]?.end <= piece.start) place++;
        const own = this.areas[place]?.start <= piece.start ? this.areas[place] : null;
        piece.isGap = this.areas.length > 0 && !own && !/[\p{L}\p{N}]/u.test(textContent); // white space, or a rule
        if ((own?.block !== area?.block || !own) && !mark && piece.start - first >= BATCH) {
          batches.push(make("div", { className: "batch" }));
          [first, holder] = [piece.start, null];
        }
        const batch = batches.at(-1);
        batch.style.containIntrinsicSize = `auto ${(piece.end - first) / 2}px`;
        if (own && own !== area) holder = this.hold(own, area, holder, batch);
        else if (!own && !piece.isGap) holder = batch;
        if (!piece.isGap) area = own;
        holder ??= batch;
        if (cut) {
          const mark = make("span", { className: only.has(piece.start) ? "cut only" : "cut", title: cutText(cut) });
          if (cut[1] !== null) mark.style.borderLeftWidth = `${1 + Math.round(4 * this.rank(cut[1]))}px`;
          holder.append(mark);
        }
        const node = make("span", { textContent });
        piece.node = node;
        if (piece.chunk >= 0) {
          node.className = piece.repeated ? "piece repeated" : "piece";
          node.dataset.chunk = piece.chunk;
          node.style.setProperty("--hue", this.hues.get(piece.chunk));
          this.nodes.get(piece.chunk).push(node);
        }
        while (sentence < this.sentences.length && this.sentences[sentence][0] <= piece.start) sentence++;
        if (sentence) node.title = `score ${this.sentences[sentence - 1][1]}`;
        node.classList.toggle("gap", piece.isGap);
        if (!this.isAnswer || piece.chunk < 0) mark = null;
        else if (mark?.dataset.place !== String(piece.chunk) || mark.parentNode !== holder) {
          mark = make("mark");
          mark.dataset.place = piece.chunk;
          holder.append(mark);
        }
        (mark ?? holder).append(node);
      }
      if (this.isAnswer) this.addEntries();
      return batches;
    }

    /** Return the element that holds the text of an area, the next after another with its own. */
    hold(area, last, holder, batch) {
      if (area.kind !== "cells") {
        const node = make("div", { className: `block ${area.kind}` });
        node.style.setProperty("--level", area.level);
        if (area.kind === "heading") {
          node.setAttribute("role", "heading");
          node.setAttribute("aria-level", Math.min(area.level + 2, 9));
        }
        batch.append(node);
        return node;
      }
      const cell = make(area.row ? "td" : "th"), isNext = last?.block === area.block && holder?.closest("table");
      const row = isNext && last.row === area.row ? holder.parentNode : make("tr");
      row.append(cell);
      if (row.cells.length > 1) return cell;
      const table = isNext ? holder.closest("table") : make("table");
      table.append(row);
      if (!isNext) batch.append(make("div", { className: "block table" }, table));
      return cell;
    }

    /** Let the list of passages show which one is marked. */
    addEntries() {
      for (const entry of entries)
        if (data.documents[entry.dataset.document] === this.source) this.nodes.get(+entry.dataset.place).push(entry);
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
        if (chunk >= 0) box.style.setProperty("--hue", this.hues.get(chunk));
        box.dataset.chunk = chunk;
        this.nodes.get(chunk)?.push(box);
        figures.get(page).append(box);
      }
      if (this.isAnswer) this.addEntries();
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
      for (let i = 0; i < this.pieces.length; i++) {
        const { start, chunk } = this.pieces[i];
        while (this.pieces[i + 1]?.chunk === chunk) i++;
        if (chunk < 0) continue;
        const { end } = this.pieces[i];
        const size = (base - top) * (this.chunks[chunk].tokens / largest);
        context.fillStyle = `oklch(${color("--bar")} ${this.hues.get(chunk)})`;
        context.fillRect(start * scale, base - size, Math.max((end - start) * scale - (this.isAnswer ? 0 : 0.5), 0.5), size);
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

  const plural = (noun, count) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const cutText = ([reason, score, place]) =>
    (place ? `${reason}, at ${place}` : reason) + (score === null ? "" : `, score ${score}`);

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
      jump.addEventListener("click", () => show(column.spans[index][i]));
      places.append(jump, " ");
    }
    list.append(make("dt", { textContent: size === 1 ? "span" : `${size} spans` }), places);
    const cut = column.cuts.get(column.spans[index].at(-1));
    if (cut) fact("ends by", cutText(cut));
    for (const other of current.columns) if (other !== column) fact(`in ${data.methods[other.place] || "the chunks"}`, counterparts(column, index, other));
    for (const [name, value] of Object.entries(chunk.metadata ?? {}))
      fact(name, typeof value === "string" ? value : JSON.stringify(value));
    fact("id", chunk.id);
    const name = data.methods[column.place], of = name && current.columns.length > 1 ? ` of ${name}` : "";
    const title = column.isAnswer ? `Passage ${index + 1}` : `Chunk ${index}${of}`;
    element("details").replaceChildren(make("h3", { textContent: title }), list);
  }

  /** Return the numbers of the chunks of another method that share text with a chunk. */
  function counterparts(column, index, other) {
    const chunks = other.sharing(column.spans[index]), shown = chunks.map((chunk) => chunk + other.isAnswer);
    if (!chunks.length) return "none";
    if (chunks.length === 1 && String(other.spans[chunks[0]]) === String(column.spans[index])) return `${other.noun} ${shown[0]}, the same`;
    return `${other.noun}${chunks.length === 1 ? "" : "s"} ${shown.join(", ")}`;
  }

  /** Mark a chunk, and the chunks of the other methods that share text with it, and show its facts. */
  function mark(column, index) {
    document.querySelectorAll(".current, .counterpart").forEach((node) => node.classList.remove("current", "counterpart"));
    if (index < 0) return;
    const add = (owner, chunk, name) => owner.nodes.get(chunk)?.forEach((node) => node.classList.add(name));
    add(column, index, "current");
    for (const other of current.columns)
      if (other !== column) other.sharing(column.spans[index]).forEach((chunk) => add(other, chunk, "counterpart"));
    describe(column, index);
  }

  /** Make a chunk the current one, -1 for none, and show one of its offsets; the column itself may stay as it is. */
  function select(column, index, offset = column.spans[index]?.[0] ?? -1, scroll = true) {
    Object.assign(current, { active: current.columns.indexOf(column), chunk: index, offset });
    mark(column, index);
    if (index >= 0) show(offset, scroll ? null : column);
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
    const next = offsets[lowerBound(offsets, current.offset + 1)] ?? offsets[0];
    const owner = current.columns.find((column) => column.only.includes(next));
    select(owner, owner.pieceAt(next).chunk, next);
  }

  /** Scroll the other columns to what a column shows. */
  function follow(column, repetitions = 3) {
    const isFollowing = column !== leader && performance.now() < quietUntil;
    if (isFollowing || current.columns.length < 2) return;
    if (pages) return current.columns.forEach((other) => (other.text.scrollTop = column.text.scrollTop));
    const { left, top } = column.text.getBoundingClientRect();
    const nodes = [8, 24, 40, 56, 72].map((y) => {
      const point = document.elementFromPoint(left + 8, top + y);
      return point?.closest("span") ?? point?.closest(".block")?.querySelector("span.piece");
    });
    const piece = column.pieces.find(({ node }) => node && nodes.includes(node));
    if (piece) show(piece.start, column);
    else if (repetitions) requestAnimationFrame(() => follow(column, repetitions - 1)); // not yet laid out
  }

  let leader = null, quietUntil = 0, frame = 0;
  /** Show an offset in every column at the same height; `still` is a column that stays as it is. */
  function show(offset, still = null, repetitions = 3) {
    const height = still?.heightOf(offset) ?? 64;
    leader = still;
    quietUntil = performance.now() + 150;
    for (const column of current.columns)
      if (column !== still) column.text.scrollTop += column.heightOf(offset) - height || 0;
    cancelAnimationFrame(frame); // text that comes into view is laid out only then, and moves what is below
    if (repetitions) frame = requestAnimationFrame(() => show(offset, still, repetitions - 1));
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
    const [start] = current.matches[current.match];
    select(column, column.pieceAt(start).chunk, start);
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
    current = { columns, active: 0, chunk: -1, offset: -1, matches: [], match: -1 };
    const methods = columns.filter((column) => !column.isAnswer);
    const others = (column) => (column.isAnswer ? [] : methods.filter((other) => other !== column));
    element("columns").replaceChildren(...columns.map((column) => column.draw(others(column))));
    document.querySelectorAll(".strip").forEach((strip, index) => (strip.hidden = index !== place));
    element("layout").hidden = !source.pages.length;
    columns.forEach((column) => column.drawOverview());
    underline();
    find(element("find").value);
  }

  /** Underline the passages among the chunks. */
  function underline() {
    if (!data.asked || !window.Highlight || pages) return;
    const [answer, ...methods] = current.columns, ranges = [];
    for (const spans of answer.spans)
      for (let i = 0; i < spans.length; i += 2) ranges.push(...methods.map((column) => rangeOf(column, spans[i], spans[i + 1])));
    CSS.highlights.set("passage", new Highlight(...ranges));
  }

  function toggleLayout() {
    if (element("layout").hidden) return;
    pages = !pages;
    element("layout").setAttribute("aria-pressed", pages);
    current.columns.forEach((column) => column.fill());
    select(current.columns[current.active], current.chunk, current.offset);
    underline();
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
  /** Show the passage of an entry of the list. */
  function goTo({ dataset }) {
    const choice = element("documents").querySelector("select");
    if (current.columns[0]?.source !== data.documents[dataset.document]) open((choice.selectedIndex = +dataset.document));
    select(current.columns[0], +dataset.place);
  }

  const entries = [...document.querySelectorAll("#passages button")];
  for (const entry of entries) entry.addEventListener("click", () => goTo(entry));
  for (const strip of document.querySelectorAll(".curve"))
    strip.addEventListener("click", (event) => {
      const { left, width } = strip.getBoundingClientRect(), [column] = current.columns;
      const offset = Math.floor(Math.min((event.clientX - left) / width, 0.9999) * column.source.text.length);
      const { chunk } = column.pieceAt(offset);
      select(column, chunk, offset);
      if (chunk < 0) show(offset);
    });
  addEventListener("resize", () => current.columns.forEach((column) => column.drawOverview()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current.columns.forEach((column) => column.drawOverview()));

  const chooser = element("documents");
  chooser.hidden = data.documents.length < 2;
  chooser.querySelector("select").append(...data.documents.map((source, index) => make("option", { value: index, textContent: source.name || `document ${index + 1}` })));
  chooser.querySelector("select").addEventListener("change", (event) => open(+event.target.value));
  for (const id of ["difference", "difference-key"]) element(id).hidden = data.methods.length - data.asked < 2;
  if (entries.length) goTo(entries[0]);
  else open(0);
})();
