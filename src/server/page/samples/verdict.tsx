/** A verifier's last word. */
export function Verdict({ verdict }: { verdict: boolean | null }) {
  const [tone, text] = verdict === null
    ? ["none", "nothing readable"]
    : verdict
    ? ["right", "✓ CORRECT"]
    : ["wrong", "✗ INCORRECT"];
  return <span class={`verdict ${tone}`}>{text}</span>;
}
