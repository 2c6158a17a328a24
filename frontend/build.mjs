// Bundles the editor into ptxlab/lab/static/editor.js, with the licences of what is in it in NOTICES.txt, and the plugin
// for JupyterLab's cells into ptxlab/lab/labextension. Their first lines say from which sources, which a test compares.
//
//     npm ci && node build.mjs

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { SHARED } from "./shared.js";

const here = dirname(fileURLToPath(import.meta.url));
const SOURCES = [
  "build.mjs",
  "cells-entry.js",
  "cells.js",
  "editor.js",
  "package-lock.json",
  "package.json",
  "ptx.js",
  "questions.js",
  "shared.js",
  "shown.js",
  "sources.js",
  "words.js",
  "../ptxlab/lab/static/keys.js",
];
const hash = createHash("sha256");
for (const name of SOURCES) hash.update(`${name}\0${readFileSync(join(here, name), "utf8")}\0`);

const result = await build({
  entryPoints: [join(here, "editor.js")],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2020",
  write: false,
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  absWorkingDir: here,
});

/** The licences of the packages in a bundle. */
function notices({ metafile }, bundle) {
  const packages = new Set(
    Object.keys(metafile.inputs)
      .map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
      .filter(Boolean),
  );
  const each = [...packages].sort().map((name) => {
    const { version, license } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    return `${name} ${version} (${license})\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
  });
  return `${bundle} contains these packages.\n\n${each.join(`\n${"-".repeat(80)}\n\n`)}`;
}
const sources = hash.digest("hex");
const banner = `/* ptxlab's editor, bundled with CodeMirror (see NOTICES.txt) from sources ${sources} */\n`;
const place = process.argv[2] ?? join(here, "../ptxlab/lab/static");
writeFileSync(join(place, "editor.js"), banner + result.outputFiles[0].text);
writeFileSync(join(place, "NOTICES.txt"), notices(result, "editor.js"));

// The plugin: what JupyterLab brings is taken from it and not bundled.
const fromJupyterLab = {
  name: "from-jupyterlab",
  setup(bundler) {
    bundler.onResolve({ filter: /^@(codemirror|lezer|jupyterlab)\// }, ({ path }) =>
      SHARED.includes(path) ? { path, namespace: "jupyterlab" } : null,
    );
    bundler.onLoad({ filter: /.*/, namespace: "jupyterlab" }, ({ path }) => ({
      contents: `module.exports = require("./shared.js").modules[${JSON.stringify(path)}];`,
      resolveDir: here,
    }));
  },
};
const cells = await build({
  entryPoints: [join(here, "cells-entry.js")],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  write: false,
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  absWorkingDir: here,
  plugins: [fromJupyterLab],
});
const extension = process.argv[2] ? join(place, "labextension") : join(here, "../ptxlab/lab/labextension");
mkdirSync(join(extension, "static"), { recursive: true });
writeFileSync(
  join(extension, "static/remoteEntry.js"),
  `/* ptxlab's cells for JupyterLab, from sources ${sources} */\n${cells.outputFiles[0].text}`,
);
writeFileSync(join(extension, "static/NOTICES.txt"), notices(cells, "remoteEntry.js"));
