"use strict";
// Reads the files that are dropped on the page, and says what a file is that cannot be used.

const CONVERT = "Convert it with the command line, and drop the result here:";

// What files begin with that are analyses, but not in JSON.
const foreign = [
  [/^\s*(#[^\n]*\n\s*)*(Combination|imax|jmax|kmax)\b/i, "a datacard", `${CONVERT} nextstat convert -i card.txt --to pyhf -o model.json`],
  [/^\s*(<\?xml[^>]*>\s*)?<!DOCTYPE\s+(Combination|Channel)|^\s*<Combination/i, "HistFactory XML", `${CONVERT} nextstat convert -i combination.xml --to pyhf -o model.json`],
  [/^\s*(Job|Fit|Region|Sample)\s*:/m, "a TRExFitter configuration", `${CONVERT} nextstat build config -o model.json`],
  [/^\s*(General|Regions|Samples)\s*:/m, "a cabinetry configuration", `${CONVERT} nextstat build config.yml -o model.json`],
];

// The first bytes of formats that are not text.
const binary = [
  [[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "Unpack it, or compress it with gzip."],
  [[0xfd, 0x37, 0x7a, 0x58], "compressed by xz", "Unpack it, or compress it with gzip."],
  [[0x50, 0x4b, 0x03, 0x04], "a zip archive", "Unpack it, and drop the workspace."],
  [[0x50, 0x41, 0x52, 0x31], "a Parquet file", "Events belong into an HS3 model: nextstat convert writes one."],
  [[0x72, 0x6f, 0x6f, 0x74], "a ROOT file", `Drop a workspace. ${CONVERT} nextstat convert -i combination.xml --to pyhf -o model.json`],
  [[0x89, 0x50, 0x4e, 0x47], "a picture", "Drop a workspace."],
  [[0x25, 0x50, 0x44, 0x46], "a PDF file", "Drop a workspace."],
];

const TAKES = "The page takes a workspace in pyhf's JSON, an HS3 model, a JSON Patch or a patchset, each also compressed by gzip (.json.gz).";

// Returns the text of a file, unpacked if it is compressed by gzip.
async function text(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length === 0) throw new Error(`${file.name} is empty. ${TAKES}`);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    try {
      return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    } catch {
      throw new Error(`${file.name} begins like a file of gzip, but cannot be unpacked: it is damaged or cut off.`);
    }
  }
  const known = binary.find(([start]) => start.every((byte, i) => bytes[i] === byte));
  if (known) throw new Error(`${file.name} is ${known[1]}. ${known[2]}`);
  return new TextDecoder().decode(bytes);
}

// Returns the JSON of a file, and its kind: `model`, `patch` or `patchset`.
async function readFile(file) {
  const content = await text(file);
  let value;
  try {
    value = JSON.parse(content);
  } catch (error) {
    const known = foreign.find(([start]) => start.test(content.slice(0, 4000)));
    if (known) throw new Error(`${file.name} is ${known[1]}. ${known[2]}`);
    if (/^\s*[[{]/.test(content)) throw new Error(`${file.name} is not complete JSON: ${error.message}`);
    const line = content.trim().split("\n")[0].slice(0, 60);
    throw new Error(`${file.name} is not a model: it begins with "${line}". ${TAKES}`);
  }
  if (Array.isArray(value) && value.every((entry) => entry && typeof entry.op === "string")) return { kind: "patch", value };
  const has = (...keys) => value !== null && typeof value === "object" && keys.every((key) => key in value);
  if (has("patches", "metadata")) return { kind: "patchset", value };
  if (has("channels") || has("distributions")) return { kind: "model", value };
  const keys = has() && !Array.isArray(value) ? ` with the keys ${Object.keys(value).slice(0, 5).join(", ")}` : "";
  throw new Error(`${file.name} is JSON${keys}, but not a model. ${TAKES}`);
}
