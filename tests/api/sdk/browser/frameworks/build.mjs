// Bundles of the pages of frameworks, and the pages that servers render: node build.mjs FOLDER [NAME of one].
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "svelte/compiler";
import { build } from "../../../../../api/sdk/browser/node_modules/esbuild/lib/main.js";

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2];
const REACT_18 = { react: "react18", "react-dom": "react-dom18" };
const VUE = { vue: "vue/dist/vue.esm-bundler.js" };

const svelte = {
  name: "svelte",
  setup: (hooks) =>
    hooks.onLoad({ filter: /\.svelte$/ }, async ({ path }) => ({
      contents: compile(await readFile(path, "utf8"), { filename: path }).js.code,
    })),
};

const bundle = (entry, name, alias, options) =>
  build({
    absWorkingDir: here,
    entryPoints: [entry],
    outfile: join(output, name),
    bundle: true,
    alias,
    define: {
      "process.env.NODE_ENV": '"production"',
      __VUE_OPTIONS_API__: "true",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
    },
    logLevel: "error",
    plugins: [svelte],
    ...options,
  });

const isWanted = (name) => (process.argv[3] ?? name) === name;

const page = async (entry, name, alias = {}) => {
  if (isWanted(name)) await bundle(entry, `${name}.js`, alias, { format: "iife", conditions: ["browser"] });
};

const rendered = async (entry, name, alias = {}) => {
  if (!isWanted(name)) return;
  await bundle(entry, `${name}_server.mjs`, alias, {
    platform: "node",
    format: "esm",
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  const html = execFileSync(process.execPath, [join(output, `${name}_server.mjs`)]);
  await writeFile(join(output, `${name}.html`), html.toString().trim());
};

await Promise.all([
  page("react.js", "react18", REACT_18),
  page("react.js", "react19"),
  page("vue.js", "vue", VUE),
  page("svelte.js", "svelte"),
  page("web_components.js", "web_components"),
  page("turbo.js", "turbo"),
  page("htmx.js", "htmx"),
  page("shop.js", "shop"),
  rendered("react_server.js", "react18", REACT_18),
  rendered("react_server.js", "react19"),
  rendered("vue_server.js", "vue"),
]);
