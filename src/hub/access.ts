/** Which server is the Hub, and who asks: as the Hub's own tools read it from the environment. */

import { join } from "node:path";
import { UserError } from "../base/user_error.ts";

/** How to reach the Hub. */
export interface HubAccess {
  /** Address of the Hub, without a slash at its end. */
  readonly endpoint: string;
  /** Null when nobody is logged in. */
  readonly token: string | null;
}

/**
 * Reads HF_ENDPOINT, and the token from HF_TOKEN or the file that `hf auth login` writes.
 *
 * @throws UserError when HF_ENDPOINT is not a web address
 */
export function readAccess(
  environment: Readonly<Record<string, string | undefined>> = Deno.env.toObject(),
): HubAccess {
  const endpoint = (environment.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) {
    throw new UserError(
      `HF_ENDPOINT is ${endpoint}; expected an address such as https://huggingface.co`,
    );
  }
  return { endpoint, token: environment.HF_TOKEN?.trim() || readTokenFile(environment) };
}

function readTokenFile(environment: Readonly<Record<string, string | undefined>>): string | null {
  const home = environment.HF_HOME ||
    (environment.HOME ? join(environment.HOME, ".cache", "huggingface") : null);
  const path = environment.HF_TOKEN_PATH || (home && join(home, "token"));
  if (!path) return null;
  try {
    return Deno.readTextFileSync(path).trim() || null;
  } catch (error) {
    // Nobody is logged in, then; most repositories are public.
    if (error instanceof Deno.errors.NotFound) return null;
    throw new UserError(
      `The Hub token in ${path} cannot be read: ${
        error instanceof Error ? error.message : error
      }. Mend ` +
        `its permissions, or set HF_TOKEN.`,
    );
  }
}
