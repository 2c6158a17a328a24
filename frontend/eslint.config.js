// What eslint looks for in the JavaScript of ptxlab/lab/static and of this folder. How it looks is prettier's, and whether
// a name exists is tsc's.

import js from "@eslint/js";

export default [
  { ignores: ["ptxlab/lab/static/editor.js", "frontend/words.js"] },
  js.configs.recommended,
  { rules: { eqeqeq: "error", "no-undef": "off", "no-var": "error", "prefer-const": "error" } },
];
