/** The page as it is served: its modules and its style sheets, each bundled with the libraries they use. */

import { buildSync } from "esbuild";
import { fileURLToPath } from "node:url";
import { RequestProblem } from "./http/problem.ts";

/** What answers at an address of the page. */
export interface PageFile {
  readonly contents: Uint8Array<ArrayBuffer>;
  /** Its content type. */
  readonly type: string;
  /** Another one when the contents are others. */
  readonly tag: string;
}

/**
 * The page runs no script and loads no style that is not a file of this server, and no other page may frame it
 * or take it for its own.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Content types by the ending of a file. */
export const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

let bundled: ReadonlyMap<string, PageFile> | null = null;

/**
 * The page's files by address; made when they are first asked for.
 *
 * @throws RequestProblem when they cannot be made, naming the line to blame
 */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  return bundled ??= bundlePage(fileURLToPath(new URL("page", import.meta.url)));
}

/** Bundles the page that lies in a folder. */
export function bundlePage(folder: string): ReadonlyMap<string, PageFile> {
  try {
    const { outputFiles } = buildSync({
      absWorkingDir: folder,
      entryPoints: ["index.html", "icon.svg", "theme.ts", "main.tsx", "main.css"],
      outdir: "/page",
      bundle: true,
      write: false,
      format: "esm",
      charset: "utf8",
      jsx: "automatic",
      jsxImportSource: "preact",
      loader: { ".html": "copy", ".svg": "copy" },
      logLevel: "silent",
    });
    return new Map(outputFiles.map(({ path, contents, hash }) => [
      path === "/page/index.html" ? "/" : path,
      { contents: new Uint8Array(contents), type: TYPES[path.split(".")[1]], tag: `"${hash}"` },
    ]));
  } catch (error) {
    const { message } = error as Error;
    throw new RequestProblem(500, `The page cannot be bundled. ${message}`);
  }
}
