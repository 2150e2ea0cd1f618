import type { RunKind } from "../../../run/store/run_folder.ts";
import type { PageState } from "../url_state.ts";

/**
 * Keys of a new run's configuration that an address says.
 *
 * @returns `problem`: what of it cannot be read
 */
export function filledKeys(
  kind: RunKind,
  { model, data, change }: Pick<PageState, "model" | "data" | "change">,
): { keys: Record<string, unknown>; problem: Error | null } {
  const keys: Record<string, unknown> = {};
  let problem: Error | null = null;
  const read = (name: string, text: string): unknown => {
    try {
      return text === "" ? undefined : JSON.parse(text);
    } catch {
      problem = new Error(`The address says ${name}=${text}, which is no JSON: it is left out.`);
    }
  };
  if (model !== "") keys[kind === "sft" ? "initial_model" : "generator.model"] = model;
  const dataKey = read("data", data);
  if (dataKey !== undefined) keys.data = dataKey;
  const changes = read("change", change);
  if (typeof changes === "object" && changes !== null) Object.assign(keys, changes);
  return { keys, problem };
}
