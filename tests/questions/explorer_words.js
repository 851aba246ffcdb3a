// What the page's own functions say of processors as they are (test_one_verdict.py).
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
globalThis.document = { getElementById: () => ({ textContent: JSON.stringify(given.data) }) };
const read = (name) => require("fs").readFileSync(`${given.folder}/${name}.js`, "utf8");
const said = new Function(`${read("data")}\n${read("reading")}\nreturn (view, point) => {
  const ranked = rank(view, point);
  const rows = ranked.map((row) => [row.lock.label, row.tied]);
  return { words: answerWords(view, point, ranked), rows };
};`)();
console.log(JSON.stringify(given.asked.map(([view, point]) => said(view, point))));
