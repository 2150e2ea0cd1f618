import { problemResponse } from "./problem.ts";

/** A route as it is documented. */
export interface DocumentedRoute {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
}

/** The answer where no route fits: another method may. */
export function notFound(request: Request, routes: readonly DocumentedRoute[]): Response {
  const { pathname } = new URL(request.url);
  const methods = routes.filter(({ path }) => patternOf(path).test(pathname))
    .map(({ method }) => method.toUpperCase());
  if (methods.length === 0) {
    return problemResponse(404, "There is nothing here; /openapi.json says what is.");
  }
  const allow = [...new Set(methods)].sort().join(", ");
  return problemResponse(405, `Here is ${allow} alone.`, undefined, { allow });
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{\w+\}/).map((text) => text.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^/]+")}$`);
}
