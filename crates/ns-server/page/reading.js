"use strict";
// Reads the files that are dropped on the page, and says what a file is that cannot be used.

// What files begin with that are analyses, but not in JSON. The server reads them with the files that they name.
const foreign = [
  /^\s*(#[^\n]*\n\s*)*(Combination|imax|jmax|kmax)\b/i,
  /^\s*(<\?xml[^>]*>\s*)?<!DOCTYPE\s+(Combination|Channel)|^\s*<(Combination|Channel)/i,
  /^\s*(Job|Fit|Region|Sample)\s*:/m,
  /^\s*(General|Regions|Samples)\s*:/m,
];

// The first bytes of formats that are not text.
const binary = [
  [[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "Unpack it, or compress it with gzip."],
  [[0xfd, 0x37, 0x7a, 0x58], "compressed by xz", "Unpack it, or compress it with gzip."],
  [[0x50, 0x41, 0x52, 0x31], "a Parquet file", "Events belong into an HS3 model: nextstat convert writes one."],
  [[0x89, 0x50, 0x4e, 0x47], "a picture", "Drop a workspace."],
  [[0x25, 0x50, 0x44, 0x46], "a PDF file", "Drop a workspace."],
];

const TAKES = "The page takes a workspace in pyhf's JSON, an HS3 model, a JSON Patch or a patchset, each also compressed by gzip (.json.gz), " +
  "and XML of HistFactory, a datacard or a configuration with the ROOT files that it names, also in an archive (.tar.gz or .zip).";

const begins = (bytes, start) => start.every((byte, i) => bytes[i] === byte);
const isTar = (bytes) => begins(bytes.subarray(257), [0x75, 0x73, 0x74, 0x61, 0x72]);
const isZip = (bytes) => begins(bytes, [0x50, 0x4b, 0x03, 0x04]);
const isRoot = (bytes) => begins(bytes, [0x72, 0x6f, 0x6f, 0x74]);

// Returns the bytes of a file, unpacked if it is compressed by gzip.
async function unpacked(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length === 0) throw new Error(`${file.name} is empty. ${TAKES}`);
  if (!begins(bytes, [0x1f, 0x8b])) return bytes;
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error(`${file.name} begins like a file of gzip, but cannot be unpacked: it is damaged or cut off.`);
  }
}

// JSON as it is in a file. A number that is read and written again may change, as 5.0 does to 5, and with it the digest of a
// workspace, for which a patchset is made.
class Unparsed {
  constructor(text) { this.text = text; }
}

// Returns a value as JSON, with the texts of files in it as they are.
function json(value) {
  if (value instanceof Unparsed) return value.text;
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${json(entry)}`).join(",")}}`;
}

// Returns the contents of a file, and their kind: `model`, `patch` or `patchset` with JSON and its text, `archive`, or `part`
// with bytes.
async function readFile(file) {
  const bytes = await unpacked(file);
  if (isTar(bytes) || isZip(bytes)) return { kind: "archive", value: file };
  if (isRoot(bytes)) return { kind: "part", value: bytes };
  const known = binary.find(([start]) => begins(bytes, start));
  if (known) throw new Error(`${file.name} is ${known[1]}. ${known[2]}`);
  const content = new TextDecoder().decode(bytes);
  let value;
  try {
    value = JSON.parse(content);
  } catch (error) {
    // A table of templates for a datacard.
    if (/^channel,process,systematic,/.test(content)) return { kind: "part", value: bytes };
    if (foreign.some((start) => start.test(content.slice(0, 4000)))) return { kind: "part", value: bytes, isText: true };
    if (/^\s*[[{]/.test(content)) throw new Error(`${file.name} is not complete JSON: ${error.message}`);
    const line = content.trim().split("\n")[0].slice(0, 60);
    throw new Error(`${file.name} is not a model: it begins with "${line}". ${TAKES}`);
  }
  const text = new Unparsed(content);
  if (Array.isArray(value) && value.every((entry) => entry && typeof entry.op === "string")) return { kind: "patch", value, text };
  const has = (...keys) => value !== null && typeof value === "object" && keys.every((key) => key in value);
  if (has("patches", "metadata")) return { kind: "patchset", value, text };
  if (has("channels") || has("distributions")) return { kind: "model", value, text };
  const keys = has() && !Array.isArray(value) ? Object.keys(value).slice(0, 5) : [];
  const shown = keys.length ? ` with the ${keys.length === 1 ? "key" : "keys"} ${keys.join(", ")}` : "";
  throw new Error(`${file.name} is JSON${shown}, but not a model. ${TAKES}`);
}

// Returns a tar archive of files with bytes.
function tar(files) {
  const blocks = [];
  for (const { name, bytes } of files) {
    const header = new Uint8Array(512);
    const put = (at, text) => header.set(new TextEncoder().encode(text), at);
    const octal = (number, digits) => `${number.toString(8).padStart(digits, "0")}\0`;
    if (new TextEncoder().encode(name).length > 100) throw new Error(`The name ${name} is too long. Drop an archive instead.`);
    put(0, name);
    for (const [at, number, digits] of [[100, 0o644, 7], [108, 0, 7], [116, 0, 7], [124, bytes.length, 11], [136, 0, 11]])
      put(at, octal(number, digits));
    // The sum of all bytes, where those of the sum itself are spaces.
    put(148, "        0");
    put(257, "ustar\x0000");
    put(148, `${octal(header.reduce((sum, byte) => sum + byte, 0), 6)} `);
    blocks.push(header, bytes, new Uint8Array((512 - (bytes.length % 512)) % 512));
  }
  return new Blob([...blocks, new Uint8Array(1024)]);
}

// Returns the bytes of a blob in base64.
const base64 = (blob) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(blob);
});

// Returns the model that several files are together, as the server takes it: an archive, or the files packed as one.
async function together(files) {
  const archive = files.find(({ kind }) => kind === "archive");
  if (archive && files.length > 1) {
    throw new Error(`${archive.file.name} is an archive. Drop it alone, or single files without it.`);
  }
  if (archive) return { archive: await base64(archive.value) };
  if (!files.some(({ isText }) => isText)) {
    throw new Error(`${files[0].file.name} has templates, but no model. Drop it together with the XML, the datacard or the configuration that names it.`);
  }
  const named = files.map(({ file, value }) => ({ name: file.name.replace(/\.gz$/, ""), bytes: value }));
  return { archive: await base64(tar(named)) };
}
