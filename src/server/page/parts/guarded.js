import { h, useErrorBoundary } from "../vendor.js";

/**
 * Shows what it holds, or what went wrong in drawing it: the rest of the page stays. Give it a key, so that
 * something else is drawn afresh.
 *
 * @param {{ children?: import("preact").ComponentChildren }} props
 */
export function Guarded({ children }) {
  const [error, again] = useErrorBoundary();
  if (error === undefined) return h("div", null, children);
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("p", null, `This cannot be shown: ${error instanceof Error ? error.message : error}.`),
    h("button", { type: "button", onClick: again }, "Try again"),
  );
}
