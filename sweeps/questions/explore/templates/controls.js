// The controls: they change the state, and every change of the state redraws what depends on it.
const NICE = [0, 100, 200, 500, 1000, 2000, 3000, 5000, 7500, 10000, 15000, 20000, 30000, 40000, 50000,
  100000, 200000, 500000, 1000000];
const SNAP = 7; // pixels within which the pointer takes a measured point or a mark
const SAY_AFTER = 350; // milliseconds of rest before a screen reader is told

let state;
let view;
let frame;
let hovered = null;
let asked = 0;
let wholeMap = false;
let saying = 0;
const paper = new Image(); // of the map: browsers do not print every canvas
let left = ""; // the processor that a move has just left
let drawn = ""; // what of the state the map was drawn of

// Stops of a slider: round values within the axis, and its measured points.
function stopsOf(axis, nice) {
  const within = nice.filter((one) => one >= axis[0] && one <= axis.at(-1));
  return [...new Set([...within, ...axis])].sort((a, b) => a - b);
}

// Of 20 runs only twentieths are exact, so shares in between would not be what they say.
function shareStops(map) {
  const runs = map.runs || 20;
  const nice = Array.from({ length: runs + 1 }, (_, n) => sixDecimals(n / runs));
  return stopsOf(map.share, nice);
}

const SLIDERS = {
  cancel: { stops: (map) => stopsOf(map.cancel, NICE), words: (value) => `${cycles(value)} cycles` },
  share: { stops: shareStops, words: percent },
};

function showSlider(name) {
  const slider = byId(name);
  const axis = view.map[name];
  const value = state[name];
  // A value from the address may lie between the stops.
  const stops = [...new Set([...SLIDERS[name].stops(view.map), value])].sort((a, b) => a - b);
  slider.max = stops.length - 1;
  slider.value = stops.indexOf(value);
  slider.disabled = axis.length === 1;
  slider.stops = stops;
  const known = view.processor ? `as ${view.processor.name} has it`
    : isPoint(axis, value) ? "simulated" : "interpolated";
  const words = `${SLIDERS[name].words(value)}, ${known}`;
  slider.setAttribute("aria-valuetext", words);
  byId(`${name}-words`).textContent = words;
}

function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(([value, words]) => new Option(words, value)));
  select.value = chosen;
  select.disabled = options.length < 2;
}

function showSelects() {
  const { map } = view;
  const unique = (maps, key, words) => [...new Map(maps.map((one) => [one[key], one[words]]))];
  fillSelect(byId("flavour"), unique(DATA.maps, "flavour", "isa"), map.flavour);
  const here = DATA.maps.filter((one) => one.flavour === map.flavour);
  fillSelect(byId("core"), unique(here, "core", "core"), map.core);
  const alike = here.filter((one) => one.core === map.core);
  fillSelect(byId("machine"), unique(alike, "machine", "machine"), map.machine);
  byId("machine").title = map.title;
  const places = DATA.processors.filter((one) => one.flavour === map.flavour)
    .map((one) => [one.machine, `${one.name}, ${one.core}`]);
  fillSelect(byId("place"), [["", "none: a point of the map"], ...places], state.processor);
}

// Whose values the page shows, and whose no longer.
function showProcessor() {
  const { map, processor } = view;
  byId("processor").textContent = processor
    ? `${processor.title}: its own core, CAS, fence and cancellation. Any change of these leaves it.`
    : left ? `A point of the map${left === map.machine ? "" : `, no longer ${left}`}: machine ${map.machine}'s core, `
      + "interpolated where it was not run." : "";
}

function makeBoxes(name, words, key) {
  for (const [value, label] of words) {
    const made = document.createElement("label");
    const box = document.createElement("input");
    Object.assign(box, { type: "checkbox", value });
    box.addEventListener("change", () => {
      const every = [...byId(name).querySelectorAll("input:checked")].map((one) => one.value);
      change({ [key]: every });
    });
    made.append(box, ` ${label}`);
    if (value in DATA.limits) made.title = DATA.limits[value];
    byId(name).append(made);
  }
}

function showBoxes() {
  for (const box of byId("locks").querySelectorAll("input")) box.checked = state.locks.includes(box.value);
  const kinds = new Set(view.map.locks.map((one) => one.kind));
  for (const box of byId("fences").querySelectorAll("input")) {
    box.checked = state.fences.includes(box.value);
    box.disabled = !kinds.has(box.value);
  }
}

function showCursorFields() {
  const short = (value) => Math.round(value * 100) / 100;
  for (const [name, axis] of [["cas", view.map.cas], ["fence", view.map.fence]]) {
    const field = byId(name);
    if (document.activeElement !== field) field.value = short(state[name]);
    [field.min, field.max] = [Math.floor(axis.measured[0]), Math.ceil(axis.measured.at(-1))];
  }
  byId("fence-name").textContent = view.map.fenceName;
}

// Redraws the map: after a change of anything but the cursor, and when its size changes.
function drawAll() {
  const sheet = byId("sheet");
  const width = sheet.clientWidth;
  if (!width) return;
  const height = Math.round(Math.min(width * 0.82, Math.max(280, window.innerHeight * 0.8)));
  sheet.style.aspectRatio = `${width} / ${height}`;
  const scale = window.devicePixelRatio || 1;
  for (const name of ["map", "cursor"]) {
    Object.assign(byId(name), { width: Math.round(width * scale), height: Math.round(height * scale) });
  }
  frame = drawMap(byId("map").getContext("2d"), view, 0, 0, width, height, scale);
  drawPoint();
}

function drawPoint() {
  const sheet = byId("sheet");
  const scale = window.devicePixelRatio || 1;
  drawCursor(byId("cursor").getContext("2d"), frame, hovered || state, sheet.clientWidth,
    sheet.clientHeight, scale);
  const said = showPoint(view, { ...state, ...hovered });
  if (hovered) return;
  clearTimeout(saying); // only a cursor that rests is read out
  saying = setTimeout(() => {
    byId("status").textContent = said;
    paper.src = paperMap(view).toDataURL();
  }, SAY_AFTER);
}

// Draws in the browser's next frame, however often it is asked until then: the cursor alone, or
// `whole`, the map too.
function later(whole) {
  wholeMap ||= whole;
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(() => {
    const draw = wholeMap || !frame ? drawAll : drawPoint;
    wholeMap = false;
    draw();
  });
}

// Shows a state. `keep`: the address stays as it is, as before the first change.
function show(next, keep = false) {
  if (next.processor) left = "";
  else if (state?.processor) left = state.processor;
  state = next;
  view = viewOf(state);
  hovered = null;
  showCursorFields();
  showProcessor();
  byId("commands").textContent = commandsOf(view);
  byId("said").textContent = "";
  if (!keep) history.replaceState(null, "", toFragment(state));
  const { cas, fence, ...chosen } = state;
  if (drawn === JSON.stringify(chosen)) later(false);
  else {
    drawn = JSON.stringify(chosen);
    showChosen();
    later(true);
  }
}

// All that a move of the cursor leaves as it is.
function showChosen() {
  showSelects();
  showBoxes();
  showSlider("cancel");
  showSlider("share");
  byId("fixed").hidden = view.map.explored;
  byId("fixed").textContent = "This map has one cancellation cost and one share; the grid for the "
    + `sliders: ${DATA.how} --machine ${view.map.machine}`;
  const { workload } = view.processor || view.map;
  byId("label").textContent = `${settingWords(view)}. Workload: ${workload}.`;
}

// Whatever moves the point leaves the processor.
function change(some) {
  const moved = ["cancel", "share", "cas", "fence"].some((key) => key in some);
  show(settled({ ...state, ...(moved ? { processor: "" } : {}), ...some }));
}

// Another map: a cursor on the machine as it is moves with it, and a processor stays where it is one
// of that map's ISA.
function changeMap(some) {
  const { own } = view.map;
  const there = view.processor || (own && own.cas === state.cas && own.fence === state.fence);
  const stays = view.processor && !view.field && findProcessor(state.processor, some.flavour);
  if (stays) change(some);
  else change({ ...some, ...(there && { cas: null, fence: null }), ...(view.processor && { processor: null }) });
}

// The machine as it is; without a run of it, where it lies.
function goHome() {
  const { map } = view;
  if (findProcessor(map.machine, map.flavour)) change({ processor: map.machine });
  else if (map.own) change({ cas: map.own.cas, fence: map.own.fence });
}

// Where the pointer is, in latencies; on a measured point or a processor that is near.
function pointOf(event) {
  const box = byId("cursor").getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const { map } = view;
  const places = placesOf(view).map(({ machine, cas, fence }) => ({ processor: machine, cas, fence }));
  const targets = [...(map.own ? [map.own] : []), ...places, ...measuredPoints(view)];
  const near = targets.find((one) => Math.abs(frame.x(one.cas) - x) < SNAP
    && Math.abs(frame.y(one.fence) - y) < SNAP);
  const { processor = "", cas, fence } = near || { cas: frame.cas(x), fence: frame.fence(y) };
  return { processor, cas: clamp(cas, map.cas.measured), fence: clamp(fence, map.fence.measured) };
}

function next(axis, value, step) {
  const ahead = axis.filter((one) => (one - value) * step > 1e-9);
  return ahead.length ? (step > 0 ? Math.min(...ahead) : Math.max(...ahead)) : value;
}

function onKey(event) {
  const { map } = view;
  const moves = { ArrowLeft: ["cas", -1], ArrowRight: ["cas", 1], ArrowDown: ["fence", -1], ArrowUp: ["fence", 1] };
  if (event.key === "Home") goHome();
  else if (event.key in moves) {
    const [axis, step] = moves[event.key];
    const points = map[axis].measured;
    change({ [axis]: event.shiftKey ? next(points, state[axis], step) : clamp(state[axis] + step, points) });
  } else return;
  event.preventDefault();
}

function listenToMap() {
  const canvas = byId("cursor");
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && event.buttons & 1) change(pointOf(event));
    else if (view.field) {
      hovered = pointOf(event);
      later(false);
    }
  });
  // No pointerdown: a finger that scrolls the page must not move the cursor.
  canvas.addEventListener("click", (event) => change(pointOf(event)));
  for (const name of ["pointercancel", "pointerleave"]) {
    canvas.addEventListener(name, () => { hovered = null; later(false); });
  }
  canvas.addEventListener("keydown", onKey);
}

function listenToForm() {
  byId("flavour").addEventListener("change", (event) => changeMap({ flavour: event.target.value }));
  byId("machine").addEventListener("change", (event) => changeMap({ machine: event.target.value }));
  byId("core").addEventListener("change", (event) => {
    const found = DATA.maps.find((one) => one.flavour === state.flavour && one.core === event.target.value);
    changeMap({ machine: found.machine });
  });
  for (const name of ["cancel", "share"]) {
    byId(name).addEventListener("input", (event) => change({ [name]: event.target.stops[event.target.value] }));
  }
  for (const name of ["cas", "fence"]) {
    byId(name).addEventListener("change", (event) => {
      if (event.target.value !== "") change({ [name]: Number(event.target.value) });
    });
  }
  byId("place").addEventListener("change", (event) => {
    if (event.target.value) change({ processor: event.target.value });
    else change({ cas: state.cas, fence: state.fence });
  });
}

async function copy(words, what) {
  try {
    await navigator.clipboard.writeText(words);
    byId("said").textContent = `${what} copied.`;
  } catch {
    byId("said").textContent = `The browser does not let the page copy. ${what}: ${words}`;
  }
}

function listenToButtons() {
  byId("copy").addEventListener("click", () => copy(commandsOf(view), "Commands"));
  byId("link").addEventListener("click", () => {
    history.replaceState(null, "", toFragment(state));
    copy(location.href, "Link");
  });
  byId("png").addEventListener("click", () => picture(view).toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `lockcross-${state.machine}-${state.flavour}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }));
}

function start() {
  document.querySelector(".explorer").hidden = false;
  Object.assign(paper, { id: "explorer-paper", alt: "The map, as described below" });
  byId("sheet").after(paper);
  makeBoxes("locks", LOCKS, "locks");
  makeBoxes("fences", FENCES, "fences");
  listenToMap();
  listenToForm();
  listenToButtons();
  document.querySelector(".controls").addEventListener("submit", (event) => event.preventDefault());
  const given = fromFragment(location.hash, firstState());
  show(given || firstState(), true);
  if (given) document.getElementById("explorer").scrollIntoView();
  window.addEventListener("hashchange", () => {
    const found = fromFragment(location.hash, state);
    if (found) show(found, true);
  });
  new ResizeObserver(() => later(true)).observe(byId("sheet"));
}
