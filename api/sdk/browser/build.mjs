// Build of the scripts: node build.mjs [output folder].
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, "dist");

/** @type {import("terser").MinifyOptions} */
const SMALLEST = {
  ecma: 2020,
  module: true,
  // The scripts replace no built-in function, which is what `unsafe` takes for granted.
  compress: { passes: 6, inline: 1, unsafe: true, unsafe_arrows: true, unsafe_methods: true },
};

/** @type {(entry: string, name: string, before: string, after: string) => Promise<void>} */
const make = async (entry, name, before, after) => {
  const bundle = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    charset: "utf8",
    format: "esm",
    legalComments: "none",
    target: "es2020",
    write: false,
  });
  const { code } = await minify(bundle.outputFiles[0]?.text ?? "", SMALLEST);
  await writeFile(join(output, name), `${before}${code}${after}`);
};

await mkdir(join(output, "parts"), { recursive: true });
// An expression that lacks its arguments: the server appends the project's config, the parts that this needs,
// and a parenthesis.
await make("main.js", "truelift.js", "(function(CONFIG,...GIVEN){", "})(");
await make("preview.js", "preview.js", "(function(PARTS,CONFIG){", "})(...truelift.preview);");
await make(
  "debug.js",
  "debug.js",
  "(function(PARTS,CONFIG,VISIT,CURRENT,CONSENT){",
  "})(...truelift.debug);",
);
await make("stub.js", "stub.js", "", "");
for (const part of (await readdir(join(here, "parts"))).sort()) {
  await make(join("parts", part), join("parts", part), "function(PARTS,CONFIG){", "}");
}
