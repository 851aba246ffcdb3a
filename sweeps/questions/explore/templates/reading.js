// What stands beside the map in words: the costs of a point, what it rests on, its commands; and the
// picture that is saved.
const UNSOUND = "store_forward"; // a kind of fence, named as a winner only with this:
const UNSOUND_WORDS = "Store forwarding does not hold on every processor.";
const byId = (name) => document.getElementById(`explorer-${name}`);

function cycles(value) {
  return value.toLocaleString("en", { maximumFractionDigits: 1 });
}

function percent(share) {
  return `${Math.round(share * 1000) / 10} %`;
}

// What is chosen, for the label of the map and the picture.
function settingWords(view) {
  const { state } = view;
  const shown = view.processor || view.map;
  return `${shown.isa}, machine ${shown.machine} (${shown.core})${view.processor ? " as it is" : ""}; a cancellation stops a thread for `
    + `${cycles(state.cancel)} cycles; owner's share ${percent(state.share).replace(" ", "\u00a0")}`;
}

// Why a map has no field for the processor that is chosen.
function noField({ map, processor }) {
  return `${processor.machine} as it is: below are the runs of its own core. A map of ${map.machine}'s core `
    + "would answer another question.";
}

function pointWords(view, point) {
  const processor = findProcessor(point.processor, view.map.flavour);
  if (processor) {
    return `${processor.name} as it is (CAS ${cycles(processor.cas)}, ${processor.fenceName} `
      + `${cycles(processor.fence)}, cancellation ${cycles(processor.cancel)})`;
  }
  return `CAS ${cycles(point.cas)}, ${view.map.fenceName} ${cycles(point.fence)}`;
}

// The verdict on a tie, as everywhere (Win.words in sweeps/study/leads.py).
function tiedWords(names) {
  return `in a tie with ${names.length <= 4 ? names.join(" and ") : `${names.length} others`}`;
}

// Who is cheapest at a point, in a sentence.
function answerWords(view, point, ranked) {
  const at = pointWords(view, point);
  if (!ranked.length) return "No lock is chosen.";
  const [first, second] = ranked;
  const note = first.lock.kind === UNSOUND ? ` ${UNSOUND_WORDS}` : "";
  if (!second) return `${at}: ${first.lock.words} costs ${first.shown} cycles per pair.${note}`;
  const lead = `${(100 * leadOver(first.cost, second.cost)).toFixed(1)} %`;
  const tied = ranked.slice(1).filter((row) => row.tied).map((row) => row.lock.words);
  if (tied.length) return `${at}: ${first.lock.words} is the cheapest, ${tiedWords(tied)} (lead ${lead}).${note}`;
  return `${at}: ${first.lock.words} is the cheapest, ${lead} less than ${second.lock.words}.${note}`;
}

// What the costs of a point rest on.
function basisWords(view, point, ranked) {
  const { map } = view;
  const processor = findProcessor(point.processor, map.flavour);
  if (processor) {
    return `Measured: every lock was run on machine ${processor.machine} as it is. Workload: ${processor.workload}.`;
  }
  const core = `machine ${map.machine} (${map.core})`;
  if (ranked.every((row) => row.measured)) return `Simulated: every lock was run at this point, on ${core}.`;
  const between = [["CAS", map.cas.measured, point.cas], [map.fenceName, map.fence.measured, point.fence],
    ["cancellation", map.cancel, point.cancel], ["share", map.share, point.share]]
    .filter(([, axis, value]) => !isPoint(axis, value))
    .map(([name, axis, value]) => {
      const { at } = placeOn(axis, value);
      const shown = name === "share" ? percent : cycles;
      return `${name} ${shown(axis[at])} and ${shown(axis[at + 1])}`;
    });
  return `Interpolated between ${between.join(", ")}, on ${core}.`;
}

function cell(row, tag, words, name = "") {
  const made = document.createElement(tag);
  made.textContent = words;
  made.className = name;
  row.append(made);
  return made;
}

function costRow(row, cheapest) {
  const made = document.createElement("tr");
  const head = cell(made, "th", "");
  head.scope = "row";
  const name = cell(head, "span", row.lock.words, "lock");
  name.style.setProperty("--colour", row.lock.colour);
  made.dataset.label = row.lock.label;
  cell(made, "td", row.shown, row === cheapest ? "n win" : "n");
  const over = `${(100 * (row.cost / cheapest.cost - 1)).toFixed(1)} %`;
  cell(made, "td", row === cheapest ? "the cheapest" : row.tied ? `${over}, a tie` : over, "n");
  cell(made, "td", row.measured ? "simulated" : "interpolated");
  return made;
}

// Fills the table for a point. Returns the sentence that says who is cheapest.
function showPoint(view, point) {
  const ranked = rank(view, point);
  const said = answerWords(view, point, ranked);
  byId("where").textContent = said;
  byId("costs").tBodies[0].replaceChildren(...ranked.map((row) => costRow(row, ranked[0])));
  byId("basis").textContent = ranked.length ? basisWords(view, point, ranked) : "";
  return `${said} ${byId("basis").textContent}`;
}

function commandsOf(view) {
  const locks = view.processor ? contestants(view.processor, view.state) : view.contest.map((one) => one.lock);
  return locks.map((lock) => commandFor(view.map, lock, view.state)).join("\n");
}

// The map alone, with a ring for the cursor, for print.
function paperMap(view) {
  const [width, height, scale] = [720, 540, 2];
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: width * scale, height: height * scale });
  const context = canvas.getContext("2d");
  const frame = drawMap(context, view, 0, 0, width, height, scale);
  dot(context, frame.x(view.state.cas), frame.y(view.state.fence), 5, "#ffffff", "#000000");
  return canvas;
}

// The map with its setting, its point and all costs there, on a canvas of its own.
function picture(view) {
  const [width, height, line, scale] = [820, 620, 19, 2];
  const ranked = rank(view, view.state);
  const heads = settingWords(view).split("; ");
  const lines = [answerWords(view, view.state, ranked),
    ...ranked.map((row) => `${row.lock.words}: ${row.shown} cycles per pair`
      + (row.measured ? "" : " (interpolated)"))];
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  const top = 16 + line * heads.length;
  canvas.height = (top + height + 26 + line * lines.length) * scale;
  const context = canvas.getContext("2d");
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const frame = drawMap(context, view, 0, top, width, height, scale);
  dot(context, frame.x(view.state.cas), frame.y(view.state.fence), 5, "#ffffff", "#000000");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = "#1a1a1a";
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  heads.forEach((words, n) => text(context, words, 12, 24 + line * n, 14, "bold"));
  lines.forEach((words, n) => text(context, words, 12, top + height + 24 + line * n, 14, n ? "" : "bold"));
  return canvas;
}
