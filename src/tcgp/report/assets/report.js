"use strict";
// Draws the report from the JSON in #data. Strings of the run reach the page through textContent only.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const P = D.parameters, E = D.evaluations, G = D.goals, C = D.constraints, F = D.front, N = E.y.length;
  const MOST = 1000;  // marks in a chart
  const root = document.getElementById("report"), tip = document.getElementById("tip");
  const NS = "http://www.w3.org/2000/svg";
  const KEY = "tcgp-report:" + location.pathname;
  const memory = recall();

  // ---- elements ----
  function add(parent, tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined && text !== null) element.textContent = String(text);
    parent.appendChild(element);
    return element;
  }
  function draw(parent, tag, attributes, text) {
    const element = document.createElementNS(NS, tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  }
  function card(parent, title, caption, className) {
    const section = add(parent, "section", className);
    add(section, "h2", "", title);
    if (caption) add(section, "p", "soft", caption);
    return section;
  }
  function canvas(parent, chart, label, width, height) {
    const figure = add(parent, "figure");
    const svg = draw(figure, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, "data-chart": chart });
    svg.style.maxWidth = `${width}px`;  // letters are no larger than those of the text
    return svg;
  }
  const cut = (text, n) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
  function number(v, digits) {
    if (v === null || v === undefined || Number.isNaN(v)) return "–";
    if (v === 0) return "0";
    const size = Math.abs(v), d = digits || 6;
    if (size >= 1e6 || size < 1e-4) return v.toExponential(Math.max(d - 3, 1)).replace(/\.?0+e/, "e").replace("e+", "e");
    return String(Number(v.toPrecision(d)));
  }
  function seconds(v) {
    if (v === null || v === undefined) return "–";
    if (v < 0.0995) return number(v * 1000, 2) + " ms";
    if (v < 120) return number(v, 3) + " s";
    if (v < 7200) return number(v / 60, 3) + " min";
    return v < 172800 ? number(v / 3600, 3) + " h" : number(v / 86400, 3) + " d";
  }

  // ---- scales: each has at(value), ticks, and show(value) ----
  function linear(low, high, from, to, n) {
    if (!(high > low)) { const m = Math.abs(low) * 0.05 || 1; low -= m; high += m; }
    const rough = (high - low) / (n || 5), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k === 0 ? 0 : k * step);
    const unit = Math.abs(step / power - 2.5) < 1e-9 ? step / 5 : step; // 12.5 needs a digit more than 10 and 15
    const digits = Math.max(1, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / unit)) + 1);
    return { at: (v) => from + ((v - low) / (high - low)) * (to - from), back: (p) => low + ((p - from) / (to - from)) * (high - low),
      low, high, ticks, show: (v) => number(v, Math.min(digits, 12)) };
  }
  function logarithmic(low, high, from, to) {
    let a = Math.log10(low), b = Math.log10(high);
    if (!(b > a)) { a -= 0.5; b += 0.5; }
    let ticks = [];
    const stride = Math.max(1, Math.ceil((b - a) / 6));
    for (let k = Math.ceil(a - 1e-9); k <= b + 1e-9; k += stride) ticks.push(10 ** k);
    if (ticks.length < 2) {
      const inner = linear(10 ** a, 10 ** b, 0, 1, 4);
      ticks = inner.ticks.filter((v) => v > 0);
    }
    return { at: (v) => from + ((Math.log10(v) - a) / (b - a)) * (to - from), back: (p) => 10 ** (a + ((p - from) / (to - from)) * (b - a)),
      low: 10 ** a, high: 10 ** b, ticks, show: (v) => number(v, 3) };
  }
  function along(p, from, to, n) {
    if (p.labels) {
      const k = p.labels.length, stride = Math.max(1, Math.ceil(k / (n || 6)));
      const ticks = p.labels.map((_, i) => i).filter((i) => i % stride === 0);
      return { at: (v) => from + ((v + 0.5) / k) * (to - from), low: -0.5, high: k - 0.5, ticks, show: (v) => cut(p.labels[v], 12) };
    }
    const pad = p.type === "integer" ? 0.5 : 0;
    if (p.log) return logarithmic(p.low - pad, p.high + pad, from, to);
    const scale = linear(p.low - pad, p.high + pad, from, to, n || 4);
    if (pad) scale.ticks = scale.ticks.filter(Number.isInteger);
    return scale;
  }
  const word = (p, v) => (p.labels ? p.labels[v] : p.type === "integer" ? String(v) : number(v, 6));
  function spread(values, share) {
    const known = values.filter((v) => v !== null && Number.isFinite(v));
    let low = Infinity, high = -Infinity;
    for (const v of known) { if (v < low) low = v; if (v > high) high = v; }
    if (!known.length) return [0, 1];
    const margin = (high - low) * (share || 0) || (high === low ? Math.abs(low) * 0.05 || 1 : 0);
    return [low - margin, high + margin];
  }

  // ---- frames ----
  function frame(svg, box, x, y, options) {
    const o = options || {};
    for (const v of y.ticks) {
      const py = y.at(v);
      if (!o.filled) draw(svg, "line", { x1: box.left, x2: box.right, y1: py, y2: py, class: "grid" });
      const g = draw(svg, "g", { class: "tick" });
      draw(g, "text", { x: box.left - 6, y: py + 4, "text-anchor": "end" }, y.show(v));
    }
    for (const v of x.ticks) {
      const px = x.at(v);
      draw(svg, "line", { x1: px, x2: px, y1: box.bottom, y2: box.bottom + 4, class: "axis" });
      const g = draw(svg, "g", { class: "tick" });
      const anchor = px > box.right - 14 && o.tight ? "end" : px < box.left + 14 && o.tight ? "start" : "middle";
      draw(g, "text", { x: px, y: box.bottom + 16, "text-anchor": anchor }, x.show(v));
    }
    draw(svg, "path", { d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, class: "axis" });
    if (o.xlabel) draw(svg, "text", { x: (box.left + box.right) / 2, y: box.bottom + 33, "text-anchor": "middle", class: "label" }, o.xlabel);
    if (o.ylabel) draw(svg, "text", { x: 0, y: box.top - 9, class: "label" }, o.ylabel);
  }
  function path(xs, ys, x, y, steps) {
    let d = "", pen = false;
    for (let i = 0; i < xs.length; i++) {
      if (ys[i] === null || ys[i] === undefined || !Number.isFinite(y.at(ys[i]))) { pen = false; continue; }
      const px = x.at(xs[i]).toFixed(1), py = y.at(ys[i]).toFixed(1);
      d += pen ? (steps ? `H${px}V${py}` : `L${px} ${py}`) : `M${px} ${py}`;
      pen = true;
    }
    return d;
  }
  const diamond = (x, y, r) => `M${(x - r).toFixed(1)} ${y.toFixed(1)}l${r} ${-r}l${r} ${r}l${-r} ${r}Z`;
  const cross = (x, y, r) => `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`;
  function star(x, y, r) {
    const points = [];
    for (let k = 0; k < 10; k++) {
      const a = -Math.PI / 2 + (k * Math.PI) / 5, s = k % 2 ? r * 0.45 : r;
      points.push(`${(x + s * Math.cos(a)).toFixed(1)},${(y + s * Math.sin(a)).toFixed(1)}`);
    }
    return points.join(" ");
  }
  function legend(parent, items) {
    const list = add(parent, "ul", "legend");
    for (const [shape, text] of items) {
      const item = add(list, "li");
      const svg = draw(item, "svg", { viewBox: "0 0 24 12", "aria-hidden": "true" });
      shape(svg);
      item.appendChild(document.createTextNode(text));
    }
  }
  const stroke = (className) => (svg) => draw(svg, "path", { d: "M1 6H23", class: "line " + className });
  const disc = (className) => (svg) => draw(svg, "circle", { cx: 12, cy: 6, r: 4, class: className });
  const patch = (className) => (svg) => draw(svg, "rect", { x: 2, y: 1, width: 20, height: 10, class: className });
  const rhomb = (className) => (svg) => draw(svg, "path", { d: diamond(12, 6, 5), class: className });
  const mark = (svg) => draw(svg, "path", { d: cross(12, 6, 4), class: "cross" });
  const asterisk = (svg) => draw(svg, "polygon", { points: star(12, 6, 6), class: "star" });

  // ---- tooltips ----
  function show(event, lines) {
    tip.textContent = "";
    for (const line of lines) add(tip, "div", "", line);
    tip.hidden = false;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    const x = event.clientX + 14 + width > innerWidth ? Math.max(event.clientX - width - 14, 4) : event.clientX + 14;
    const y = event.clientY + 14 + height > innerHeight ? Math.max(event.clientY - height - 10, 4) : event.clientY + 14;
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  }
  const hide = () => { tip.hidden = true; };
  function place(svg, event) {
    const r = svg.getBoundingClientRect(), v = svg.viewBox.baseVal;
    return [((event.clientX - r.left) / r.width) * v.width, ((event.clientY - r.top) / r.height) * v.height];
  }
  // Shows the nearest of points [{x, y, lines()}] within reach, with a ring around it.
  function hover(svg, points, reach) {
    const ring = draw(svg, "circle", { r: 7, class: "ring", visibility: "hidden" });
    const leave = () => { ring.setAttribute("visibility", "hidden"); hide(); };
    const move = (event) => {
      const [px, py] = place(svg, event);
      let nearest = null, least = (reach || 26) ** 2;
      for (const p of points) {
        const d = (p.x - px) ** 2 + (p.y - py) ** 2;
        if (d < least) { least = d; nearest = p; }
      }
      if (!nearest) return leave();
      ring.setAttribute("cx", nearest.x);
      ring.setAttribute("cy", nearest.y);
      ring.setAttribute("visibility", "visible");
      show(event, nearest.lines());
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", leave);
  }
  const ORIGIN = { design: "initial design", criterion: "chosen by the model", exploration: "exploration", given: "given by the user" };
  function describe(i) {
    const run = E.id[i] === null ? "" : `, run ${E.id[i]}`;
    const lines = [`evaluation ${i + 1}${run} (${ORIGIN[E.source[i]] || E.source[i]})`];
    if (F && E.y[i] !== null) F.names.forEach((name, k) => lines.push(`${name} = ${number(F.values[i][k], 10)}`));
    else lines.push(E.y[i] === null ? `failed: ${E.reason[i] || "no reason given"}` : `value ${number(E.y[i], 10)}`);
    if (E.corrected[i] !== null) lines.push(`corrected; first told as ${E.corrected[i]}`);
    for (const k of E.broken[i] || []) lines.push(`violates ${C[k] ? C[k].text : "a constraint"}`);
    for (const o of outputs) lines.push(`${o.name} = ${number(o.values[i], 8)}`);
    P.slice(0, 24).forEach((p, k) => lines.push(`${p.name} = ${word(p, E.x[i][k])}`));
    if (P.length > 24) lines.push(`and ${P.length - 24} more parameters`);
    return lines;
  }

  // What is optimized: one value, or several objectives.
  const goals = F ? F.names.map((name, k) => ({ name, maximize: F.maximize[k], values: F.values.map((row) => row && row[k]), slices: k ? D.others[k - 1] : D.slices }))
    : [{ name: G.objective === null ? "value" : G.objective, maximize: G.maximize, values: E.y, slices: D.slices }];
  const onFront = new Set(F ? F.on : []);
  // Outputs that are not objectives, like these.
  const outputs = G.outputs.map((name, k) => ({ name, values: E.outputs.map((row) => row[k]), slices: (D.outputs || []).find((o) => o.name === name) })).filter((o) => !goals.some((goal) => goal.name === o.name));

  // ---- facts ----
  const failed = E.y.filter((y) => y === null).length;
  const limited = C.length > 0;
  const feasible = (i) => E.y[i] !== null && E.broken[i].length === 0;
  const better = (a, b) => (goals[0].maximize ? a > b : a < b);
  const bestFirst = (a, b) => (goals[0].maximize ? b - a : a - b);
  const valueName = goals[0].name;
  const [lowest, low] = goals[0].maximize ? ["highest", "high"] : ["lowest", "low"];
  const running = [];  // best value so far that satisfies all constraints
  let bestIndex = -1;
  E.y.forEach((y, i) => {
    if (feasible(i) && (bestIndex < 0 || better(y, E.y[bestIndex]))) bestIndex = i;
    running.push(bestIndex < 0 ? null : E.y[bestIndex]);
  });
  const centre = D.shown === null ? -1 : D.shown;  // the best point, or the one that comes nearest to keeping all constraints
  if (bestIndex >= 0) bestIndex = centre;  // values are rounded here: of equal ones it is the best
  const centreName = bestIndex < 0 && limited ? "nearest point" : F ? "knee of the front" : "best point";
  // What a point is drawn as: a disc, or a rhomb if it violates a constraint; hollow in the initial design.
  function dot(parent, i, px, py, r) {
    const kind = isDesign(i) ? " design" : "";
    if (feasible(i)) draw(parent, "circle", { cx: px.toFixed(1), cy: py.toFixed(1), r, class: "point" + kind });
    else draw(parent, "path", { d: diamond(px, py, r * 1.25), class: "point infeasible" + kind });
  }
  const isDesign = (i) => E.source[i] === "design" || (E.source[i] === "given" && i < D.n_initial);
  // Of very many evaluations the improvements are drawn, and of the others as many as can be told apart.
  const every = Math.ceil(N / MOST);
  const drawn = E.y.map((_, i) => i).filter((i) => every < 2 || i % every === 0 || i === bestIndex || i === centre || running[i] !== running[i - 1]);
  const thinned = drawn.length < N ? ` ${drawn.length} of ${N} evaluations are drawn.` : "";
  const modelled = D.modelled ? ` The model is fitted to ${D.modelled.n} of the ${D.modelled.of} values: the best, and others spread evenly over the run.` : "";
  const narrow = innerWidth < 620;
  const widthOf = (element, fallback) => Math.max(280, Math.round(element.clientWidth - 34) || fallback);

  function head() {
    const snapshot = D.state.text === "snapshot";
    const header = add(root, "header");
    add(header, "h1", "", D.title);
    const status = add(header, "span", D.state.running ? "status on" : "status", D.state.running ? "● running" : snapshot ? "■ snapshot" : "■ finished");
    const when = add(header, "span", "soft");
    const tell = () => {
      const age = Math.max(0, Date.now() / 1000 - D.state.written);
      const at = new Date(D.state.written * 1000).toLocaleString("sv-SE"); // year, month, day: read alike everywhere
      if (D.state.running && D.state.patience && age > D.state.patience) {  // a newer page would not be stale
        status.className = "status";
        status.textContent = `○ no news since ${at}`;
        document.documentElement.classList.add("stale");
      }
      when.textContent = `written ${at}` + (age > 5 ? ` (${seconds(Math.round(age))} ago)` : "");
    };
    tell();
    setInterval(tell, 5000);
    if (D.state.refresh) {
      const button = add(header, "button", "pause");
      const label = () => {
        button.textContent = memory.paused ? "refresh again" : `refreshes every ${seconds(D.state.refresh)}: pause`;
        button.setAttribute("aria-pressed", String(Boolean(memory.paused)));
      };
      button.addEventListener("click", () => { memory.paused = !memory.paused; remember(); label(); });
      label();
    }
    const facts = add(root, "dl", "facts");
    const fact = (name, value) => { const f = add(facts, "div", "fact"); add(f, "dt", "", name); add(f, "dd", "", value); };
    if (F) {
      fact("points on the front", F.on.length);
      for (const goal of goals) fact(`${goal.maximize ? "most" : "least"} ${cut(goal.name, 40)}`, F.on.length ? number(best(goal), 6) : "none yet");
    } else {
      fact(G.objective === null ? "best value" : `best ${cut(G.objective, 40)}`, bestIndex < 0 ? "none yet" : number(E.y[bestIndex], 6));
      fact("found at evaluation", bestIndex < 0 ? "–" : bestIndex + 1);
    }
    if (D.answer) {  // of a noisy function: the best point is the one with the best prediction
      fact("predicted without noise", number(D.answer.value, 6));
      fact(`${100 * D.answer.level} % interval`, `${number(D.answer.low, 4)} to ${number(D.answer.high, 4)}`);
      fact("noise of an evaluation", number(D.answer.noise, 3));
      fact("predicted best at evaluation", D.answer.row + 1);
    }
    fact("evaluations", D.state.n_evals ? `${N} of ${D.state.n_evals}` : N);
    fact("failed", failed);
    if (limited) fact("satisfy all constraints", `${E.y.filter((_, i) => feasible(i)).length} of ${N - failed}`);
    const corrected = E.corrected.filter((text) => text !== null).length;
    if (corrected) fact("corrected", corrected);
    if (D.retries) fact("tried again", D.retries);
    if (D.pending.length) fact("in progress", D.pending.length);
    if (D.share !== null) fact(F ? "space predicted to enlarge the front" : "space predicted to be better", D.share < 1e-4 ? "< 0.01 %" : number(100 * D.share, 2) + " %");
    const spent = E.simulator.reduce((a, b) => a + (b || 0), 0);
    if (spent > 0) fact("time in the simulator", seconds(spent));
    if (D.state.text && !snapshot && !D.state.running) add(root, "p", "soft", "Ended: " + D.state.text + ".");
  }

  // ---- several objectives: the front, and the choice of one point ----
  const best = (goal) => F.on.map((i) => goal.values[i]).reduce((a, b) => (goal.maximize ? Math.max(a, b) : Math.min(a, b)));
  const worst = (goal) => F.on.map((i) => goal.values[i]).reduce((a, b) => (goal.maximize ? Math.min(a, b) : Math.max(a, b)));
  // The point of the front with the smallest largest weighted distance from the best values, as result.choose(weights).
  function chosenOf(weights, limits) {
    const distance = (i, goal) => (Math.abs(goal.values[i] - best(goal)) / (Math.abs(worst(goal) - best(goal)) || 1));
    const allowed = F.on.filter((i) => goals.every((goal, k) => (goal.maximize ? goal.values[i] >= limits[k] : goal.values[i] <= limits[k])));
    const cost = (i) => {
      const parts = goals.map((goal) => distance(i, goal));
      return Math.max(...parts.map((d, k) => d * weights[k])) + 1e-6 * Math.max(...weights) * parts.reduce((a, b) => a + b);
    };
    return allowed.length ? allowed.reduce((a, b) => (cost(b) < cost(a) ? b : a)) : -1;
  }
  function front() {
    const section = card(root, "Choose from the front", "All evaluations, by their objectives; those that no other beats in all objectives form the front. Give an objective a weight or a limit to see which point that chooses, or point at an evaluation to read it.", "long");
    section.id = "front";
    if (!F.on.length) {
      add(section, "p", "", "No evaluation is on the front yet.");
      return;
    }
    const loosest = goals.map(worst);
    if (!memory.weights || memory.weights.length !== goals.length) memory.weights = null;
    const controls = add(section, "div", "controls");
    const table = add(section, "div", "scroll");
    const holder = add(section, "div", goals.length > 2 ? "small" : "");
    const sliders = goals.map((goal, k) => {
      const cell = add(controls, "div", "control");
      add(cell, "h3", "", `${goal.name} (${goal.maximize ? "more" : "less"} is better)`);
      const slider = (kind, text, value) => {
        const label = add(cell, "label", "", text), input = add(label, "input", kind);
        Object.assign(input, { type: "range", min: 0, max: 100, step: 1, value });
        if (text === "at most ") input.dir = "rtl";  // large values are on the right, whichever are good
        add(label, "output");
        input.addEventListener("input", () => { memory.weights = sliders.map((s) => Number(s.weight.value)); memory.limits = sliders.map((s) => Number(s.limit.value)); remember(); update(); });
        return input;
      };
      return { weight: slider("weight", "weight ", memory.weights ? memory.weights[k] : 50), limit: slider("limit", goal.maximize ? "at least " : "at most ", memory.weights && memory.limits ? memory.limits[k] : 0) };
    });
    const reset = add(add(controls, "div", "buttons"), "button", "", "knee, without limits");
    reset.addEventListener("click", () => {
      memory.weights = memory.limits = null;
      sliders.forEach((s) => { s.weight.value = 50; s.limit.value = 0; });
      remember();
      update();
    });
    let stars = [];
    function update() {
      const weights = sliders.map((s) => Number(s.weight.value));
      // The limit goes from the worst value on the front, which keeps all, to the best.
      const limits = goals.map((goal, k) => { const share = sliders[k].limit.value / 100; return share ? loosest[k] + share * (best(goal) - loosest[k]) : loosest[k]; });
      sliders.forEach((s, k) => {
        s.weight.nextSibling.textContent = s.weight.value;
        s.limit.nextSibling.textContent = number(limits[k], 4);
      });
      reset.setAttribute("aria-pressed", String(!memory.weights));
      const i = memory.weights ? (weights.some((w) => w) ? chosenOf(weights, limits) : -1) : centre;
      table.textContent = "";
      section.dataset.chosen = i;
      if (i < 0) add(table, "p", "", weights.some((w) => w) ? "No point of the front satisfies these limits." : "Give at least one objective some weight.");
      else {
        const shown = [...goals, ...outputs];
        rows(table, ["", ...shown.map((o) => o.name), ...names], [[memory.weights ? "chosen" : "knee", ...shown.map((o) => number(o.values[i], 6)), ...P.map((p, k) => word(p, E.x[i][k]))]]);
      }
      for (const { svg, x, y, a, b, mark } of stars) {
        if (i < 0) mark.setAttribute("visibility", "hidden");
        else {
          mark.setAttribute("points", star(x.at(a.values[i]), y.at(b.values[i]), 9));
          mark.setAttribute("visibility", "visible");
        }
        svg.dataset.chosen = i;
      }
    }
    redraw(() => {
      holder.textContent = "";
      stars = [];
      for (let j = 0; j < goals.length; j++) for (let k = j + 1; k < goals.length; k++) stars.push(pair(goals[j], goals[k]));
      growth();
      update();
    });
    function pair(a, b) {
      const cell = add(holder, "div"), two = goals.length === 2;
      const width = two ? widthOf(section, 1100) : 340, height = two ? Math.min(440, Math.max(280, width * 0.6)) : 290;
      const svg = canvas(cell, "front", `${b.name} against ${a.name}`, width, height);
      const box = { left: 64, right: width - 12, top: 24, bottom: height - 42 };
      // A few points far away would squeeze the front: the view goes from it to what lies near.
      const view = (goal, from, to) => {
        const [low, high] = spread(F.on.map((i) => goal.values[i])), reach = 0.5 * (high - low), [least, most] = spread(goal.values);
        return linear(...spread([Math.max(least, low - reach), Math.min(most, high + reach)], 0.05), from, to, 5);
      };
      const x = view(a, box.left, box.right), y = view(b, box.bottom, box.top);
      frame(svg, box, x, y, { xlabel: cut(a.name, 40), ylabel: cut(b.name, 40) });
      const clip = draw(draw(svg, "defs", {}), "clipPath", { id: `front${goals.indexOf(a)}${goals.indexOf(b)}` });
      draw(clip, "rect", { x: box.left - 8, y: box.top - 12, width: box.right - box.left + 16, height: box.bottom - box.top + 20 });
      const plot = draw(svg, "g", { "clip-path": `url(#front${goals.indexOf(a)}${goals.indexOf(b)})` });
      if (two) draw(plot, "path", { d: path(F.on.map((i) => a.values[i]), F.on.map((i) => b.values[i]), x, y, true), class: "line m thin" });
      const points = [];
      [...drawn.filter((i) => !onFront.has(i)), ...F.on].forEach((i) => {
        if (E.y[i] === null) return;
        const px = x.at(a.values[i]), py = y.at(b.values[i]);
        if (onFront.has(i)) draw(plot, "circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 5, class: "point front" });
        else dot(plot, i, px, py, 3);
        if (px >= box.left - 8 && px <= box.right + 8 && py >= box.top - 12 && py <= box.bottom + 8) points.push({ x: px, y: py, lines: () => describe(i) });
      });
      if (two) for (const goal of [a, b]) {
        const end = F.on.find((i) => goal.values[i] === best(goal)), right = x.at(a.values[end]) > (box.left + box.right) / 2;
        const place = { x: x.at(a.values[end]) + (right ? -8 : 10), y: y.at(b.values[end]) - 9, "text-anchor": right ? "end" : "start", class: "name" };
        draw(svg, "text", place, `${goal.maximize ? "most" : "least"} ${cut(goal.name, 24)}`);
      }
      const mark = draw(plot, "polygon", { class: "star" });
      hover(svg, points);
      return { svg, x, y, a, b, mark };
    }
    function growth() {
      const cell = add(holder, "div"), width = goals.length === 2 ? widthOf(section, 1100) : 340, height = 190;
      const svg = canvas(cell, "growth", "Volume that the front dominates, against the number of evaluations", width, height);
      const box = { left: 64, right: width - 12, top: 24, bottom: height - 42 };
      const x = linear(0, Math.max(N + 1, D.state.n_evals || 0), box.left, box.right, width / 110), y = linear(0, 1.04, box.bottom, box.top, 3);
      x.ticks = x.ticks.filter(Number.isInteger);
      frame(svg, box, x, y, { xlabel: "evaluations", ylabel: "volume dominated, as a share of the present one" });
      draw(svg, "path", { d: path(F.volume.map((_, i) => i + 1), F.volume, x, y, true), class: "line m" });
    }
    legend(section, [[disc("point front"), "front"], [disc("point design"), "initial design or given"], [disc("point"), "chosen by the model"], ...(limited ? [[rhomb("point infeasible"), "violates a constraint"]] : []), [asterisk, "chosen point"]]);
  }

  // ---- best value so far ----
  function convergence() {
    const kept = limited ? " that satisfies all constraints" : "";
    const section = card(root, "Best value so far", `${thinned ? "Evaluations" : "Every evaluation"}, and the ${lowest} value found up to then${kept}. Drag over the chart to zoom in; double-click to see everything.${thinned}`);
    const buttons = add(section, "div", "buttons");
    const holder = add(section, "div");
    const known = E.y.filter((y) => y !== null);
    const [least, most] = spread(known);
    const positive = known.length > 0 && least > 0;
    if (memory.log === undefined) memory.log = positive && most > 1000 * least;
    const scaleButton = add(buttons, "button", "", "logarithmic");
    scaleButton.disabled = !positive;
    if (!positive) scaleButton.hidden = true;
    const reset = add(buttons, "button", "reset", "show everything");
    const focus = add(buttons, "button", "focus", "zoom to the best tenth");
    scaleButton.addEventListener("click", () => { memory.log = !memory.log; memory.zoom = null; remember(); render(); });
    reset.addEventListener("click", () => { memory.zoom = null; remember(); render(); });
    focus.addEventListener("click", () => {
      const sorted = [...known].sort(bestFirst), tenth = sorted[Math.ceil(sorted.length / 10)] ?? sorted[sorted.length - 1];
      const [from, to] = spread([sorted[0], tenth, ...(bestIndex < 0 ? [] : [E.y[bestIndex]])], 0.08);
      memory.zoom = [0, N + 1, memory.log && positive && !(from > 0) ? least * 0.98 : from, to];
      remember();
      render();
    });
    function render() {
      holder.textContent = "";
      scaleButton.setAttribute("aria-pressed", String(Boolean(memory.log && positive)));
      reset.hidden = !memory.zoom;
      focus.hidden = known.length < 10;
      const width = widthOf(section, 1100), height = Math.min(380, Math.max(270, width * 0.5));
      const svg = canvas(holder, "convergence", "Best value so far against the number of evaluations", width, height);
      svg.classList.add("zoomable");
      const box = { left: 64, right: width - 10, top: 24, bottom: height - 42 };
      const log = memory.log && positive, z = memory.zoom;
      let [low, high] = z ? [z[2], z[3]] : log ? [least / 1.15, most * 1.15] : spread(known, 0.06);
      if (log && !(low > 0)) low = least / 1.15;
      const x = z ? linear(z[0], z[1], box.left, box.right, width / 110) : linear(0, Math.max(N + 1, D.state.n_evals || 0), box.left, box.right, width / 110);
      x.ticks = x.ticks.filter(Number.isInteger);
      const y = log ? logarithmic(low, high, box.bottom, box.top) : linear(low, high, box.bottom, box.top, 5);
      frame(svg, box, x, y, { xlabel: "evaluations", ylabel: cut(valueName, 60) });
      const clip = draw(draw(svg, "defs", {}), "clipPath", { id: "view" });
      draw(clip, "rect", { x: box.left, y: box.top - 12, width: box.right - box.left, height: box.bottom - box.top + 14 });
      const plot = draw(svg, "g", { "clip-path": "url(#view)" });
      const points = [];
      const inside = (px, py) => px >= box.left - 1 && px <= box.right + 1 && py >= box.top - 8 && py <= box.bottom + 2;
      draw(plot, "path", { d: path(running.map((_, i) => i + 1), running, x, y, true), class: "line m best" });
      drawn.forEach((i) => {
        const value = E.y[i], px = x.at(i + 1);
        if (value === null) {
          const py = box.top - 4;
          draw(plot, "path", { d: cross(px, py, 4), class: "cross" });
          if (inside(px, py)) points.push({ x: px, y: py, lines: () => describe(i) });
          return;
        }
        const py = y.at(value);
        if (!inside(px, py)) return;
        if (i === bestIndex) draw(plot, "polygon", { points: star(px, py, 9), class: "star" });
        else dot(plot, i, px, py, N > 300 ? 2.4 : 3.4);
        points.push({ x: px, y: py, lines: () => describe(i) });
      });
      hover(svg, points);
      brush(svg, box, x, y, (zoom) => { memory.zoom = zoom; remember(); render(); });
      svg.addEventListener("dblclick", () => { memory.zoom = null; remember(); render(); });
      legend(holder, [[stroke("m"), "best so far"], [disc("point design"), "initial design or given"], [disc("point"), "chosen by the model"], ...(limited ? [[rhomb("point infeasible"), "violates a constraint (hollow: initial design)"]] : []), [asterisk, "best"], ...(failed ? [[mark, "failed (at the upper edge)"]] : [])]);
    }
    redraw(render);
  }
  function brush(svg, box, x, y, done) {
    let start = null, rect = null;
    const clamp = (v, a, b) => Math.min(Math.max(v, a), b);
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      start = place(svg, event);
      event.preventDefault();
    });
    const corners = (event) => {
      const [px, py] = place(svg, event);
      return [clamp(Math.min(px, start[0]), box.left, box.right), clamp(Math.max(px, start[0]), box.left, box.right),
        clamp(Math.min(py, start[1]), box.top, box.bottom), clamp(Math.max(py, start[1]), box.top, box.bottom)];
    };
    svg.addEventListener("pointermove", (event) => {
      if (!start) return;
      const [a, b, c, d] = corners(event);
      if (!rect) rect = draw(svg, "rect", { class: "brush" });
      for (const [name, v] of [["x", a], ["y", c], ["width", b - a], ["height", d - c]]) rect.setAttribute(name, v);
    });
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [a, b, c, d] = corners(event);
      start = null;
      if (rect) rect.remove();
      rect = null;
      if (b - a > 8 && d - c > 8) done([x.back(a), x.back(b), y.back(d), y.back(c)]);
    });
    svg.addEventListener("pointerleave", () => { start = null; if (rect) rect.remove(); rect = null; });
  }

  // ---- where it sampled ----
  const LINES = 1000;
  function samples() {
    const order = E.y.map((_, i) => i).filter(feasible).sort(F ? (a, b) => onFront.has(a) - onFront.has(b) : (a, b) => bestFirst(E.y[b], E.y[a]));
    const infeasible = E.y.map((_, i) => i).filter((i) => E.y[i] !== null && !feasible(i)).slice(-LINES);
    const rank = new Map(order.map((i, k) => [i, F ? Number(onFront.has(i)) : order.length > 1 ? k / (order.length - 1) : 1]));
    const shown = [...infeasible, ...order.slice(-LINES, -1), ...E.y.map((_, i) => i).filter((i) => E.y[i] === null).slice(-LINES), ...order.slice(-1)];
    // Many lines hide each other: then only the best tenth stands out.
    const opacity = (share) => (order.length > 120 ? 0.1 + 0.7 * share ** 8 : 0.3 + 0.4 * share);
    const more = N > shown.length ? ` The ${shown.length} best and latest failed of ${N} are drawn.` : "";
    const section = card(root, "Where it sampled",  `One line per evaluation, through all parameters ${outputs.length ? "and outputs " : ""}to its ${F ? "objectives" : "value"}. Darker lines (brighter in dark mode) are ${F ? "on the front" : "better"}. Point at a line to read it.` + more);
    const holder = add(section, "div");
    redraw(() => {
      holder.textContent = "";
      const ending = [...outputs.filter((o) => o.values.some((v) => v !== null)), ...goals], axes = P.length + ending.length;
      const width = widthOf(section, 1100), upright = width < 62 * axes, height = upright ? Math.max(200, 46 * axes + 30) : 330;
      const svg = canvas(holder, "samples", "Parallel coordinates of all evaluations", width, height);
      const from = upright ? 12 : height - 34, to = upright ? width - 16 : 46;
      const ends = ending.map(({ values }) => {
        const [lowest, highest] = spread(values);
        return lowest > 0 && highest > 1000 * lowest ? logarithmic(lowest, highest, from, to) : linear(...spread(values, 0.02), from, to, 5);
      });
      const scales = [...P.map((p) => along(p, from, to, upright ? width / 90 : 6)), ...ends];
      const position = (k) => upright ? 34 + (k * (height - 60)) / (axes - 1) : 48 + (k * (width - 110)) / (axes - 1);
      const pointAt = (k, v) => (upright ? [scales[k].at(v), position(k)] : [position(k), scales[k].at(v)]);
      const polyline = (i) => {
        const points = E.x[i].map((v, k) => pointAt(k, v));
        if (E.y[i] !== null) ending.forEach((o, k) => { if (o.values[i] !== null) points.push(pointAt(P.length + k, o.values[i])); });
        return points;
      };
      const threads = draw(svg, "g", {});
      const lines = shown.map((i) => {
        const points = polyline(i);
        const line = draw(threads, "path", { d: "M" + points.map((q) => q.map((v) => v.toFixed(1)).join(" ")).join("L"), class: "thread" + (E.y[i] === null ? " failed" : i === bestIndex ? " top" : feasible(i) ? "" : " infeasible") });
        if (feasible(i) && i !== bestIndex) line.style.strokeOpacity = opacity(rank.get(i)).toFixed(2);
        if (feasible(i) && i !== bestIndex) line.style.stroke = `color-mix(in oklab, var(--good) ${(100 * rank.get(i)).toFixed(1)}%, var(--poor))`;
        return { i, points, line };
      });
      for (let k = 0; k < axes; k++) {
        const at = position(k), name = k < P.length ? P[k].name : ending[k - P.length].name;
        const g = draw(svg, "g", { class: "tick" });
        if (upright) {
          draw(svg, "line", { x1: from, x2: to, y1: at, y2: at, class: "axis" });
          draw(svg, "text", { x: from, y: at - 8, class: "name" }, cut(name, Math.floor(width / 9)));
          for (const v of scales[k].ticks) draw(g, "text", { x: scales[k].at(v), y: at + 13, "text-anchor": "middle" }, scales[k].show(v));
        } else {
          draw(svg, "line", { x1: at, x2: at, y1: from, y2: to, class: "axis" });
          const label = draw(svg, "text", { x: at, y: to - 14, "text-anchor": "middle", class: "name" }, cut(name, Math.max(6, Math.floor(width / axes / 8))));
          draw(label, "title", {}, name);
          for (const v of scales[k].ticks) draw(g, "text", { x: at + 5, y: scales[k].at(v) + 4 }, scales[k].show(v));
        }
      }
      let hot = null;
      const leave = () => { if (hot) hot.classList.remove("hot"); hot = null; hide(); };
      const move = (event) => {
        const q = place(svg, event);
        let least2 = 12 ** 2, nearest = null;
        for (const item of lines) {
          for (let k = 1; k < item.points.length; k++) {
            const d = distance2(q, item.points[k - 1], item.points[k]);
            if (d <= least2) { least2 = d; nearest = item; }
          }
        }
        if (!nearest) return leave();
        if (hot) hot.classList.remove("hot");
        hot = nearest.line;
        hot.classList.add("hot");
        threads.appendChild(hot);
        show(event, describe(nearest.i));
      };
      svg.addEventListener("pointermove", move);
      svg.addEventListener("pointerdown", move);
      svg.addEventListener("pointerleave", leave);
      const thread = (kind) => (s) => { draw(s, "path", { d: "M1 6H23", class: "thread " + kind }).style.strokeWidth = 2; };
      legend(holder, [[stroke("m"), F ? centreName : "best"], ...(limited ? [[thread("infeasible"), "violates a constraint"]] : []), ...(failed ? [[thread("failed"), "failed (no value)"]] : [])]);
    });
  }
  function distance2(q, a, b) {
    const dx = b[0] - a[0], dy = b[1] - a[1], length = dx * dx + dy * dy || 1;
    const t = Math.min(1, Math.max(0, ((q[0] - a[0]) * dx + (q[1] - a[1]) * dy) / length));
    return (q[0] - a[0] - t * dx) ** 2 + (q[1] - a[1] - t * dy) ** 2;
  }

  // ---- slices ----
  function slices() {
    const views = [...goals, ...outputs].filter((view) => view.slices);
    if (!views.length || centre < 0) return;
    const section = card(root, `What the model expects around the ${centreName}`, null, "long");
    const buttons = add(section, "div", "buttons"), holder = add(section, "div");
    const made = views.map((view, k) => {
      const button = add(buttons, "button", "slices", cut(view.name, 40));
      button.addEventListener("click", () => { memory.slices = k; remember(); show(); });
      return button;
    });
    buttons.hidden = views.length < 2;
    function show() {
      const chosen = memory.slices < views.length ? memory.slices : 0;
      made.forEach((button, k) => button.setAttribute("aria-pressed", String(k === chosen)));
      holder.textContent = "";
      slice(holder, views[chosen]);
    }
    show();
  }
  function slice(section, goal) {
    const S = goal.slices, E1 = !F && goal === goals[0];  // only one objective has an expected improvement
    const point = E.x[centre], height0 = goal.values[centre], level = Math.round(100 * S.level);
    const sorted = goal.values.filter((v, i) => (bestIndex < 0 ? v !== null : feasible(i))).sort((p, q) => p - q), median = sorted[Math.floor(sorted.length / 2)];
    const improvement = goal !== goals[0] && outputs.includes(goal) ? "" : F ? (limited ? "the probability of satisfying all constraints (from 0 to 1)" : "") : limited ? "the expected improvement that satisfies all constraints, scaled to its own maximum, with the probability of satisfying them all (from 0 to 1)" : "the expected improvement, scaled to its own maximum";
    const off = goal.maximize ? "Values below" : "Values above", all = limited && bestIndex >= 0 ? "the values that satisfy all constraints" : "all values";
    const what = [...goals, ...outputs].length > 1 ? ` of ${goal.name}` : "", below = improvement ? `, and below it ${improvement}` : "";
    const free = outputs.includes(goal), cutting = free ? "" : ` ${off} the median of ${all} are cut off.`;
    add(section, "p", "soft", `Each chart varies one parameter, with the others fixed at the ${centreName}: the model's mean${what} with its ${level} % interval${below}.${cutting}${modelled}`);
    const grid = add(section, "div", "small");
    S.along.forEach((view, k) => {
      if (!view) return;
      const p = P[k];
      const cell = add(grid, "div");
      const width = 290, height = 214, box = { left: 52, right: width - 8, top: 24, bottom: 138 }, lower = { top: 150, bottom: 186 };
      const svg = canvas(cell, "slice", "Slice along a parameter", width, height);
      const x = along(p, box.left, box.right, 4);
      // Heavy tails and far-off heights would squeeze what matters: the view follows the mean, up to the median of the
      // values found, and then the interval as far as that leaves the mean visible.
      const ceiling = (v) => (free ? v : goal.maximize ? Math.max(v, Math.min(median, height0)) : Math.min(v, Math.max(median, height0)));
      const [a, b] = spread([...view.mean.map(ceiling), height0], 0.1), [c, d] = spread([...view.lower, ...view.upper].map(ceiling));
      const y = linear(Math.max(a - 1.5 * (b - a), Math.min(a, c)), Math.min(b + 1.5 * (b - a), Math.max(b, d)), box.bottom, box.top, 4);
      frame(svg, box, { ticks: [] }, y);
      const clip = draw(draw(svg, "defs", {}), "clipPath", { id: `slice${k}` });
      draw(clip, "rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
      const plot = draw(svg, "g", { "clip-path": `url(#slice${k})` });
      const lines = free ? C.filter((c) => c.text.startsWith(goal.name + " ")).map((c) => c.bound) : [];
      for (const v of lines) if (y.at(v) >= box.top && y.at(v) <= box.bottom) draw(svg, "line", { x1: box.left, x2: box.right, y1: y.at(v), y2: y.at(v), class: "bound" });
      const ei = (view.ei || view.mean.map(() => 0)).map((v) => v || 0);  // none before a point satisfies all constraints
      const e = linear(0, Math.max(...ei) || 1, lower.bottom, lower.top, 2), f = linear(0, 1, lower.bottom, lower.top, 2);
      if (p.labels) {
        const half = Math.min(16, (0.35 * (box.right - box.left)) / p.labels.length);
        view.values.forEach((v, i) => {
          const px = x.at(v), y1 = y.at(view.upper[i]), y2 = y.at(view.lower[i]);
          draw(plot, "rect", { x: px - half, width: 2 * half, y: y1, height: Math.max(y2 - y1, 0.5), class: "band" });
          draw(plot, "path", { d: `M${px - half} ${y.at(view.mean[i])}H${px + half}`, class: "line c" });
          draw(svg, "rect", { x: px - half, width: 2 * half, y: e.at(ei[i]), height: Math.max(lower.bottom - e.at(ei[i]), 0), class: "ei" });
          if (view.feasible) draw(svg, "path", { d: `M${px - half} ${f.at(view.feasible[i] || 0)}H${px + half}`, class: "line feasible" });
        });
      } else {
        const back = [...view.values.keys()].reverse();
        draw(plot, "path", { d: path(view.values, view.upper, x, y) + path(back.map((i) => view.values[i]), back.map((i) => view.lower[i]), x, y).replace("M", "L") + "Z", class: "band" });
        draw(plot, "path", { d: path(view.values, view.mean, x, y), class: "line c mean" });
        if (p.type === "integer" && view.values.length <= 25) view.values.forEach((v, i) => draw(plot, "circle", { cx: x.at(v), cy: y.at(view.mean[i]), r: 2.8, class: "point" }));
        const xs = [view.values[0], ...view.values, view.values[view.values.length - 1]];
        draw(svg, "path", { d: path(xs, [0, ...ei, 0], x, e) + "Z", class: "ei" });
        if (view.feasible) draw(svg, "path", { d: path(view.values, view.feasible, x, f), class: "line feasible" });
      }
      draw(svg, "line", { x1: x.at(point[k]), x2: x.at(point[k]), y1: box.top, y2: lower.bottom, class: "here" });
      draw(svg, "polygon", { points: star(x.at(point[k]), y.at(height0), 7), class: "star" });
      draw(svg, "path", { d: `M${box.left} ${lower.bottom}H${box.right}`, class: "axis" });
      if (E1) draw(svg, "text", { x: box.left - 6, y: lower.bottom - 12, "text-anchor": "end", class: "label" }, "EI");
      for (const v of x.ticks) {
        const g = draw(svg, "g", { class: "tick" });
        const px = x.at(v);
        draw(g, "text", { x: px, y: lower.bottom + 15, "text-anchor": px > box.right - 12 ? "end" : "middle" }, x.show(v));
      }
      draw(svg, "text", { x: box.left, y: 13, class: "name" }, cut(p.name, 32));
      hover(svg, view.values.map((v, i) => ({ x: x.at(v), y: y.at(view.mean[i]), lines: () => [`${p.name} = ${word(p, v)}`, `mean ${number(view.mean[i])}`, `${level} % interval ${number(view.lower[i])} to ${number(view.upper[i])}`, `sd ${number(view.sd[i])}`, ...(!E1 ? [] : [`expected improvement ${view.ei ? number(view.ei[i], 4) : "–"}`]), ...(view.feasible ? [`probability of satisfying all constraints ${number(view.feasible[i], 3)}`] : [])] })), 120);
    });
    legend(section, [[stroke("c"), "mean"], [patch("band"), `${level} % interval`], ...(E1 ? [[patch("ei"), "expected improvement"]] : []), ...(limited && !free ? [[stroke("feasible"), "probability of satisfying all constraints"]] : []), ...(free && limited ? [[stroke("bound"), "limit"]] : []), [asterisk, centreName]]);
  }
  function heat(parent) {
    const S = D.slices, H = S && S.over;
    if (!H || centre < 0) return;
    const section = card(parent, "The two parameters that matter most", `Those along which the mean changes most through the ${centreName}; the others are fixed there. ${limited ? "Circles and diamonds" : "Circles"} are evaluations, whatever their other parameters.`);
    const buttons = add(section, "div", "buttons");
    const holder = add(section, "div");
    const kinds = [["mean", "mean"], ["sd", "standard deviation"], ["ei", "expected improvement"], ["feasible", "probability of satisfying all constraints"]].filter(([kind]) => H[kind]);
    const made = kinds.map(([kind, label]) => {
      const button = add(buttons, "button", "heat-" + kind, label);
      button.addEventListener("click", () => { memory.heat = kind; remember(); render(); });
      return [kind, button];
    });
    function render() {
      holder.textContent = "";
      const kind = H[memory.heat] ? memory.heat : "mean";
      made.forEach(([name, button]) => button.setAttribute("aria-pressed", String(name === kind)));
      const width = Math.min(widthOf(section, 520), 560), height = Math.min(400, Math.max(300, width * 0.8));
      const svg = canvas(holder, "heat", "Model over the two parameters that matter most", width, height);
      const p = P[H.i], q = P[H.j];
      const box = { left: 58, right: width - 82, top: 24, bottom: height - 42 };
      const x = along(p, box.left, box.right, 5), y = along(q, box.bottom, box.top, 5);
      const values = H[kind], known = values.filter((v) => v !== null).sort((a, b) => a - b);
      const low = known[0], high = known[known.length - 1];
      // Colours follow ranks for the mean, where a few heights would leave one colour for all else.
      const rank = (v) => { let i = 0, j = known.length; while (i < j) { const m = (i + j) >> 1; if (known[m] < v) i = m + 1; else j = m; } return i / (known.length - 1 || 1); };
      const ranked = G.maximize ? rank : (v) => 1 - rank(v);
      const shares = { mean: ranked, feasible: (v) => v, sd: (v) => (high > low ? (v - low) / (high - low) : 0), ei: (v) => (high > 0 ? (v / high) ** 0.25 : 0) };
      const share = shares[kind];
      const levels = { mean: (t) => known[Math.round(t * (known.length - 1))], sd: (t) => low + t * (high - low), ei: (t) => high * t ** 4, feasible: (t) => t };
      const edges = (axis, scale, label) => axis.map((v, i) => {
        if (label.labels) { const h = Math.abs(scale.at(1) - scale.at(0)) / 2; return [scale.at(v) - h, scale.at(v) + h]; }
        const here = scale.at(v), before = i ? scale.at(axis[i - 1]) : here, after = i + 1 < axis.length ? scale.at(axis[i + 1]) : here;
        const [a, b] = [(here + before) / 2, (here + after) / 2];
        return [Math.min(a, b), Math.max(a, b)];
      });
      const columns = edges(H.x, x, p), rows = edges(H.y, y, q), cells = draw(svg, "g", { "shape-rendering": "crispEdges" });
      H.y.forEach((_, r) => H.x.forEach((_, c) => {
        const v = values[r * H.x.length + c];
        const cell = draw(cells, "rect", { x: columns[c][0].toFixed(1), y: rows[r][0].toFixed(1), width: (columns[c][1] - columns[c][0] + 0.4).toFixed(1), height: (rows[r][1] - rows[r][0] + 0.4).toFixed(1), class: "cell" });
        cell.style.fill = v === null ? "none" : `color-mix(in oklab, var(--good) ${(100 * share(v)).toFixed(1)}%, var(--poor))`;
      }));
      frame(svg, box, x, y, { xlabel: cut(p.name, 40), ylabel: cut(q.name, 40), tight: true, filled: true });
      drawn.forEach((i) => {
        const px = x.at(E.x[i][H.i]), py = y.at(E.x[i][H.j]);
        if (E.y[i] === null) draw(svg, "path", { d: cross(px, py, 3.2), class: "cross" });
        else if (feasible(i)) draw(svg, "circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 2.4, class: "sample" });
        else draw(svg, "path", { d: diamond(px, py, 3.2), class: "sample infeasible" });
      });
      draw(svg, "polygon", { points: star(x.at(E.x[centre][H.i]), y.at(E.x[centre][H.j]), 9), class: "star" });
      const bar = { left: width - 68, right: width - 56 };
      for (let k = 0; k < 40; k++) {
        const t = kind === "mean" && !G.maximize ? 1 - k / 39 : k / 39, from = box.bottom - ((k + 1) * (box.bottom - box.top)) / 40;
        const piece = draw(svg, "rect", { x: bar.left, width: bar.right - bar.left, y: from, height: (box.bottom - box.top) / 40 + 0.5 });
        piece.style.fill = `color-mix(in oklab, var(--good) ${(100 * t).toFixed(1)}%, var(--poor))`;
      }
      const g = draw(svg, "g", { class: "tick" });
      const compact = (v) => (Math.abs(v) >= 1e5 ? v.toExponential(1).replace("e+", "e") : number(v, 3));
      for (const t of [0, 0.25, 0.5, 0.75, 1]) draw(g, "text", { x: bar.right + 4, y: box.bottom - t * (box.bottom - box.top - 8) }, compact(levels[kind](t)));
      svg.addEventListener("pointermove", (event) => {
        const [px, py] = place(svg, event);
        const c = columns.findIndex(([a, b]) => px >= a && px <= b), r = rows.findIndex(([a, b]) => py >= a && py <= b);
        if (c < 0 || r < 0) return hide();
        const k = r * H.x.length + c;
        show(event, [`${p.name} = ${word(p, H.x[c])}`, `${q.name} = ${word(q, H.y[r])}`, `mean ${number(H.mean[k], 4)}`, `sd ${number(H.sd[k], 4)}`, ...(H.ei ? [`expected improvement ${number(H.ei[k], 4)}`] : []), ...(H.feasible ? [`probability of satisfying all constraints ${number(H.feasible[k], 3)}`] : [])]);
      });
      svg.addEventListener("pointerleave", hide);
      legend(holder, [[disc("sample"), "evaluation"], ...(limited ? [[rhomb("sample infeasible"), "violates a constraint"]] : []), [asterisk, centreName], ...(failed ? [[mark, "failed"]] : [])]);
    }
    redraw(render);
  }

  // ---- calibration ----
  // The distribution of the PIT below a threshold, for each law; a table of their scores; and what these mean.
  function pit(section, chart, models, values, before, after) {
    const width = narrow ? 340 : 420, height = narrow ? 330 : 350, box = { left: 34, right: width - (narrow ? 8 : 54), top: 22, bottom: height - 40 };
    const svg = canvas(section, chart, `Distribution of the PIT of ${values}, against the diagonal of a calibrated model`, width, height);
    const x = linear(0, 1, box.left, box.right, 5), y = linear(0, 1, box.bottom, box.top, 5);
    frame(svg, box, x, y, { xlabel: "predicted probability u", ylabel: `share of ${values} with PIT ≤ u` });
    draw(svg, "line", { x1: x.at(0), y1: y.at(0), x2: x.at(1), y2: y.at(1), class: "diagonal" });
    const points = [];
    models.forEach((m, k) => {
      const own = k === models.length - 1 && k > 0;
      if (m.u.length) draw(svg, "path", { d: path([0, ...m.u, 1], [0, ...m.share, 1], x, y, true), class: "line curve " + (own ? "m" : "p dash") });
      m.u.forEach((u, i) => points.push({ x: x.at(u), y: y.at(m.share[i]), lines: () => [m.label, `PIT ${number(u, 3)}`, `share up to here ${number(m.share[i], 3)}`] }));
    });
    hover(svg, points, 70);
    legend(section, [...models.map((m, k) => [stroke(k > 0 ? "m" : "p dash"), m.label]), [(s) => draw(s, "path", { d: "M1 6H23", class: "diagonal" }), "a calibrated model"]]);
    const scroll = add(section, "div", "scroll");
    rows(scroll, ["model", "κ", "r", "tKS–PIT"], models.map((m) => [m.label, number(m.kappa, 3), number(m.r, 3), number(m.tks_pit, 3)]), [1, 2, 3]);
    add(section, "p", "soft", `${before} κ is the ratio of predicted to observed frequency of such values (1 is right, ${after}), r the difference of the two; tKS–PIT is the distance of the curve from the diagonal. All by leave-one-out.`);
  }
  function calibration(parent) {
    const K = D.calibration;
    const section = card(parent, `Is the model right about ${low} values?`);
    if (!K) {
      add(section, "p", "", "No model has been fitted yet: the initial design comes first.");
      return;
    }
    add(section, "p", "lead", K.sentence);
    if (modelled) add(section, "p", "soft", modelled.trim());
    const side = G.maximize ? "above" : "below";
    pit(section, "calibration", K.models, `${low} values`, `Threshold t = ${number(K.threshold)}; ${K.n_below} of ${K.n} values lie at or ${side} it, which is about ${number(100 * K.probability, 2)} % of the box.`, "less is overconfident");
    add(section, "p", "soft details", K.details);
  }
  // ---- the best design ----
  function design() {
    if (centre < 0) return;
    const none = bestIndex < 0;
    const section = card(root, none ? "The nearest design" : F ? "The knee of the front" : "The best design", none ? "No evaluation satisfies all constraints yet. This one comes closest." : D.answer ? "The design with the best prediction; the value is the observed one." : null);
    section.id = "design";
    const two = add(section, "div", "sides"), left = add(two, "div"), right = add(two, "div");
    const free = outputs.filter((o) => o.values[centre] !== null && !C.some((c) => c.text.startsWith(o.name + " ")));
    const value = (goal) => [goal.name, F ? number(goal.values[centre], 8) : D.exact.y, goal.maximize ? "large is good" : "small is good"];
    const outcome = rows(add(left, "div", "scroll"), ["output", "value", ""], [...goals.map(value), ...free.map((o) => [o.name, number(o.values[centre], 8), ""])], [1]);
    outcome.id = "best-outputs";
    outcome.querySelectorAll("tbody tr").forEach((tr, k) => { if (k < goals.length) tr.className = "goal"; });
    if (limited || D.known.length) {
      const better = (c) => (c.relaxed ? `at ${number(c.relaxed.to, 4)} ${cut(valueName, 20)} is ${number(c.relaxed.gain, 2)} better` : "");
      const gains = C.some((c) => c.relaxed), last = (text) => (gains ? [text] : []);
      const standing = C.map((c) => [c.text, c.here ? number(c.here.value, 8) : "–", c.here ? c.here.distance.replace(" the limit", "") : "–", `${c.kept} of ${c.n}`, ...last(better(c))]);
      const known = D.known.map((c) => [c.text, c.value === null ? "–" : number(c.value, 8), c.distance === null ? "on parameters: no point violates it" : c.distance.replace(" the limit", ""), "all", ...last("")]);
      const table = rows(add(left, "div", "scroll"), ["limit", "value", "margin", "satisfied by", ...last("if relaxed")], [...standing, ...known], [1]);
      table.id = "constraints";
      table.querySelectorAll("tbody tr").forEach((tr, k) => {
        const here = k < C.length ? C[k].here : D.known[k - C.length];
        if (here) tr.className = here.kept === false ? "violated" : here.active ? "active" : "";
      });
    }
    rows(add(right, "div", "scroll"), ["parameter", "exactly", "values"], P.map((p, k) => [p.name, D.exact.x[k], p.labels ? cut(p.labels.join(", "), 200) : `${number(p.low)} to ${number(p.high)}${p.log ? ", log" : ""}`])).id = "parameters";
    for (const text of D.on_bounds) add(right, "p", "soft", text);
  }

  // ---- all runs: a table, and one column against another ----
  function everything() {
    const state = memory.runs || (memory.runs = { column: null, down: false, kind: "all", text: "", x: null, y: null });
    const rank = new Map(D.order.map((i, k) => [i, k]));
    const standing = (i) => (E.y[i] === null ? "failed: " + (E.reason[i] || "no reason given") : !feasible(i) ? "violates " + E.broken[i].map((k) => (C[k] ? C[k].text : "a constraint")).join("; ") : onFront.has(i) ? "on the front" : limited ? "satisfies all" : "");
    const columns = [
      { name: "evaluation", of: (i) => i + 1, text: (i) => (E.id[i] === null ? `${i + 1}` : `${i + 1} (run ${E.id[i]})`) },
      ...[...goals, ...outputs].map((o) => ({ name: o.name, of: (i) => o.values[i], text: (i) => number(o.values[i], 7) })),
      ...P.map((p, k) => ({ name: p.name, p, of: (i) => E.x[i][k], text: (i) => word(p, E.x[i][k]) })),
      { name: "result", of: (i) => (rank.has(i) ? rank.get(i) : N), text: standing, last: true },
    ];
    const section = card(root, "All runs", "The best first; a click on a title orders them by that column. Filter by words, or by conditions such as " + `${cut(goals[0].name, 30)} < ${number(goals[0].values[Math.max(centre, 0)], 3)}` + "; several are separated by commas.", "long");
    section.id = "runs";
    const controls = add(section, "div", "buttons");
    const choice = (label, options, key, otherwise) => {
      const box = add(controls, "label", "", label), select = add(box, "select", key);
      options.forEach(([value, text]) => { add(select, "option", "", cut(text, 30)).value = value; });
      select.value = options.some(([value]) => String(value) === String(state[key])) ? state[key] : otherwise;
      select.addEventListener("change", () => { state[key] = select.value; remember(); render(); });
      return select;
    };
    const kinds = [["all", "all"], ["kept", limited ? "satisfy all constraints" : "succeeded"], ...(F ? [["front", "on the front"]] : []), ...(limited ? [["broken", "violate one"]] : []), ...(failed ? [["failed", "failed"]] : [])];
    const kind = choice("show ", kinds, "kind", "all");
    const text = add(controls, "input", "filter");
    Object.assign(text, { type: "search", placeholder: "filter", value: state.text });
    text.setAttribute("aria-label", "filter");
    text.addEventListener("input", () => { state.text = text.value; remember(); render(); });
    const count = add(controls, "span", "soft");
    const table = add(section, "div", "scroll tall");
    const axes = columns.map((c, k) => [k, c.name]).filter(([k]) => !columns[k].last);
    const second = add(section, "div", "buttons");
    const holder = add(section, "div");
    const axis = (label, key, otherwise) => { const select = choice(label, axes, key, String(otherwise)); second.appendChild(select.parentElement); return select; };
    const limitedOutput = columns.findIndex((c) => C.some((limit) => limit.text.startsWith(c.name + " ")));
    const across = axis("across ", "x", goals.length > 1 ? 2 : limitedOutput > 0 ? limitedOutput : 1 + goals.length + outputs.length), up = axis("up ", "y", 1);
    // Conditions "name < number", or words that must occur in a row.
    const test = (part) => {
      const found = part.match(/^(.+?)\s*(<=|>=|<|>|=)\s*([-+.\deE]+)$/), at = found ? columns.findIndex((c) => c.name === found[1].trim()) : -1, bound = found ? Number(found[3]) : NaN;
      if (at < 0 || Number.isNaN(bound)) return (i) => columns.some((c) => c.text(i).toLowerCase().includes(part.toLowerCase()));
      const how = { "<": (v) => v < bound, ">": (v) => v > bound, "<=": (v) => v <= bound, ">=": (v) => v >= bound, "=": (v) => v === bound }[found[2]];
      return (i) => { const v = columns[at].of(i); return v !== null && how(v); };
    };
    const isKind = { all: () => true, kept: feasible, front: (i) => onFront.has(i), broken: (i) => E.y[i] !== null && !feasible(i), failed: (i) => E.y[i] === null };
    function render() {
      const tests = text.value.split(",").map((part) => part.trim()).filter(Boolean).map(test);
      const sorter = columns[state.column] || columns[columns.length - 1], sign = state.down ? -1 : 1;
      const kept = E.y.map((_, i) => i).filter((i) => isKind[kind.value](i) && tests.every((one) => one(i)));
      kept.sort((a, b) => { const [v, w] = [sorter.of(a), sorter.of(b)]; return v === null || w === null ? (v === null) - (w === null) : sign * (v - w) || a - b; });
      count.textContent = kept.length === N ? `${N} runs` : `${kept.length} of ${N} runs`;
      table.textContent = "";
      const most = state.whole ? N : 100;
      const made = rows(table, columns.map((c) => c.name), kept.slice(0, most).map((i) => columns.map((c) => c.text(i))), columns.map((c, k) => (c.last || (c.p && c.p.labels) ? -1 : k)));
      made.id = "all-runs";
      made.querySelectorAll("th").forEach((th, k) => {
        th.textContent = "";
        const button = add(th, "button", "sort", columns[k].name + (state.column === k ? (state.down ? " ↓" : " ↑") : ""));
        button.addEventListener("click", () => { state.down = state.column === k && !state.down; state.column = k; remember(); render(); });
      });
      made.querySelectorAll("tbody tr").forEach((tr, k) => { tr.className = kept[k] === bestIndex ? "top" : feasible(kept[k]) ? "" : "out"; });
      if (kept.length > most) add(table, "button", "", `show all ${kept.length}`).addEventListener("click", () => { state.whole = true; render(); });
      scatter(kept);
    }
    function scatter(kept) {
      holder.textContent = "";
      const width = widthOf(section, 1100), height = Math.min(400, Math.max(280, 0.62 * width));
      const a = columns[across.value], b = columns[up.value], box = { left: 64, right: width - 12, top: 24, bottom: height - 42 };
      const svg = canvas(holder, "scatter", "One column of the table against another", width, height);
      const scale = (c, from, to, n) => {
        if (c.p) return along(c.p, from, to, n);
        const values = kept.map(c.of), [low, high] = spread(values);
        return low > 0 && high > 100 * low ? logarithmic(low / 1.1, high * 1.1, from, to) : linear(...spread(values, 0.04), from, to, n);
      };
      const x = scale(a, box.left, box.right, width / 110), y = scale(b, box.bottom, box.top, 5), points = [];
      frame(svg, box, x, y, { xlabel: cut(a.name, 60), ylabel: cut(b.name, 60) });
      let bounds = 0;
      for (const c of C) {
        if (c.text.startsWith(a.name + " ") && c.bound > x.low && c.bound < x.high) draw(svg, "line", { x1: x.at(c.bound), x2: x.at(c.bound), y1: box.top, y2: box.bottom, class: "bound" }), bounds++;
        if (c.text.startsWith(b.name + " ") && c.bound > y.low && c.bound < y.high) draw(svg, "line", { x1: box.left, x2: box.right, y1: y.at(c.bound), y2: y.at(c.bound), class: "bound" }), bounds++;
      }
      for (const i of [...kept].reverse()) {
        const [v, w] = [a.of(i), b.of(i)];
        if (v === null || w === null) continue;
        const px = x.at(v), py = y.at(w);
        if (i === bestIndex) draw(svg, "polygon", { points: star(px, py, 9), class: "star" });
        else if (E.y[i] === null) draw(svg, "path", { d: cross(px, py, 4), class: "cross" });
        else dot(svg, i, px, py, kept.length > 300 ? 2.4 : 3.4);
        points.push({ x: px, y: py, lines: () => describe(i) });
      }
      hover(svg, points);
      legend(holder, [[disc("point"), limited ? "satisfies all constraints (hollow: initial design)" : "evaluation (hollow: initial design)"], ...(limited ? [[rhomb("point infeasible"), "violates one"]] : []), ...(bounds ? [[stroke("bound"), "limit"]] : []), [asterisk, centreName]]);
    }
    redraw(render);
  }

  // ---- can the model be trusted? ----
  function trust() {
    if (!D.calibration && !C.length && !D.trace.length) return;
    const details = add(root, "details");
    details.id = "trust";
    const summary = add(details, "summary");
    add(summary, "h2", "", "Can the model be trusted?");
    add(summary, "p", "", D.trust);
    addEventListener("beforeprint", () => { details.open = true; });
    const two = add(details, "div", "two"), left = add(two, "div"), right = add(two, "div");
    if (!F) calibration(left);
    if (!F) law(right);
    for (const c of C) {
      const cell = card(left.childElementCount > right.childElementCount ? right : left, `Is the model right about ${c.text}?`);
      if (!c.model) {
        add(cell, "p", "soft", "No model has been fitted yet: the initial design comes first.");
        continue;
      }
      add(cell, "p", "", c.model.sentence);
      const meaning = { safe: "safe: above 90 %", doubtful: "doubtful", hopeless: "hopeless: below 10 %" };
      rows(add(cell, "div", "scroll"), ["predicted probability of satisfying it", "points", "expected to satisfy it", "satisfied it"], c.model.bands.map((b) => [meaning[b.label], b.n, b.expected.toFixed(1), b.kept]), [1, 2, 3]);
      if (c.model.models[0].u.length) pit(cell, "limit", c.model.models, "values that satisfy it", "The same for all values that satisfy the limit, as fractions of the box.", "less means that the limit is expected to be satisfied too rarely");
    }
  }
  function importance() {
    const I = D.importance;
    if (!I) return;
    const section = card(root, "Which parameters matter", `How much of the variation of each output${limited ? ", and of the probability of satisfying all limits," : ""} a parameter is involved in, over the whole box: total Sobol' indices of the models' means.`);
    section.id = "importance";
    const buttons = add(section, "div", "buttons"), holder = add(section, "div", "scroll"), ranks = Object.keys(I.orders);
    if (ranks.length > 1) add(buttons, "span", "soft", "ranked for");
    const made = ranks.map((rank) => {
      const button = add(buttons, "button", "rank-" + rank, rank === "both" ? "both" : rank === "objective" && F ? "the objectives" : `the ${rank}`);
      button.addEventListener("click", () => { memory.rank = rank; remember(); render(); });
      return button;
    });
    buttons.hidden = ranks.length < 2;
    function render() {
      const rank = ranks.includes(memory.rank) ? memory.rank : ranks[ranks.length - 1], order = I.orders[rank].slice(0, 20);
      made.forEach((button, k) => button.setAttribute("aria-pressed", String(ranks[k] === rank)));
      holder.textContent = "";
      const table = rows(holder, ["parameter", ...I.columns], order.map((k) => [P[k].name, ...I.totals.map((column) => column[k].toFixed(2))]), I.columns.map((_, k) => k + 1));
      table.querySelectorAll("tbody tr").forEach((tr, r) => tr.querySelectorAll("td.number").forEach((td, c) => { td.style.background = `color-mix(in oklab, var(--light) ${(70 * I.totals[c][order[r]]).toFixed(0)}%, transparent)`; }));
      if (P.length > order.length) add(holder, "p", "soft", `The ${order.length} most important of ${P.length} are shown.`);
    }
    render();
  }
  function law(parent) {
    const T = D.trace;
    if (!T.length) return;
    const section = card(parent, "Distribution of the errors, along the run", "Shape β and scale λ of the generalized normal distribution that the model uses; a plain GP has β = 2 and λ = √2. Small β means heavy tails.");
    const n = T.map((t) => t.n), end = [Math.min(...n), Math.max(...n, Math.min(...n) + 1)];
    // Where models take turns, the others have no such law, and thresholds of their own.
    const L = T.filter((t) => t.beta !== null), lawful = L.length ? L : T;
    const betas = L.map((t) => t.beta), scales = L.map((t) => t.scale), counts = L.map((t) => t.n);
    if (L.length) {
      if (L.length < T.length) add(section, "p", "soft", `Models take turns: shown are the ${L.length} of ${T.length} points that ${[...new Set(L.map((t) => t.method))].join(" and ")} chose.`);
      const width = narrow ? 340 : 480, height = 230, box = { left: 52, right: width - 10, top: 22, bottom: height - 40 };
      const svg = canvas(section, "law", "Shape and scale of the law against the number of evaluations", width, height);
      const known = [...betas, ...scales, 2].filter((v) => v > 0), [low, high] = spread(known);
      const x = linear(...end, box.left, box.right, 5), y = logarithmic(low / 1.3, high * 1.3, box.bottom, box.top);
      x.ticks = x.ticks.filter(Number.isInteger);
      frame(svg, box, x, y, { xlabel: "evaluations", ylabel: "β, λ" });
      draw(svg, "line", { x1: box.left, x2: box.right, y1: y.at(2), y2: y.at(2), class: "diagonal" });
      draw(svg, "path", { d: path(counts, betas, x, y), class: "line m curve" });
      draw(svg, "path", { d: path(counts, scales, x, y), class: "line c dash curve" });
      hover(svg, T.flatMap((t) => [t.beta, t.scale].filter((v) => v > 0).map((v) => ({ x: x.at(t.n), y: y.at(v), lines: () => [`after ${t.n} evaluations, by ${t.method}`, `β ${number(t.beta, 4)}`, `λ ${number(t.scale, 4)}`, `t ${number(t.threshold)}`] }))));
      legend(section, [[stroke("m"), "β"], [stroke("c dash"), "λ"], [(s) => draw(s, "path", { d: "M1 6H23", class: "diagonal" }), "β of a Gaussian"]]);
    } else {
      add(section, "p", "soft", "The model in use has no such distribution.");
    }
    const width = narrow ? 340 : 480, height = 230, box = { left: 60, right: width - 10, top: 22, bottom: height - 40 };
    const svg = canvas(section, "threshold", "Threshold and best value against the number of evaluations", width, height);
    const levels = [...lawful.map((t) => t.threshold), ...T.map((t) => t.best)].filter((v) => v !== null), [low, high] = spread(levels, 0.06);
    const x = linear(...end, box.left, box.right, 5);
    x.ticks = x.ticks.filter(Number.isInteger);
    const [least, most] = spread(levels);
    const y = least > 0 && most > 1000 * least ? logarithmic(least / 1.1, most * 1.1, box.bottom, box.top) : linear(low, high, box.bottom, box.top, 4);
    frame(svg, box, x, y, { xlabel: "evaluations", ylabel: "value" });
    draw(svg, "path", { d: path(lawful.map((t) => t.n), lawful.map((t) => t.threshold), x, y, true), class: "line p dash curve" });
    draw(svg, "path", { d: path(n, T.map((t) => t.best), x, y, true), class: "line m curve" });
    hover(svg, T.flatMap((t) => (lawful.includes(t) ? ["threshold", "best"] : ["best"]).filter((k) => t[k] !== null).map((k) => ({ x: x.at(t.n), y: y.at(t[k]), lines: () => [`after ${t.n} evaluations, by ${t.method}`, `threshold t ${number(t.threshold)}`, `best ${number(t.best)}`, `log EI of the next point ${number(t.log_ei, 4)}`] }))));
    legend(section, [[stroke("p dash"), "threshold t"], [stroke("m"), limited ? "best value that satisfies all constraints" : "best value"]]);
  }

  // ---- time ----
  function times(parent) {
    const both = E.y.map((_, i) => [E.simulator[i], E.optimizer[i]]);
    const section = card(parent, "Time per evaluation");
    if (!both.some(([a, b]) => a !== null || b !== null)) {
      add(section, "p", "soft", "No times are known yet.");
      return;
    }
    const total = (k) => both.reduce((sum, pair) => sum + (pair[k] || 0), 0), [simulator, optimizer] = [total(0), total(1)];
    const unknown = both.some(([a]) => a === null) ? " Where the simulator's time is not known, none is drawn." : "";
    const known = (k, sum) => (both.some((pair) => pair[k] !== null) ? seconds(sum) : "not known");
    add(section, "p", "soft", `Simulator ${known(0, simulator)}, optimizer ${known(1, optimizer)} in total.` + unknown);
    const holder = add(section, "div");
    redraw(() => {
      holder.textContent = "";
      const width = widthOf(section, 1100), height = 250, box = { left: 58, right: width - 10, top: 22, bottom: height - 40 };
      const svg = canvas(holder, "times", "Seconds of simulator and optimizer for each evaluation", width, height);
      const sums = both.map(([a, b]) => (a || 0) + (b || 0)), high = Math.max(...sums) || 1;
      const unit = high >= 7200 ? [3600, "h"] : high >= 180 ? [60, "min"] : high >= 0.2 ? [1, "s"] : [0.001, "ms"];
      const x = linear(0.5, N + 0.5, box.left, box.right, 5), y = linear(0, (1.05 * high) / unit[0], box.bottom, box.top, 4);
      x.ticks = x.ticks.filter(Number.isInteger);
      frame(svg, box, x, y, { xlabel: "evaluations", ylabel: unit[1] });
      const step = (box.right - box.left) / N, gap = step > 4 ? 1 : 0, points = [];
      drawn.forEach((i) => {
        const [a, b] = both[i], px = x.at(i + 0.5), p1 = y.at((a || 0) / unit[0]), p2 = y.at(sums[i] / unit[0]);
        if (a) draw(svg, "rect", { x: px.toFixed(1), width: Math.max(step - gap, 0.6).toFixed(2), y: p1.toFixed(1), height: (box.bottom - p1).toFixed(1), class: "bar1" });
        if (b) draw(svg, "rect", { x: px.toFixed(1), width: Math.max(step - gap, 0.6).toFixed(2), y: p2.toFixed(1), height: (p1 - p2).toFixed(1), class: "bar2" });
        points.push({ x: x.at(i + 1), y: p2, lines: () => [`evaluation ${i + 1}`, `simulator ${seconds(a)}`, `optimizer ${seconds(b)}`] });
      });
      hover(svg, points, 60);
      legend(holder, [[patch("bar1"), "simulator"], [patch("bar2"), "optimizer"]]);
    });
  }

  // ---- tables ----
  function rows(parent, titles, cells, numeric) {
    const table = add(parent, "table");
    const line = add(add(table, "thead"), "tr");
    titles.forEach((title) => { add(line, "th", "", title).scope = "col"; });
    const body = add(table, "tbody");
    for (const row of cells) {
      const tr = add(body, "tr");
      row.forEach((cell, k) => add(tr, "td", (numeric || []).includes(k) ? "number" : "", cell));
    }
    return table;
  }
  const names = P.map((p) => p.name);
  const brief = (x) => x.map((text, k) => (P[k].labels || P[k].type !== "real" ? text : number(Number(text), 6)));
  const run = (item) => (item.id === null ? item.number : `${item.number} (run ${item.id})`);
  const numericColumns = P.map((p, k) => (p.labels ? -1 : k));
  function tables() {
    if (D.pending.length) {
      const section = card(root, "Under way", null, "long");
      rows(add(section, "div", "scroll"), ["run", ...names], D.pending.map((p) => [p.id, ...brief(p.x)]), [0, ...numericColumns.filter((k) => k >= 0).map((k) => k + 1)]);
    }
    if (failed) {
      const section = card(root, "Failures", `${failed} of ${N} evaluations gave no value` + (failed > D.failures.length ? `; the latest ${D.failures.length} are listed.` : "."), "long");
      const counts = new Map();
      E.reason.forEach((reason, i) => { if (E.y[i] === null) counts.set(reason || "no reason given", (counts.get(reason || "no reason given") || 0) + 1); });
      const sorted = [...counts].sort((a, b) => b[1] - a[1]);
      if (sorted.length > 1 && sorted.length < failed) rows(add(section, "div", "scroll"), ["times", "reason"], sorted.slice(0, 20).map(([reason, n]) => [n, reason]));
      rows(add(section, "div", "scroll"), ["evaluation", "reason", ...names], D.failures.map((f) => [run(f), f.reason, ...brief(f.x)]), [0, ...numericColumns.filter((k) => k >= 0).map((k) => k + 2)]).id = "failures";
    }
    if (N) times(root);
    const settings = card(root, "Settings and versions");
    rows(add(settings, "div", "scroll"), ["", ""], [...D.settings, ...D.versions]);
  }

  // ---- widths, memory and refreshing ----
  const renders = [];
  function redraw(render) { renders.push(render); render(); }
  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => renders.forEach((render) => render()), 120);
  });
  function recall() {
    try { return JSON.parse(sessionStorage.getItem(KEY)) || {}; } catch { return {}; }
  }
  function remember() {
    try { sessionStorage.setItem(KEY, JSON.stringify(memory)); } catch { /* a browser that keeps nothing */ }
  }
  function refreshing() {
    let due = Date.now() + 1000 * D.state.refresh;
    const patience = due + 30000;  // for someone who reads a tooltip
    setInterval(() => {
      const now = Date.now();
      if (memory.paused) due = now + 1000 * D.state.refresh;
      if (now < due || document.hidden || (!tip.hidden && now < patience)) return;
      memory.scroll = [scrollX, scrollY];
      remember();
      due = now + 60000;
      location.reload();
    }, Math.min(1000, 500 * D.state.refresh));
  }

  head();
  if (!N) add(root, "p", "lead", "No evaluation has ended yet.");
  else {
    if (F) front();
    design();
    if (!F) convergence();
    everything();
    samples();
    importance();
    slices();
    if (!F) heat(root);
    trust();
  }
  tables();
  // The browser's own memory of the place would compete with ours.
  if ("scrollRestoration" in history) history.scrollRestoration = "manual";
  if (memory.scroll) { scrollTo(...memory.scroll); memory.scroll = null; remember(); }
  if (D.state.refresh) refreshing();
  document.documentElement.dataset.evaluations = N;
  document.documentElement.dataset.drawn = "yes";
})();
