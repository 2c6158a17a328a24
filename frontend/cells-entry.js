// The container that JupyterLab loads: hands it the plugin, once the packages that both share have been fetched from it.

import { modules, SHARED } from "./shared.js";

let scope = {};

/** A package of JupyterLab's: of several versions the one that is in use. */
async function load(name) {
  const versions = Object.values(scope[name] ?? {});
  const found = versions.find((one) => one.loaded) ?? versions[0];
  if (!found) throw new Error(`ptxlab: JupyterLab shares no ${name}`);
  modules[name] = (await found.get())();
}

(globalThis._JUPYTERLAB ??= {}).ptxlab = {
  init(given) {
    scope = given;
  },
  async get() {
    await Promise.all(SHARED.map(load));
    const plugin = require("./cells.js");
    return () => plugin;
  },
};
