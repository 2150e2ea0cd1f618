/** The page that trains in the browser itself, as files. */

import { Hono } from "hono";
import { problemResponse } from "./http/problem.ts";
import { TYPES } from "./page_files.ts";

/** Files by their paths, made when they are first asked for. */
export type TabFiles = () => Promise<ReadonlyMap<string, Uint8Array>>;

/** The worker composes kernels by what their text says between braces, which takes a function made of text. */
const WORKER_POLICY = "default-src 'none'; script-src 'self' 'unsafe-eval'; connect-src 'self'";

const WORKERS = /^\/browser\/(worker|measure)\.js$/;

/** What headers an address has in the place of those of the others. */
export function policyOf(path: string): Readonly<Record<string, string>> {
  return WORKERS.test(path) ? { "content-security-policy": WORKER_POLICY } : {};
}

/** Routes of that page, below /browser/. */
export function tabRoutes(make: TabFiles): Hono {
  const page = new Hono();
  let made: ReturnType<TabFiles> | null = null;
  page.get("/browser", ({ redirect }) => redirect("/browser/"));
  page.get("/browser/*", async ({ req }) => {
    made ??= make();
    const files = await made.catch((error) => {
      made = null;
      throw error;
    });
    const path = req.path.slice("/browser/".length) || "index.html";
    const file = files.get(path);
    if (file === undefined) return problemResponse(404, "There is no such file of the page.");
    return new Response(new Uint8Array(file), {
      headers: {
        "cache-control": "no-cache",
        "content-type": TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream",
      },
    });
  });
  return page;
}
