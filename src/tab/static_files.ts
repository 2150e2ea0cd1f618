/** The page that trains in a tab, as files for any web server. */

import { build, stop } from "esbuild";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { bundleEngine } from "./bundle.ts";
import { archiveOf } from "./files/archive.ts";
import { MemoryFiles } from "./files/memory_files.ts";

const PAGE = fileURLToPath(new URL("page", import.meta.url));
const SERVER_PAGE = fileURLToPath(new URL("../server/page", import.meta.url));
/** The page that measures a GPU. */
const REPORT = fileURLToPath(new URL("../../bench/browser", import.meta.url));
const PROJECT = fileURLToPath(new URL("../..", import.meta.url));

/** What a preset is made of: its configuration, and the prompts and models that this names. */
const PRESETS: Readonly<Record<string, readonly string[]>> = {
  chains: [
    "configs/chains.yaml",
    "configs/prompts",
    "weights/chains/generator",
    "weights/chains/verifier",
  ],
};

/**
 * The files by their paths from the page's address: the page, the worker with the engine, and what a run begins with.
 *
 * @param revision the commit they are made from; null where it is not known
 */
export async function staticFiles(revision: string | null): Promise<Map<string, Uint8Array>> {
  const worker = fileURLToPath(new URL("worker/main.ts", import.meta.url));
  const [page, engine, measure] = await Promise.all([
    bundlePage(),
    bundleEngine(worker, revision),
    bundleEngine(join(REPORT, "main.ts"), revision),
  ])
    // What bundles is a process, which would keep this one.
    .finally(stop);
  const presets = Object.entries(PRESETS).map(([name, paths]) =>
    [`presets/${name}.tar`, presetArchive(paths)] as const
  );
  return new Map([
    ...page,
    ["worker.js", engine] as const,
    ["measure.js", measure] as const,
    ...presets,
  ]);
}

/** The page's own files; those that the server's page has too are the same. */
async function bundlePage(): Promise<[string, Uint8Array][]> {
  const { outputFiles } = await build({
    absWorkingDir: PAGE,
    entryPoints: [
      { in: join(PAGE, "index.html"), out: "index" },
      { in: join(PAGE, "main.tsx"), out: "main" },
      { in: join(PAGE, "model.html"), out: "model" },
      { in: join(PAGE, "model.tsx"), out: "model" },
      { in: join(REPORT, "report.html"), out: "report" },
      { in: join(REPORT, "report.tsx"), out: "report" },
      { in: join(PAGE, "main.css"), out: "main" },
      { in: join(SERVER_PAGE, "theme.ts"), out: "theme" },
      { in: join(SERVER_PAGE, "icon.svg"), out: "icon" },
    ],
    outdir: "/",
    bundle: true,
    write: false,
    format: "esm",
    charset: "utf8",
    minify: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".html": "copy", ".svg": "copy" },
    logLevel: "silent",
  });
  return outputFiles.map(({ path, contents }) => [path.slice(1), contents]);
}

function presetArchive(paths: readonly string[]): Uint8Array {
  const files = new MemoryFiles();
  files.mkdirSync("/preset");
  for (const path of paths) put(files, path);
  return archiveOf(files, "/preset", { isNamed: false });
}

/** Copies a file of the project, or a folder with all it holds. */
function put(files: MemoryFiles, path: string): void {
  const place = join(PROJECT, path);
  const names = path.endsWith(".yaml") ? null : readdirSync(place);
  if (names !== null) return names.forEach((name) => putFile(files, `${path}/${name}`));
  putFile(files, path);
}

function putFile(files: MemoryFiles, path: string): void {
  files.mkdirSync(`/preset/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
  files.writeFileSync(`/preset/${path}`, readFileSync(join(PROJECT, path)));
}
