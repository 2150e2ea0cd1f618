/** Who may ask: any web page can send requests to a local port, and so can others where the server is bound wider. */

import { timingSafeEqual } from "node:crypto";
import { problemResponse } from "./problem.ts";

/** Where the server is bound, and what it asks for. */
export interface Access {
  readonly hostname: string;
  /** Asked for with every request but those for the page's files; null on loopback, where none is needed. */
  readonly token: string | null;
}

const COOKIE = "tango_token";
const HOST = /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/** Whether a host name is this machine's own, that no other can reach. */
export function isLoopback(hostname: string): boolean {
  return ["127.0.0.1", "localhost", "::1"].includes(hostname);
}

/**
 * Checks host, origin and token.
 *
 * @param path as the routes see it: what is let in by one path must not be answered by another
 * @returns the refusal; null when the request may pass
 */
export function refuse(
  request: Request,
  path: string,
  { hostname, token }: Access,
): Response | null {
  const host = hostOf(request);
  // The request's address is made of it: with a `#`, nothing of the path would be left.
  if (!HOST.test(host) || !URL.canParse(request.url)) {
    return problemResponse(400, `${quoted(host)} is no host.`);
  }
  const name = host.replace(/:\d+$/, "").toLowerCase();
  // A page whose own name was made to lead here would count as of the same origin.
  if (isLoopback(hostname) && !LOOPBACK.includes(name)) {
    return problemResponse(
      403,
      `This server answers to ${LOOPBACK.join(", ")}, not to ${quoted(host)}.`,
    );
  }
  const origin = request.headers.get("origin");
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`) {
    return problemResponse(403, `Pages of ${quoted(origin)} may not ask this server.`);
  }
  if (request.headers.get("sec-fetch-site") === "cross-site" && !isPage(request, path)) {
    return problemResponse(403, "Pages of other sites may not ask this server.");
  }
  const isOpen = token === null || isPage(request, path) || path === HEALTH;
  if (isOpen || hasToken(request, token)) return null;
  return problemResponse(
    401,
    "A token is needed: Authorization: Bearer …, or open /?token=… once in the browser.",
    undefined,
    { "www-authenticate": "Bearer" },
  );
}

/** What the request calls the server: HTTP/2 has a field for it that is no header, but part of the address. */
function hostOf({ headers, url }: Request): string {
  return headers.get("host") ?? /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? "";
}

/** Lets a browser in that was given the token in the address of the page: it keeps it as a cookie. */
export function signIn(request: Request, path: string, token: string | null): Response | null {
  if (token === null || path !== "/") return null;
  const given = new URL(request.url).searchParams.get("token");
  if (given === null || !isEqual(given, token)) return null;
  const cookie = `${COOKIE}=${
    encodeURIComponent(token)
  }; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000`;
  return new Response(null, { status: 303, headers: { location: "/", "set-cookie": cookie } });
}

/** The page's own files, which tell nothing of any run. */
function isPage({ method }: Request, path: string): boolean {
  return method === "GET" && (path === "/" || /^\/(page|browser)(\/|$)/.test(path));
}

const HEALTH = "/healthz";

function hasToken(request: Request, token: string): boolean {
  const bearer = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  if (bearer !== undefined) return isEqual(bearer.trim(), token);
  const key = request.headers.get("x-api-key");
  if (key !== null) return isEqual(key, token);
  const cookie = (request.headers.get("cookie") ?? "").split(/;\s*/)
    .find((part) => part.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
  return cookie !== undefined && isEqual(cookie, encodeURIComponent(token));
}

function isEqual(given: string, token: string): boolean {
  const [a, b] = [given, token].map((text) => new TextEncoder().encode(text));
  return a.length === b.length && timingSafeEqual(a, b);
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 100));
