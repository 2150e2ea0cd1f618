/** Which file answers which address of the page: its own modules and style sheets, and the libraries they use. */

import { fileURLToPath } from "node:url";

/** A file of the page. */
export interface PageFile {
  /** Where it lies; it may not exist. */
  readonly path: string;
  /** Its content type. */
  readonly type: string;
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

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

const LIBRARIES: Readonly<Record<string, string>> = {
  "preact.js": "preact/dist/preact.umd.js",
  "hooks.js": "preact/hooks/dist/hooks.umd.js",
  "uplot.js": "uplot/dist/uPlot.iife.min.js",
  "uplot.css": "uplot/dist/uPlot.min.css",
};

// No dots but the one of the ending: nothing outside the folder can be named.
const OWN_FILE = /^\/page\/((?:[a-z_]+\/)*[a-z_]+\.(js|css|svg))$/;

/**
 * The file that an address of the page stands for.
 *
 * @param pathname of the request's address, as it was sent
 * @returns null for what is none of the page's
 */
export function pageFile(pathname: string): PageFile | null {
  if (pathname === "/") return { path: pathOf("page/index.html"), type: TYPES.html };
  const library = /^\/page\/vendor\/([a-z]+\.(js|css))$/.exec(pathname);
  if (library !== null) {
    const [, name, ending] = library;
    if (!Object.hasOwn(LIBRARIES, name)) return null;
    return { path: pathOf(`../../node_modules/${LIBRARIES[name]}`), type: TYPES[ending] };
  }
  const own = OWN_FILE.exec(pathname);
  return own === null ? null : { path: pathOf(`page/${own[1]}`), type: TYPES[own[2]] };
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
