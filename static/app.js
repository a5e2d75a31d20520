// The console's own script: shortcuts, the live stream, relative times, charts, dialogs, toasts and focus after a swap.
// Pages work without it; it adds what HTML alone cannot do. Every text that it shows comes from the server's templates.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const typing = (node) => node && node.closest("input, textarea, select, [contenteditable]");

  // --- Shortcuts: g then a letter jumps, / searches, j and k walk the rows, n and p the changes, Space pauses, ? lists them ---------------
  let jump = 0;

  const walk = (step) => {
    const rows = $$("[data-rows] tr, [data-rows] > li").filter((row) => !row.closest("thead") && $("a[href]", row));
    const here = rows.findIndex((row) => row.contains(document.activeElement));
    const row = rows[here < 0 ? (step > 0 ? 0 : rows.length - 1) : here + step];
    if (row) $("a.main[href], a[href]", row).focus();
  };
  const step = (by) => {
    const heads = $$(".changes > details > summary");
    const here = heads.findIndex((head) => head.parentElement.contains(document.activeElement));
    const head = heads[here < 0 ? (by > 0 ? 0 : heads.length - 1) : here + by];
    if (head) { head.focus(); head.scrollIntoView({ block: "nearest" }); }
  };
  const choose = () => {
    const row = document.activeElement.closest("[data-rows] tr, [data-rows] > li");
    const box = row && $("input[type=checkbox]:not([disabled])", row);
    if (box) box.click();
  };

  // Rows that can be chosen are fields of the form below them, which says how many there are and what to do with them.
  const tellChosen = () => {
    const bar = $("[data-bulk]");
    if (!bar) return;
    const boxes = $$(`input[name=pick][form="${bar.id}"]`), chosen = boxes.filter((box) => box.checked).length;
    const told = $("[data-chosen]", bar);
    told.textContent = chosen === 1 ? told.dataset.one : told.dataset.many.replace("{n}", chosen.toLocaleString("en"));
    bar.toggleAttribute("data-none", !chosen);
    $$("[data-all]").forEach((all) => {
      all.hidden = false;
      all.closest("label")?.removeAttribute("hidden");
      all.checked = chosen > 0 && chosen === boxes.length;
      all.indeterminate = chosen > 0 && chosen < boxes.length;
    });
  };
  document.addEventListener("change", ({ target }) => {
    if (target.matches("[data-all]")) $$(`input[name=pick][form="${$("[data-bulk]").id}"]`).forEach((box) => { box.checked = target.checked; });
    if (target.matches("[data-all], input[name=pick]")) tellChosen();
  });
  document.addEventListener("reset", () => setTimeout(tellChosen));
  // A list that is filtered anew keeps what was chosen of the rows that it still shows.
  let picked = new Set();
  document.addEventListener("htmx:beforeSwap", () => { picked = new Set($$("input[name=pick]:checked").map((box) => box.value)); });
  document.addEventListener("htmx:afterSwap", () => { $$("input[name=pick]").forEach((box) => { box.checked ||= picked.has(box.value); }); });
  addEventListener("pageshow", tellChosen);  // a browser that goes back keeps what was chosen

  const show = (id) => {
    const dialog = document.getElementById(id);
    if (!dialog || dialog.open) return;
    dialog.showModal();
    if (id === "palette") { $("#pq").select(); htmx.trigger("#pq", "palette"); }
  };

  document.addEventListener("keydown", (event) => {
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) return moveHint(event);
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") return togglePalette(event);
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || $("dialog:modal")) return;
    if (Date.now() - jump < 1500) {
      const link = $(`[data-go="${CSS.escape(event.key)}"]`);
      jump = 0;
      if (link) { event.preventDefault(); link.click(); return; }
    }
    if (event.key === "g") jump = Date.now();
    else if (event.key === "/") { const field = $("[data-search]"); if (field) { event.preventDefault(); field.focus(); field.select(); } }
    else if (event.key === "j") walk(1);
    else if (event.key === "k") walk(-1);
    else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else if (event.key === "x") choose();
    else if (event.key === "P") { const link = $("[data-playground]"); if (link) { event.preventDefault(); link.click(); } }
    else if (event.key === "z") { const undo = $("#toasts [data-toast] form button"); if (undo) undo.click(); }
    else if (event.key === "?") { event.preventDefault(); show("shortcuts"); }
    else if (event.key === " " && !event.target.closest("a, button, summary")) {
      const pause = $("[data-pause]");
      if (pause) { event.preventDefault(); pause.click(); }
    }
  });

  // --- A search's tree: arrows lead from node to node, Enter follows the node's link ----------------------------------
  document.addEventListener("keydown", (event) => {
    const node = event.target.closest("[data-tree] [data-node]");
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = $$("[data-node]", node.closest("[data-tree]")), near = all.indexOf(node);
    const to = {
      ArrowLeft: () => all.find((one) => one.dataset.node === node.dataset.parent),
      ArrowRight: () => all.find((one) => one.dataset.parent === node.dataset.node),
      ArrowDown: () => all.slice(near + 1).find((one) => one.dataset.parent === node.dataset.parent) || all[near + 1],
      ArrowUp: () => all.slice(0, near).reverse().find((one) => one.dataset.parent === node.dataset.parent) || all[near - 1],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const other = to();
    if (other) other.focus();
  });

  // --- The finder: the field keeps the focus and names the line that it is at -----------------------------------------
  const palette = $("#palette"), field = $("#pq");
  let waits = false, enters = null;
  const togglePalette = (event) => {
    if (!palette || (!palette.open && $("dialog:modal"))) return;
    event.preventDefault();
    if (palette.open) palette.close(); else show("palette");
  };
  const lines = () => $$("[role=option]", palette);
  const stand = (line) => {
    lines().forEach((one) => one.setAttribute("aria-selected", String(one === line)));
    field.setAttribute("aria-expanded", String(Boolean(line)));
    if (!line) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", line.id);
    line.scrollIntoView({ block: "nearest" });
  };
  const follow = (line, apart) => {
    if (!line) return;
    if (apart) return window.open(line.href, "_blank", "noopener");
    palette.close();
    location.assign(line.href);
  };
  if (palette) {
    const moves = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    field.addEventListener("input", () => { waits = true; });
    field.addEventListener("keydown", (event) => {
      const all = lines(), at = all.findIndex((line) => line.getAttribute("aria-selected") === "true");
      if (event.key in moves && !(Math.abs(moves[event.key]) > 1 && field.value)) {
        event.preventDefault();
        const to = Math.abs(moves[event.key]) > 1 ? (moves[event.key] > 0 ? all.length - 1 : 0) : (at + moves[event.key] + all.length) % all.length;
        if (all.length) stand(all[to]);
      } else if (event.key === "Enter") {
        event.preventDefault();
        // Whoever types and presses Enter at once means what the words find, not what stood there before.
        if (waits) enters = { apart: event.ctrlKey || event.metaKey }; else follow(all[at], event.ctrlKey || event.metaKey);
      }
    });
    document.addEventListener("htmx:afterSwap", (event) => {
      if (event.detail.target.id !== "hits") return;
      waits = (event.detail.requestConfig.parameters.q ?? "") !== field.value;  // an empty field is not sent
      const all = lines(), told = $("#hits-told");
      stand(all[0]);
      told.textContent = all.length > 1 ? told.dataset.many.replace("{n}", all.length) : told.dataset[all.length ? "one" : "none"];
      if (enters && !waits) { const { apart } = enters; enters = null; follow(all[0], apart); }
    });
    palette.addEventListener("close", () => { enters = null; });
  }

  const moveHint = (event) => {
    const hint = event.target.closest("[data-hint]");
    const button = hint && $(event.key === "ArrowUp" ? "[data-up]" : "[data-down]", hint);
    if (!button) return;
    event.preventDefault();
    if (!button.disabled) button.click();
  };

  // --- Lists in an order of choice are dragged too; what is dropped elsewhere goes back. Buttons do the same without a pointer ---
  let dragged = null, before = [];
  const lineAt = (event) => event.target.closest?.("[data-ordered] > li");
  const armDrags = () => $$("[data-ordered] > li:not([draggable])").forEach((line) => { line.draggable = true; });
  document.addEventListener("dragstart", (event) => {
    dragged = lineAt(event);
    if (!dragged) return;
    before = [...dragged.parentElement.children];
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", $("input", dragged).value);
    dragged.classList.add("dragged");
  });
  document.addEventListener("dragover", (event) => {
    const line = lineAt(event);
    if (!dragged || !line || line.parentElement !== dragged.parentElement) return;
    event.preventDefault();
    const { top, height } = line.getBoundingClientRect();
    if (line !== dragged) line[event.clientY > top + height / 2 ? "after" : "before"](dragged);
  });
  document.addEventListener("drop", (event) => { if (dragged && lineAt(event)) event.preventDefault(); });
  document.addEventListener("dragend", (event) => {
    const line = dragged, list = line?.parentElement;
    dragged = null;
    if (!list) return;
    line.classList.remove("dragged");
    if (event.dataTransfer.dropEffect === "none") return list.append(...before);
    if (before.every((one, place) => one === list.children[place])) return;
    $("button[id]", line).focus({ preventScroll: true });
    list.closest("form").requestSubmit();
  });

  // What a question links to on the page below it is read there.
  addEventListener("hashchange", () => { const open = $("dialog:modal"); if (open) open.close(); });

  // --- Dialogs and menus ---------------------------------------------------------------------------------------------
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-show]");
    if (opener && document.getElementById(opener.dataset.show)) { event.preventDefault(); show(opener.dataset.show); }
    const closer = event.target.closest("dialog [data-close]");
    if (closer) { event.preventDefault(); closer.closest("dialog").close(); }
    const source = event.target.closest("[data-copy-text]");
    if (source && navigator.clipboard) navigator.clipboard.writeText($(source.dataset.copyText).textContent).then(() => { source.lastChild.textContent = "Copied"; });
    const copier = event.target.closest("[data-copy]");
    if (copier && navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => { $("span", copier).textContent = copier.dataset.copy; });
  });

  // A question comes from the server with the facts of this moment; the safe choice has the focus.
  document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target.id === "confirm") show("confirm"); });

  // Filters apply themselves; without script their form has a button.
  document.addEventListener("change", (event) => { if (event.target.closest("[data-submit]")) event.target.form.requestSubmit(); });

  // Parts of a form that belong to one of a field's values, marked `data-for`, are shown for that value alone.
  const tellParts = () => $$("[data-shows]").forEach((field) => $$("[data-for]", field.form).forEach((part) => { part.hidden = !part.dataset.for.split(" ").includes(field.value); }));
  document.addEventListener("change", (event) => { if (event.target.closest("[data-shows]")) tellParts(); });

  // --- The playground: a link carries what was typed behind its #, which no server is told ------------------------------
  const shareable = $("form[data-fragment]");
  const KEPT_BACK = ["csrfmiddlewaretoken", "why", "part"];
  const fill = (name, value) => {
    const field = shareable.elements.namedItem(name);
    if (name === "offline") {
      const away = document.createElement("input");
      Object.assign(away, { type: "hidden", name, value });
      away.setAttribute("form", shareable.id);
      $("#answer").append(away);
    } else if (field?.matches?.("select") ? [...field.options].some((one) => one.value === value) : field?.matches?.("textarea, input:not([type=hidden])")) field.value = value;
  };
  const readFragment = () => {
    if (!shareable || location.hash.length < 2) return;
    new URLSearchParams(location.hash.slice(1)).forEach((value, name) => fill(name, value));
    tellParts();
    htmx.trigger(shareable, "shared");
  };
  addEventListener("hashchange", readFragment);
  document.addEventListener("DOMContentLoaded", () => setTimeout(readFragment));
  $$("[data-share]").forEach((button) => { button.hidden = false; });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-share]");
    if (!button) return;
    const told = new URLSearchParams();
    for (const [name, value] of new FormData($(button.dataset.share))) if (value && !KEPT_BACK.includes(name)) told.append(name, value);
    history.replaceState(history.state, "", `#${told}`);
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => { $("span", button).textContent = button.dataset.shared; });
  });
  // htmx tells the server where a page is; what stands behind the # stays here.
  document.addEventListener("htmx:configRequest", (event) => { event.detail.headers["HX-Current-URL"] = location.href.split("#")[0]; });

  // A form that leads to another page is sent once, also by a double click; after a while without an answer it may be sent again.
  const AGAIN_MS = 10000;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method") !== "post" || form.hasAttribute("hx-post")) return;
    if (Date.now() - Number(form.dataset.sent || 0) < AGAIN_MS) event.preventDefault();
    else form.dataset.sent = Date.now();
  });
  addEventListener("pageshow", () => $$("form[data-sent]").forEach((form) => { delete form.dataset.sent; }));

  // A form that saves itself on a change or a drop was not sent by a button, though htmx would add the one that has the focus.
  document.addEventListener("htmx:configRequest", (event) => {
    const sent = event.detail.triggeringEvent;
    if (sent?.type !== "change" && !(sent?.type === "submit" && !sent.submitter)) return;
    for (const name of ["do", "keep"]) event.detail.formData.delete(name);
  });

  // A note goes along with the change that it is about; one that is thought of after the change was saved is sent by itself.
  const saved = new Set();
  document.addEventListener("change", (event) => {
    if (event.target.name === "why" && event.target.closest(".why") && !saved.has(event.target.form.action)) event.stopPropagation();
  }, true);
  document.addEventListener("kept", (event) => saved.add(event.target.action));
  document.addEventListener("noted", (event) => { saved.delete(event.target.action); const fold = $(".why", event.target); if (fold) $("input", fold).value = ""; });

  // Addresses name only the filters that are set.
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb !== "get") return;
    for (const [name, value] of [...event.detail.formData]) if (value === "") event.detail.formData.delete(name);
  });

  // A question that a newer one took the place of is no failure, though htmx would write one to the browser's console.
  document.addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => {
    const end = xhr.onabort;
    xhr.onabort = (...about) => {
      const say = console.error;
      console.error = () => {};
      try { end.apply(xhr, about); } finally { console.error = say; }
    };
  });

  // --- Live stream: messages carry numbers only, so each asks the page's own parts to fetch themselves ----------------
  const live = { waiting: 0, paused: false, opened: document.hidden }; // a page that nobody saw yet may have missed something
  const due = new Map();

  // At most one request per part and interval, and always one after the last message.
  const refresh = (part) => {
    if (live.paused && part.hasAttribute("data-pausable")) return;
    const interval = Number(part.dataset.live) || 1000;
    const state = due.get(part.id) || { last: 0, timer: 0 };
    due.set(part.id, state);
    if (state.timer) return;
    state.timer = setTimeout(() => {
      state.timer = 0;
      state.last = Date.now();
      const current = document.getElementById(part.id);
      if (current) htmx.trigger(current, "live");
    }, Math.max(0, state.last + interval - Date.now()));
  };
  const refreshAll = () => $$("[data-live]").forEach(refresh);

  const tellPause = () => {
    const button = $("[data-pause]");
    if (!button) return;
    button.setAttribute("aria-pressed", String(live.paused));
    $("[data-pause-word]", button).textContent = live.paused ? button.dataset.resume : button.dataset.pauseLabel;
    const waiting = $("[data-waiting]");
    waiting.hidden = !live.paused;
    waiting.textContent = live.paused ? waiting.dataset.waiting.replace("{n}", live.waiting.toLocaleString("en")) : "";
  };

  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    event.preventDefault();
    const message = event.detail;
    const source = event.target.closest("[sse-connect]");
    const about = JSON.parse(message.data || "{}").decision_id;
    const counted = (source.dataset.counts || "").split(" ");
    if (live.paused && counted.includes(message.type)) { live.waiting += 1; tellPause(); }
    $$("[data-live]").forEach((part) => { if (!part.dataset.only || part.dataset.only === about) refresh(part); });
  });
  const tellState = (state) => $$("[data-live-state]").forEach((part) => {
    part.dataset.liveState = state;
    $$("[data-when]", part).forEach((word) => { word.hidden = word.dataset.when !== state; });
  });
  document.addEventListener("htmx:sseOpen", () => { tellState("open"); if (live.opened) refreshAll(); live.opened = true; });
  document.addEventListener("htmx:sseError", () => tellState("lost"));
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-pause]")) return;
    live.paused = !live.paused;
    live.waiting = 0;
    tellPause();
    if (!live.paused) refreshAll();
  });

  // --- Times of people's acts stay true while the page is open ---------------------------------------------------------
  const units = [[86400, "d"], [3600, "h"], [60, "min"]];
  const ago = (seconds) => {
    const unit = units.find(([size]) => seconds >= size);
    return unit ? `${Math.floor(seconds / unit[0])} ${unit[1]} ago` : seconds < 5 ? "just now" : `${Math.floor(seconds)} s ago`;
  };
  const tellTimes = (root = document) => $$("time[data-ago]", root).forEach((time) => {
    time.textContent = ago(Math.max(0, (Date.now() - new Date(time.dateTime)) / 1000));
  });
  setInterval(tellTimes, 15000);

  // --- Charts: the table under each is the data; colours are the style sheet's tokens ----------------------------------
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (token) => { probe.style.color = `var(--${token})`; return getComputedStyle(probe).color; };
  const faded = (value, alpha) => value.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);

  // Ambiguous is hatched and selected is dotted, as in the drawings that the server makes.
  const tile = (token, draw) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 8;
    const pen = canvas.getContext("2d");
    pen.fillStyle = colour(token);
    pen.fillRect(0, 0, 8, 8);
    pen.fillStyle = pen.strokeStyle = "rgba(255, 255, 255, .4)";
    pen.lineWidth = 2;
    pen.beginPath();
    draw(pen);
    return pen.createPattern(canvas, "repeat");
  };
  const patterns = {
    ambiguous: (token) => tile(token, (pen) => { for (const at of [-8, 0, 8]) { pen.moveTo(at, 8); pen.lineTo(at + 8, 0); } pen.stroke(); }),
    selected: (token) => tile(token, (pen) => { pen.arc(4, 4, 1.5, 0, 7); pen.fill(); }),
  };

  // Columns of the table that carry data-series become lines, in their order; each row's first cell carries its time.
  const readTable = (table) => {
    const heads = $$("thead th[data-series]", table);
    const rows = $$("tbody tr", table);
    const times = rows.map((row) => Number(row.dataset.at));
    const values = heads.map((head) => rows.map((row) => {
      const raw = row.cells[head.cellIndex].dataset.v;
      return raw === "" || raw === undefined ? null : Number(raw);
    }));
    return { heads, times, values };
  };

  const stacked = ({ times, values }) => {
    const sums = times.map(() => 0);
    const layers = values.map((column) => column.map((value, i) => (sums[i] += value || 0)));
    return [times, ...layers.reverse()];
  };
  const stackSeries = (heads) => [...heads].reverse().map((head) => ({
    label: head.textContent, width: 1, stroke: () => colour("surface"), points: { show: false },
    fill: () => (patterns[head.dataset.series] || colour)(`${head.dataset.token || head.dataset.series}-fill`),
  }));
  // A value without neighbours makes no line, so it is drawn as a point.
  const isolated = (plot, at) => plot.data[at].flatMap((value, i, all) => (value != null && all[i - 1] == null && all[i + 1] == null ? [i] : []));
  const lineSeries = (heads) => heads.map((head, i) => ({
    label: head.textContent, width: i ? 1.5 : 1.75, points: { show: false, size: 7, filter: isolated, fill: () => colour(i ? "ink-3" : "accent-ink") }, spanGaps: false,
    stroke: () => colour(i ? "ink-3" : "accent-ink"), dash: i ? [2, 4] : undefined,
    fill: i ? undefined : () => faded(colour("accent-ink"), 0.1),
  }));

  // Moments that explain a bend, as the list under the chart names them: a dashed line through each.
  const drawMarks = ({ ctx, bbox, scales, valToPos }, list) => {
    const moments = (list?.dataset.moments || "").split(" ").filter(Boolean).map(Number);
    ctx.save();
    ctx.strokeStyle = colour("ink-3");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    for (const moment of moments) {
      const x = Math.round(valToPos(Math.min(moment, scales.x.max), "x", true));
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
    }
    ctx.stroke();
    ctx.restore();
  };

  const options = (part, heads, width) => {
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { font, stroke: () => colour("ink-3"), ticks: { show: false } };
    const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: document.documentElement.dataset.zone || "UTC" });
    return {
      width, height: 160, legend: { show: false }, cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      padding: [8, 18, 0, 0], scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.12, Number(part.dataset.least) || 1)] } },
      axes: [
        { ...axis, size: 24, space: 56, grid: { show: false }, values: (_, ticks) => ticks.map((tick) => clock.format(tick * 1000)) },
        { ...axis, size: 40, space: 28, grid: { stroke: () => colour("line"), width: 1 }, values: (_, ticks) => ticks.map((tick) => +tick.toFixed(3)) },
      ],
      hooks: { draw: [(plot) => drawMarks(plot, document.getElementById(part.dataset.marks))] },
      series: [{}, ...(part.dataset.plot === "stack" ? stackSeries(heads) : lineSeries(heads))],
    };
  };

  const plots = new Map();
  const drawPlot = (part) => {
    const table = document.getElementById(part.dataset.table);
    if (!table || !window.uPlot) return;
    const read = readTable(table);
    const data = part.dataset.plot === "stack" ? stacked(read) : [read.times, ...read.values];
    const signature = read.heads.map((head) => head.dataset.series).join();
    const known = plots.get(part);
    if (known && known.signature === signature) { known.plot.setData(data); return; }
    if (known) { known.plot.destroy(); known.watch.disconnect(); }
    const plot = new uPlot(options(part, read.heads, part.clientWidth || 320), data, part);
    const watch = new ResizeObserver(() => { if (part.clientWidth) plot.setSize({ width: part.clientWidth, height: 160 }); });
    watch.observe(part);
    plots.set(part, { plot, watch, signature });
  };
  const drawPlots = (root = document) => {
    for (const [part, { plot, watch }] of plots) if (!part.isConnected) { plot.destroy(); watch.disconnect(); plots.delete(part); }
    $$("[data-plot]", root).forEach(drawPlot);
  };
  const recolour = () => plots.forEach(({ plot }) => plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  // --- Toasts leave after ten seconds, but wait while someone reads or reaches for them ---------------------------------
  const armToasts = () => $$("[data-toast]:not([data-armed])").forEach((toast) => {
    toast.dataset.armed = "";
    let timer = 0;
    const start = () => { clearTimeout(timer); if (!toast.matches(":hover, :focus-within")) timer = setTimeout(() => toast.remove(), 10000); };
    const stop = () => clearTimeout(timer);
    for (const name of ["pointerenter", "focusin"]) toast.addEventListener(name, stop);
    for (const name of ["pointerleave", "focusout"]) toast.addEventListener(name, () => setTimeout(start));
    start();
  });

  // A save that failed says so; parts that only look again stay quiet, their state is shown beside them.
  let signedOut = false;
  const tellFailure = (event) => {
    signedOut = event.detail.xhr?.status === 401;
    const failed = document.getElementById(signedOut ? "signed-out" : "not-saved");
    if (!failed || event.detail.requestConfig?.verb === "get") return;
    document.getElementById("toasts").replaceChildren(failed.content.cloneNode(true));
    armToasts();
  };
  // Whoever signed in again in another tab has a new token there; this page takes it over and keeps what was typed.
  addEventListener("focus", async () => {
    if (!signedOut) return;
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok || answer.redirected) return;
    const anew = new DOMParser().parseFromString(await answer.text(), "text/html");
    const token = JSON.parse(anew.body.getAttribute("hx-headers") || "{}")["X-CSRFToken"];
    if (!token) return;
    signedOut = false;
    document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": token }));
    $$("input[name=csrfmiddlewaretoken]").forEach((field) => { field.value = token; });
    document.getElementById("toasts").replaceChildren();
  });
  document.addEventListener("htmx:responseError", tellFailure);
  document.addEventListener("htmx:sendError", tellFailure);

  // --- After a swap: what was open stays open, what asks for focus gets it ----------------------------------------------
  const opened = new Set();
  document.addEventListener("toggle", (event) => {
    if (event.target.matches("details[id]")) opened[event.target.open ? "add" : "delete"](event.target.id);
  }, true);
  const reopen = () => opened.forEach((id) => { const part = document.getElementById(id); if (part) part.open = true; });
  // What had the focus has it again after a swap: by its id, else by its name and value in the form of the same address.
  let focused = null;
  const noteFocus = () => {
    const node = document.activeElement;
    if (!node || node === document.body) return;
    focused = { node, id: node.id, name: node.name, value: node.tagName === "BUTTON" ? node.value : null, form: node.form?.getAttribute("action"), href: node.getAttribute("href") };
  };
  const refocus = () => {
    if (!focused || focused.node.isConnected || (document.activeElement && document.activeElement !== document.body)) return;
    const { id, name, value, form, href } = focused;
    const alike = () => $$(`[name="${CSS.escape(name)}"]`).find((node) => node.form?.getAttribute("action") === form && (value === null || node.value === value));
    const found = (id && document.getElementById(id)) || (name && alike()) || (href && $(`a[href="${CSS.escape(href)}"]`)) || $("#main");
    found?.focus({ preventScroll: true });
  };
  document.addEventListener("htmx:beforeSwap", noteFocus);
  document.addEventListener("htmx:oobBeforeSwap", noteFocus);
  let typed = [];
  const touched = new Map();
  const sent = new WeakMap();
  document.addEventListener("input", (event) => { if (event.target.id) touched.set(event.target.id, performance.now()); });
  document.addEventListener("htmx:beforeRequest", (event) => sent.set(event.detail.xhr, performance.now()));
  document.addEventListener("htmx:beforeSwap", (event) => {
    const asked = sent.get(event.detail.xhr) || Infinity;
    typed = $$("textarea[id], input.input[id]").filter((field) => touched.get(field.id) > asked)
      .map((field) => ({ id: field.id, value: field.value, start: field.selectionStart, end: field.selectionEnd }));
  });
  // What somebody types while an answer is on its way stays, and is saved in its turn.
  const keepTyped = () => {
    const kept = typed.filter(({ id, value }) => { const field = document.getElementById(id); return field && field.value !== value; });
    typed = typed.filter((one) => !kept.includes(one));
    kept.forEach(({ id, value, start, end }) => {
      const field = document.getElementById(id);
      const tell = () => field.dispatchEvent(new Event("change", { bubbles: true }));
      field.value = value;
      field.setSelectionRange(start, end);
      setTimeout(() => { if (document.activeElement === field) field.addEventListener("blur", tell, { once: true }); else tell(); });
    });
  };
  for (const name of ["htmx:oobAfterSwap", "htmx:afterSwap"]) document.addEventListener(name, () => { reopen(); keepTyped(); });
  document.addEventListener("htmx:afterSettle", (event) => {
    const wanted = $("[data-focus]", event.detail.elt.isConnected ? event.detail.elt : document);
    if (wanted) { wanted.removeAttribute("data-focus"); wanted.focus(); if (wanted.setSelectionRange) wanted.setSelectionRange(wanted.value.length, wanted.value.length); }
    refocus();
    tellChosen();
    tellTimes();
    tellPause();
    drawPlots();
    armToasts();
    armDrags();
  });

  tellChosen();
  tellParts();
  tellTimes();
  drawPlots();
  armToasts();
  armDrags();
})();
