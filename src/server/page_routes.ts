/** The page's files. */

import { Hono } from "hono";
import { problemResponse } from "./http/problem.ts";
import { pageFiles } from "./page_files.ts";

/** Routes of the page. */
export function pageRoutes(): Hono {
  const page = new Hono();
  page.get("/", ({ req }) => answer(req.raw));
  page.get("/page/*", ({ req }) => answer(req.raw));
  return page;
}

function answer(request: Request): Response {
  const file = pageFiles().get(new URL(request.url).pathname);
  if (file === undefined) return problemResponse(404, "There is no such file of the page.");
  const { contents, type, tag } = file;
  const headers = { "cache-control": "no-cache", etag: tag, "content-type": type };
  if (request.headers.get("if-none-match") === tag) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(contents, { headers });
}
