// Draws the map and its cursor on canvases; everything in CSS pixels, `scale` device pixels each.
const FONT = "system-ui, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";
const NAMES_RASTER = 56; // points a side on which a place for a region's name is looked for
const ON_FRONT = 1.01; // a crossing is shown when no third lock is cheaper by more than 1 %

// What is drawn of a state: the map, the contest with each lock's plane, the chosen point, and the
// processor, if one is chosen. The map's field is drawn only where it answers the same question: it
// is of one core, and a processor with another has no field.
function viewOf(state) {
  const map = findMap(state.machine, state.flavour);
  const contest = contestants(map, state)
    .map((lock) => ({ lock, plane: planeOf(map, lock, state.cancel, state.share) }));
  const processor = findProcessor(state.processor, state.flavour);
  return { map, contest, processor, field: !processor || processor.machine === map.machine, state };
}

// Where the map lies on a canvas of this size, and how latencies become pixels.
function frameOf(map, width, height) {
  const frame = { left: 46, top: 10, right: width - 12, bottom: height - 42 };
  const [x0, x1] = [map.cas.measured[0], map.cas.measured.at(-1)];
  const [y0, y1] = [map.fence.measured[0], map.fence.measured.at(-1)];
  const [wide, high] = [frame.right - frame.left, frame.bottom - frame.top];
  return {
    ...frame, wide, high,
    x: (cas) => frame.left + (cas - x0) / (x1 - x0) * wide,
    y: (fence) => frame.bottom - (fence - y0) / (y1 - y0) * high,
    cas: (x) => clamp(x0 + (x - frame.left) / wide * (x1 - x0), [x0, x1]),
    fence: (y) => clamp(y0 + (frame.bottom - y) / high * (y1 - y0), [y0, y1]),
  };
}

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
  return found;
}

function text(context, words, x, y, size = 12, weight = "", halo = false) {
  context.font = `${weight} ${size}px ${FONT}`;
  if (halo) {
    context.lineWidth = 3.5;
    context.lineJoin = "round";
    context.strokeStyle = "#ffffffd8";
    context.strokeText(words, x, y);
  }
  context.fillText(words, x, y);
}

function drawAxes(context, map, frame) {
  context.fillStyle = context.strokeStyle = "#1a1a1a";
  context.lineWidth = 1;
  context.strokeRect(frame.left - 0.5, frame.top - 0.5, frame.wide + 1, frame.high + 1);
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const at of ticks(map.cas.measured[0], map.cas.measured.at(-1), frame.wide / 70)) {
    text(context, String(at), frame.x(at), frame.bottom + 6);
    context.fillRect(frame.x(at), frame.bottom, 1, 4);
  }
  text(context, "observed CAS latency (cycles)", (frame.left + frame.right) / 2, frame.bottom + 23);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const at of ticks(map.fence.measured[0], map.fence.measured.at(-1), frame.high / 50)) {
    text(context, String(at), frame.left - 7, frame.y(at));
    context.fillRect(frame.left - 4, frame.y(at), 4, 1);
  }
  context.save();
  context.translate(9, (frame.top + frame.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  text(context, `observed ${map.fenceName} latency (cycles)`, 0, 0);
  context.restore();
}

function darker(colour) {
  return `rgb(${[1, 3, 5].map((at) => Math.round(parseInt(colour.slice(at, at + 2), 16) * 0.5))})`;
}

// The names of the regions, each where there is most room; one without room for a line has none.
function drawNames(context, view, frame) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  const cell = Math.min(frame.wide, frame.high) / NAMES_RASTER;
  for (const [who, place] of roomiest(view.map, view.contest, NAMES_RASTER)) {
    if (place.away * cell < 9) continue;
    const { lock } = view.contest[who];
    const lines = lock.words.split(", ");
    if (lock.kind === UNSOUND) lines.push("(not on every processor)");
    context.font = `bold 14px ${FONT}`;
    const half = Math.max(...lines.map((line) => context.measureText(line).width)) / 2 + 4;
    const x = clamp(frame.left + place.x * frame.wide, [frame.left + half, frame.right - half]);
    const y = clamp(frame.top + place.y * frame.high - (lines.length - 1) * 8,
      [frame.top + 12, frame.bottom - 12 - (lines.length - 1) * 16]);
    context.fillStyle = darker(lock.colour);
    lines.forEach((line, n) => text(context, line, x, y + n * 16, 14, "bold", true));
  }
}

function dot(context, x, y, radius, fill, stroke) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
  if (stroke) {
    context.strokeStyle = stroke;
    context.lineWidth = 1.5;
    context.stroke();
  }
}

// Points at which every lock of the contest was run, with this cancellation cost and share.
function measuredPoints(view) {
  const points = [];
  for (const cas of view.map.cas.measured) {
    for (const fence of view.map.fence.measured) {
      const point = { ...view.state, processor: "", cas, fence };
      if (view.contest.every((one) => isMeasured(view.map, one.lock, point))) points.push(point);
    }
  }
  return points;
}

function drawMeasured(context, view, frame) {
  context.fillStyle = "#1a1a1a";
  for (const point of measuredPoints(view)) {
    const [x, y] = [frame.x(point.cas), frame.y(point.fence)];
    context.fillRect(x - 4, y - 0.75, 8, 1.5);
    context.fillRect(x - 0.75, y - 4, 1.5, 8);
  }
}

// The searched crossovers between the cheapest; they are of one cancellation cost and share.
function crossingsOf(view) {
  const { map, state } = view;
  if (map.searched.cancel !== state.cancel || map.searched.share !== state.share) return [];
  return map.crossings.filter((one) => {
    const ranked = rank(view, { ...state, processor: "", cas: one.cas, fence: one.fence });
    const pair = ranked.filter((row) => one.pair.includes(row.lock.label));
    return pair.length === 2 && pair[1].cost <= ranked[0].cost * ON_FRONT;
  });
}

// The processors that stand on the map, by their CAS and fence: what is chosen for cancellation and
// share is their own. Those with a map of their own stand there.
function placesOf(view) {
  const { map, state } = view;
  return DATA.processors.filter((one) => one.flavour === map.flavour
    && !findMap(one.machine, one.flavour) && one.share === state.share
    && Math.abs(one.cancel - state.cancel) <= map.tie * state.cancel);
}

// In the half of the map where the point is not, line by line, as it fits.
function drawWords(context, words, frame, point) {
  context.font = `bold 13px ${FONT}`;
  const lines = [""];
  for (const word of words.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (context.measureText(longer).width > frame.wide * 0.8) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  context.fillStyle = "#1a1a1a";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const above = frame.y(point.fence) > (frame.top + frame.bottom) / 2;
  const top = frame.top + frame.high * (above ? 0.25 : 0.75) - (lines.length - 1) * 9;
  lines.forEach((line, n) => text(context, line, (frame.left + frame.right) / 2, top + n * 18, 13, "bold", true));
}

function drawMarks(context, view, frame) {
  const { map } = view;
  if (view.field) {
    for (const one of crossingsOf(view)) dot(context, frame.x(one.cas), frame.y(one.fence), 3, "#1a1a1a");
  }
  if (map.own && view.field) {
    dot(context, frame.x(map.own.cas), frame.y(map.own.fence), 6, "#ffffff", "#1a1a1a");
    dot(context, frame.x(map.own.cas), frame.y(map.own.fence), 2.5, "#1a1a1a");
  }
  context.textBaseline = "middle";
  for (const mark of view.field ? placesOf(view) : [view.processor]) {
    const [x, y] = [frame.x(mark.cas), frame.y(mark.fence)];
    if (x < frame.left || x > frame.right || y < frame.top || y > frame.bottom) continue;
    context.beginPath();
    for (const [dx, dy] of [[0, -6], [6, 0], [0, 6], [-6, 0]]) context.lineTo(x + dx, y + dy);
    context.closePath();
    context.fillStyle = "#ffffff";
    context.fill();
    context.strokeStyle = context.fillStyle = "#1a1a1a";
    context.lineWidth = 1.5;
    context.stroke();
    const left = x > frame.left + 0.7 * frame.wide;
    context.textAlign = left ? "right" : "left";
    text(context, mark.name, x + (left ? -10 : 10), y, 12, "", true);
  }
}

// The whole map but for its cursor. Returns its frame.
function drawMap(context, view, left, top, width, height, scale) {
  const frame = frameOf(view.map, width, height);
  const pixels = (value) => Math.round(value * scale);
  context.setTransform(scale, 0, 0, scale, pixels(left), pixels(top));
  if (!view.field) {
    drawWords(context, noField(view), frame, view.state);
    drawMarks(context, view, frame);
  } else if (view.contest.length) {
    paintRegions(context, view.map, view.contest, pixels(left + frame.left), pixels(top + frame.top),
      pixels(frame.wide), pixels(frame.high), scale);
    drawNames(context, view, frame);
    drawMeasured(context, view, frame);
    drawMarks(context, view, frame);
  }
  drawAxes(context, view.map, frame);
  return frame;
}

// A cross over the whole map, in black and white so that it shows on every colour.
function drawCursor(context, frame, point, width, height, scale) {
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const [x, y] = [frame.x(point.cas), frame.y(point.fence)];
  for (const [colour, dash] of [["#ffffff", []], ["#1a1a1a", [4, 3]]]) {
    context.strokeStyle = colour;
    context.setLineDash(dash);
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x, frame.top);
    context.lineTo(x, frame.bottom);
    context.moveTo(frame.left, y);
    context.lineTo(frame.right, y);
    context.stroke();
  }
  context.setLineDash([]);
  context.strokeStyle = "#1a1a1a";
  context.lineWidth = 2;
  context.strokeRect(x - 5, y - 5, 10, 10);
}
