import { useErrorBoundary } from "preact/hooks";
import type { ComponentChildren } from "preact";

/**
 * Shows what it holds, or what went wrong in drawing it: the rest of the page stays. Give it a key, so that
 * something else is drawn afresh.
 */
export function Guarded({ children }: { children?: ComponentChildren }) {
  const [error, again] = useErrorBoundary();
  if (error === undefined) return <div>{children}</div>;
  return (
    <div class="notice bad" role="alert">
      <p>This cannot be shown: {error instanceof Error ? error.message : error}.</p>
      <button type="button" onClick={again}>Try again</button>
    </div>
  );
}
