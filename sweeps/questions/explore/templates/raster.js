// The coloured regions: who is cheapest at each pixel of the map.
const TINT = 0.42; // how much of a lock's colour its region takes
const STRIPE = 5; // pixels of a stripe where two locks tie

// A colour of which the rest is white, as a pixel's four bytes in one number.
function packed(colour, strength) {
  const bytes = [1, 3, 5].map((at) => 255 - (255 - parseInt(colour.slice(at, at + 2), 16)) * strength);
  return new Uint32Array(new Uint8ClampedArray([...bytes, 255]).buffer)[0];
}

// Calls `each(x, y, first, second, lead)` for every pixel of a raster over the map: the places of
// the two cheapest in the contest, and the lead as a share of the second's cost.
function eachPixel(map, contest, width, height, each) {
  const [x0, x1] = [map.cas.measured[0], map.cas.measured.at(-1)];
  const [y0, y1] = [map.fence.measured[0], map.fence.measured.at(-1)];
  const columns = Array.from({ length: width },
    (_, x) => placeOn(map.cas.measured, x0 + (x1 - x0) * (x + 0.5) / width));
  for (let y = 0; y < height; y += 1) {
    const fence = y1 - (y1 - y0) * (y + 0.5) / height;
    const rows = contest.map((one) => rowAt(map, one.plane, fence));
    for (let x = 0; x < width; x += 1) {
      const { at, part } = columns[x];
      let [first, second, low, next] = [-1, -1, Infinity, Infinity];
      for (let n = 0; n < rows.length; n += 1) {
        const cost = rows[n][at] + (rows[n][at + 1] - rows[n][at]) * part;
        if (cost < low) [first, second, low, next] = [n, first, cost, low];
        else if (cost < next) [second, next] = [n, cost];
      }
      each(x, y, first, second, second < 0 ? 1 : leadOver(low, next));
    }
  }
}

// Paints the regions with the borders between them.
function paintRegions(context, map, contest, left, top, width, height, scale) {
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const winners = new Int16Array(width * height);
  const strong = contest.map((one) => packed(one.lock.colour, TINT));
  const weak = contest.map((one) => packed(one.lock.colour, TINT / 2.5));
  const line = packed("#282828", 1);
  const step = Math.max(1, Math.round(scale));
  eachPixel(map, contest, width, height, (x, y, first, second, lead) => {
    const place = y * width + x;
    winners[place] = first;
    const border = (x >= step && winners[place - step] !== first)
      || (y >= step && winners[place - step * width] !== first);
    const striped = second >= 0 && isTie(map, contest[first].lock, contest[second].lock, lead)
      && Math.floor((x + y) / (STRIPE * scale)) % 2;
    // Two kinds of fence of one lock have one colour: their stripes differ in strength alone.
    const same = second >= 0 && contest[second].lock.colour === contest[first].lock.colour;
    pixels[place] = border ? line : striped ? (same ? weak[first] : strong[second]) : strong[first];
  });
  context.putImageData(image, left, top);
}

// For each region its place (in shares of width and height) that is furthest from its edge, and how
// far that is in cells of a coarse raster.
function roomiest(map, contest, side) {
  const winners = new Int16Array(side * side);
  eachPixel(map, contest, side, side, (x, y, first) => { winners[y * side + x] = first; });
  const away = new Int16Array(side * side);
  const near = (x, y, who) => (x < 0 || y < 0 || x >= side || y >= side
    || winners[y * side + x] !== who ? 0 : away[y * side + x]);
  const sweep = (x, y, sign) => {
    const who = winners[y * side + x];
    const least = Math.min(near(x - sign, y, who), near(x, y - sign, who), near(x - sign, y - sign, who),
      near(x + sign, y - sign, who)) + 1;
    const place = y * side + x;
    away[place] = sign > 0 ? least : Math.min(away[place], least);
  };
  for (let y = 0; y < side; y += 1) for (let x = 0; x < side; x += 1) sweep(x, y, 1);
  for (let y = side - 1; y >= 0; y -= 1) for (let x = side - 1; x >= 0; x -= 1) sweep(x, y, -1);
  const best = new Map();
  winners.forEach((who, place) => {
    if (who >= 0 && away[place] > (best.get(who)?.away || 0)) {
      best.set(who, { away: away[place], x: (place % side + 0.5) / side,
        y: (Math.floor(place / side) + 0.5) / side });
    }
  });
  return best;
}
