import { UserError } from "../base/user_error.ts";
import type { HubAccess } from "./access.ts";
import type { HubRefusal } from "./hub_client.ts";
import { pagePath, type Repository } from "./repository.ts";

/**
 * Says what the Hub's refusal means and what to do about it. Without a token the Hub answers 401 for
 * repositories that do not exist too, so as not to tell which private ones there are.
 */
export function describeRefusal(
  refusal: HubRefusal,
  { endpoint, token }: HubAccess,
  repository: Repository,
  asked: { readonly revision: string } | { readonly file: string },
): UserError {
  const { status, code } = refusal;
  const { kind, id } = repository;
  const page = endpoint + pagePath(repository);
  const said = `(status ${status}: ${refusal.message})`;
  const other = kind === "model"
    ? "add --dataset for a data set"
    : "leave out --dataset for a model";
  if (status === 401 && token !== null && code !== "GatedRepo" && code !== "RepoNotFound") {
    return new UserError(
      `${endpoint} does not accept the token ${said}. Make a new one at ` +
        `${endpoint}/settings/tokens and set HF_TOKEN, or run hf auth login.`,
    );
  }
  if (code === "GatedRepo" || status === 403) {
    const access = token === null
      ? `then set HF_TOKEN to a token of your account (${endpoint}/settings/tokens)`
      : `with the account that HF_TOKEN belongs to; the token must be allowed to read it`;
    return new UserError(
      `The ${kind} ${id} is gated ${said}. Accept its conditions at ${page}, ${access}.`,
    );
  }
  if (code === "RevisionNotFound" && "revision" in asked) {
    return new UserError(
      `The ${kind} ${id} has no revision ${asked.revision}; expected a branch, tag or commit. ` +
        `See ${page}/tree/main.`,
    );
  }
  if ("file" in asked && status === 404) {
    return new UserError(`${id} lists ${asked.file} but does not give it ${said}. Run it again.`);
  }
  if (status === 404 || status === 401) {
    const privately = token === null
      ? "if it is private or gated, set HF_TOKEN"
      : "if it is private, the account of HF_TOKEN must see it";
    return new UserError(
      `There is no ${kind} ${id} at ${endpoint}. Check the name; ${other}; ${privately}.`,
    );
  }
  return new UserError(`${page} cannot be read ${said}.`);
}
