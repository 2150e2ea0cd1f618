/** The page's files. */

import { Hono } from "hono";
import { problemResponse } from "./http/problem.ts";
import { pageFile } from "./page_files.ts";

/** Routes of the page. */
export function pageRoutes(): Hono {
  const page = new Hono();
  page.get("/", ({ req }) => answer(req.raw));
  page.get("/page/*", ({ req }) => answer(req.raw));
  return page;
}

async function answer(request: Request): Promise<Response> {
  const file = pageFile(new URL(request.url).pathname);
  if (file === null) return problemResponse(404, "There is no such file of the page.");
  try {
    const { mtime, size } = await Deno.stat(file.path);
    const tag = `"${mtime?.getTime() ?? 0}-${size}"`;
    const headers = { "cache-control": "no-cache", etag: tag, "content-type": file.type };
    if (request.headers.get("if-none-match") === tag) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(await Deno.readFile(file.path), { headers });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      return problemResponse(404, "There is no such file of the page.");
    }
    throw error;
  }
}
