// What is chosen: a point of a map, or a processor as it is, with all of its values. And how it stands in the address: `#explorer?machine=...`, so that a view can be
// sent to somebody who has the same page.
const PREFIX = "#explorer?";

function firstState() {
  const map = DATA.maps[0];
  const aside = new Set(map.locks.filter((one) => one.aside).map((one) => one.lock));
  const locks = [...LOCKS.keys()].filter((name) => !aside.has(name));
  return settled({ machine: map.machine, flavour: map.flavour, locks, fences: DATA.chosen,
    processor: null, cancel: 5000, share: 0.9, cas: null, fence: null });
}

function clamp(value, axis) {
  return Math.min(axis[axis.length - 1], Math.max(axis[0], value));
}

// A state that the data can show: an unknown map becomes the nearest known one, and values come
// into the range of its axes. Without a processor (null) and without a place, it is the machine as it
// is. A processor that has a map of its own core is shown on that.
function settled(state) {
  const near = findMap(state.machine, state.flavour)
    || DATA.maps.find((one) => one.machine === state.machine)
    || DATA.maps.find((one) => one.flavour === state.flavour) || DATA.maps[0];
  const asked = state.processor ?? (state.cas === null && state.fence === null ? near.machine : "");
  const processor = findProcessor(asked, near.flavour);
  const map = (processor && findMap(processor.machine, near.flavour)) || near;
  const middle = (axis) => (axis[0] + axis[axis.length - 1]) / 2;
  const own = map.own || { cas: middle(map.cas.measured), fence: middle(map.fence.measured) };
  const number = (value, fallback) => (Number.isFinite(value) ? value : fallback);
  const chosen = {
    machine: map.machine, flavour: map.flavour,
    locks: state.locks.filter((one) => LOCKS.has(one)),
    fences: state.fences.filter((one) => FENCES.has(one)),
  };
  if (processor) {
    const { machine, cancel, share, cas, fence } = processor;
    return { ...chosen, processor: machine, cancel, share, cas, fence };
  }
  return {
    ...chosen, processor: "",
    cancel: clamp(number(state.cancel, map.cancel[0]), map.cancel),
    share: clamp(number(state.share, map.share[0]), map.share),
    cas: clamp(number(state.cas, own.cas), map.cas.measured),
    fence: clamp(number(state.fence, own.fence), map.fence.measured),
  };
}

function toFragment(state) {
  const short = (value) => String(Math.round(value * 1e6) / 1e6);
  const values = new URLSearchParams({
    machine: state.machine, flavour: state.flavour, locks: state.locks.join(","),
    fences: state.fences.join(","), ...(state.processor && { processor: state.processor }), cancel: short(state.cancel), share: short(state.share),
    cas: short(state.cas), fence: short(state.fence),
  });
  return PREFIX + values.toString().replaceAll("%2C", ",");
}

// The state in an address, what it leaves out being as in `before`; null where it has none.
function fromFragment(fragment, before) {
  if (!fragment.startsWith(PREFIX)) return null;
  const given = new URLSearchParams(fragment.slice(PREFIX.length));
  const state = { ...before };
  // The cursor of another map is on the machine as it is, unless the address says where.
  if (given.has("machine") || given.has("flavour")) [state.cas, state.fence] = [null, null];
  const placed = ["cancel", "share", "cas", "fence"].some((key) => given.has(key));
  if (given.has("processor")) state.processor = given.get("processor");
  else if (placed) state.processor = "";
  else if (state.cas === null) state.processor = null;
  for (const key of ["machine", "flavour"]) if (given.has(key)) state[key] = given.get(key);
  for (const key of ["locks", "fences"]) if (given.has(key)) state[key] = given.get(key).split(",");
  for (const key of ["cancel", "share", "cas", "fence"]) {
    if (given.get(key)) state[key] = Number(given.get(key));
  }
  return settled(state);
}
