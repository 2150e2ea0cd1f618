/**
 * The engine as a browser takes it: the same files, but where `instead` has one of the same path. Whatever else would ask
 * Deno or node for something ends the build, naming the file.
 */

import { build, type Plugin } from "esbuild";
import { fileURLToPath } from "node:url";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const SOURCE = fileURLToPath(new URL("..", import.meta.url));
const INSTEAD = join(SOURCE, "tab", "instead");

/** Has modules of `instead` take the place of those that they stand in for. */
export const standIns: Plugin = {
  name: "stand-ins",
  setup(setup) {
    setup.onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir, importer, kind }) => {
      const target = resolve(resolveDir, path);
      const standIn = join(INSTEAD, relative(SOURCE, target));
      if (target.startsWith(SOURCE) && existsSync(standIn)) return { path: standIn };
      if (kind === "entry-point" || existsSync(target)) return undefined;
      return {
        errors: [{ text: `${relative(SOURCE, importer)} imports ${path}, which is not there` }],
      };
    });
    // The library's reader of files by path, which only node runs: it is handed what is read (gguf_file.ts).
    setup.onResolve({ filter: /^\.\/FileBlob-/ }, () => ({ path: "none", namespace: "none" }));
    setup.onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "" }));
    setup.onResolve({ filter: /^node:/ }, ({ path, importer }) => ({
      errors: [{
        text: `${relative(dirname(SOURCE), importer)} imports ${path}: a tab has no node`,
      }],
    }));
  },
};

/** Whether a file uses Deno in more than its comments and types. */
function asksDeno(path: string): boolean {
  const code = readFileSync(path, "utf8").replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
  return /(?<!typeof )\bDeno\.(?!FsFile\b)\w+/.test(code);
}

/**
 * Bundles an entry with all of the engine that it uses.
 *
 * @param entry path of a module
 * @param revision the commit it is made from; null where it is not known
 * @throws Error that names the files that ask Deno or node for something
 */
export async function bundleEngine(entry: string, revision: string | null): Promise<Uint8Array> {
  const { outputFiles: [{ contents }], metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    outdir: "/",
    format: "esm",
    charset: "utf8",
    target: "es2022",
    minify: true,
    legalComments: "eof",
    logLevel: "silent",
    loader: { ".wgsl": "text", ".yaml": "text" },
    plugins: [standIns],
    define: { TANGO_REVISION: JSON.stringify(revision) },
  });
  const inputs = Object.keys(metafile.inputs).map((path) => resolve(path));
  const systems = inputs.filter((path) => path.startsWith(SOURCE) && asksDeno(path));
  if (systems.length === 0) return contents;
  throw new Error(
    `A tab has no Deno, and these files ask for it: ${
      systems.map((path) => relative(dirname(SOURCE), path)).join(", ")
    }. Give each of them one of the same path in src/tab/instead.`,
  );
}
