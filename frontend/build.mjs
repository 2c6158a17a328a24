// Bundles the editor into ptxlab/lab/static/editor.js, with the licences of what is in it in NOTICES.txt. The first line
// says from which sources, which a test compares.
//
//     npm ci && node build.mjs

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const SOURCES = ["build.mjs", "editor.js", "package-lock.json", "package.json", "ptx.js", "words.js"];
const hash = createHash("sha256");
for (const name of SOURCES) hash.update(`${name}\0${readFileSync(join(here, name), "utf8")}\0`);

const result = await build({
  entryPoints: [join(here, "editor.js")], bundle: true, minify: true, format: "esm", target: "es2020", write: false,
  legalComments: "none", charset: "utf8", metafile: true, absWorkingDir: here,
});
const packages = new Set(Object.keys(result.metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
const notices = [...packages].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  return `${name} ${version} (${license})\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
});
const banner = `/* ptxlab's editor, bundled with CodeMirror (see NOTICES.txt) from sources ${hash.digest("hex")} */\n`;
const place = process.argv[2] ?? join(here, "../ptxlab/lab/static");
writeFileSync(join(place, "editor.js"), banner + result.outputFiles[0].text);
writeFileSync(join(place, "NOTICES.txt"), `editor.js contains these packages.\n\n${notices.join(`\n${"-".repeat(80)}\n\n`)}`);
