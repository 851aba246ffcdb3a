// What the page knows: the maps with every lock's costs, and how a cost is read from them.
const DATA = JSON.parse(document.getElementById("explorer-data").textContent);
const LOCKS = new Map(DATA.locks); // by name, what people call it
const FENCES = new Map(DATA.fences);

function findMap(machine, flavour) {
  return DATA.maps.find((map) => map.machine === machine && map.flavour === flavour);
}

// A machine as it is, with the runs of its own machine file.
function findProcessor(machine, flavour) {
  return DATA.processors.find((one) => one.machine === machine && one.flavour === flavour);
}

// The locks in the contest, of a map or of a processor. A lock that is built with full fences alone
// takes part with any kind.
function contestants(of, state) {
  const others = new Set(of.locks.filter((one) => one.kind !== "full").map((one) => one.lock));
  return of.locks.filter((one) => state.locks.includes(one.lock)
    && (state.fences.includes(one.kind) || !others.has(one.lock)));
}

// Where a value lies on an axis: the point below it, and the part of the way to the next.
function placeOn(axis, value) {
  const last = axis.length - 1;
  if (last === 0 || value <= axis[0]) return { at: 0, part: 0 };
  if (value >= axis[last]) return { at: last - 1, part: 1 };
  let at = 0;
  while (axis[at + 1] <= value) at += 1;
  return { at, part: (value - axis[at]) / (axis[at + 1] - axis[at]) };
}

function isPoint(axis, value) {
  return axis.length === 1 || axis.some((one) => Math.abs(one - value) < 1e-9);
}

// Shares have no more.
function sixDecimals(share) {
  return Math.round(share * 1e6) / 1e6;
}

function lerp(low, high, part) {
  return part === 0 ? low : part === 1 ? high : low + (high - low) * part;
}

// A lock's costs on the map's plane, a row a fence latency, with cancellation and share chosen. An
// axis of length 1 is one that the lock's cost does not depend on.
function planeOf(map, lock, cancel, share) {
  const [casCount, fenceCount, cancelCount, shareCount] = lock.shape;
  const k = cancelCount === 1 ? { at: 0, part: 0 } : placeOn(map.cancel, cancel);
  const s = shareCount === 1 ? { at: 0, part: 0 } : placeOn(map.share, share);
  const cost = (c, f) => {
    const from = (kAt, sAt) => lock.costs[((c * fenceCount + f) * cancelCount + kAt) * shareCount + sAt];
    const along = (kAt) => lerp(from(kAt, s.at), s.part ? from(kAt, s.at + 1) : 0, s.part);
    return lerp(along(k.at), k.part ? along(k.at + 1) : 0, k.part);
  };
  const rows = [];
  for (let f = 0; f < fenceCount; f += 1) {
    rows.push(Array.from({ length: casCount }, (_, c) => cost(c, f)));
  }
  return rows;
}

// The costs along CAS at one fence latency.
function rowAt(map, plane, fence) {
  if (plane.length === 1) return plane[0];
  const { at, part } = placeOn(map.fence.measured, fence);
  return plane[at].map((low, c) => lerp(low, plane[at + 1][c], part));
}

function costAt(map, plane, cas, fence) {
  const row = rowAt(map, plane, fence);
  const { at, part } = placeOn(map.cas.measured, cas);
  return row.length === 1 ? row[0] : lerp(row[at], row[at + 1], part);
}

// Whether a lock was run at this very point.
function isMeasured(map, lock, point) {
  const axes = [map.cas.measured, map.fence.measured, map.cancel, map.share];
  const values = [point.cas, point.fence, point.cancel, point.share];
  return axes.every((axis, n) => lock.shape[n] === 1 || isPoint(axis, values[n]));
}

// The one rule of a tie (sweeps/study/leads.py): a lead is a share of the next lock's cost. The least
// that is no tie is that of the map or the processor, and of the kinds of both locks.
function leadOver(cost, next) {
  return (next - cost) / next;
}

function isTie(of, lock, other, lead) {
  return lead < of.least[`${lock.atomics}/${other.atomics}`] || lead === 0;
}

// The costs of all contestants at a point, the cheapest first, and what ties with the cheapest: a
// processor's runs, as the tables of the page have them, or what the map has there.
function rank(view, point) {
  const { map } = view;
  const processor = findProcessor(point.processor, map.flavour);
  const rows = processor
    ? contestants(processor, view.state).map((lock) => (
      { lock, cost: lock.cost, shown: lock.shown, measured: true }))
    : view.contest.map(({ lock, plane }) => {
      const cost = costAt(map, plane, point.cas, point.fence);
      return { lock, cost, shown: cost.toFixed(2), measured: isMeasured(map, lock, point) };
    });
  rows.sort((a, b) => a.cost - b.cost);
  for (const row of rows) {
    row.tied = isTie(processor || map, rows[0].lock, row.lock, leadOver(rows[0].cost, row.cost));
  }
  return rows;
}

// A measured latency back to the whole cycles that have to be set for it.
function setFor(axis, value) {
  const { at, part } = placeOn(axis.measured, value);
  return Math.round(axis.set.length === 1 ? axis.set[0] : lerp(axis.set[at], axis.set[at + 1], part));
}

function commandFor(map, lock, point) {
  return lock.command
    .replace("{cas_latency}", setFor(map.cas, point.cas))
    .replace("{fence_latency}", setFor(map.fence, point.fence))
    .replace("{cancel_latency}", Math.round(point.cancel))
    .replace("{owner_share}", sixDecimals(point.share));
}
