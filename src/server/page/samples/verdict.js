import { h } from "../vendor.js";

/**
 * A verifier's last word.
 *
 * @param {{ verdict: boolean | null }} props
 */
export function Verdict({ verdict }) {
  const [tone, text] = verdict === null
    ? ["none", "nothing readable"]
    : verdict
    ? ["right", "✓ CORRECT"]
    : ["wrong", "✗ INCORRECT"];
  return h("span", { class: `verdict ${tone}` }, text);
}
