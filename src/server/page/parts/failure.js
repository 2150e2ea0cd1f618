import { h } from "../vendor.js";

/**
 * Says why something could not be loaded or done.
 *
 * @param {{ error: Error | null }} props
 */
export function Failure({ error }) {
  return error === null ? null : h("p", { class: "notice bad", role: "alert" }, error.message);
}
