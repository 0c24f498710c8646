// Build of the package: node build.mjs [output folder].
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const output = process.argv[2] ?? join(here, "dist");
const ENTRIES = ["index", "node", "react", "assignment"];
/** The files that callers' types are in: sources of the package's own types alone. */
const TYPED = [...ENTRIES, "types"];

/** @type {import("esbuild").BuildOptions} */
const COMMON = {
  absWorkingDir: here,
  bundle: true,
  charset: "utf8",
  external: ["react"],
  legalComments: "none",
  platform: "neutral",
  target: "es2020",
};

await rm(output, { recursive: true, force: true });
await mkdir(output, { recursive: true });
const entryPoints = ENTRIES.map((name) => join("src", `${name}.ts`));
await build({ ...COMMON, entryPoints, format: "esm", splitting: true, outdir: output });
await build({
  ...COMMON,
  entryPoints,
  format: "cjs",
  outdir: output,
  outExtension: { ".js": ".cjs" },
});

const types = await mkdtemp(join(tmpdir(), "truelift-types-"));
try {
  const tsc = join(here, "node_modules", "typescript", "bin", "tsc");
  await promisify(execFile)(process.execPath, [tsc, "--project", here, "--outDir", types]);
  for (const name of TYPED) {
    const text = await readFile(join(types, "packages", "js", "src", `${name}.d.ts`), "utf8");
    await writeFile(join(output, `${name}.d.ts`), text);
    const common = text.replace(/(from "\.\/\w+)\.js"/g, '$1.cjs"');
    await writeFile(join(output, `${name}.d.cts`), common);
  }
} finally {
  await rm(types, { recursive: true });
}
// The compiler would take a minute to find the type of the file itself.
await writeFile(
  join(output, "assignment_vectors.d.ts"),
  `declare const vectors: import("./assignment.js").AssignmentVectors;\nexport default vectors;\n`,
);
await copyFile(
  join(root, "api", "sdk", "vectors", "assignment_vectors.json"),
  join(output, "assignment_vectors.json"),
);
await copyFile(join(root, "LICENSE"), join(here, "LICENSE"));

/**
 * What a page loads for each way of use, minified and compressed, and the most that it may be.
 *
 * @type {[use: string, most: number, contents: string][]}
 */
const USES = [
  ["assignment", 1_200, 'export { variantOnPage } from "../../api/sdk/browser/assignment.js";'],
  ["assignment with pages and targeting", 4_096, 'export { decide } from "./src/assignment.ts";'],
  ["hook of React", 320, 'export { TrueliftProvider, useVariant } from "./src/react.ts";'],
  ["client of a page", 12_544, 'export { createClient } from "./src/index.ts";'],
  ["client of a server", 12_288, 'export { createClient } from "./src/node.ts";'],
];
for (const [use, most, contents] of USES) {
  const bundle = await build({
    ...COMMON,
    format: "esm",
    minify: true,
    stdin: { contents, resolveDir: here, loader: "ts" },
    write: false,
  });
  const size = gzipSync(bundle.outputFiles[0]?.contents ?? "", { level: 9 }).length;
  console.log(`${String(size).padStart(6)} bytes compressed: ${use}`);
  if (size > most) throw new Error(`${use} may have ${most} bytes compressed`);
}
