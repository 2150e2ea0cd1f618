import type { ComponentChildren } from "preact";
import { formatSize } from "../format.ts";
import { Failure } from "./failure.tsx";
import type { PullView } from "../../models/model_schemas.ts";

/** How far fetching one is. */
export function PullProgress(
  { pull: { id, state, arrived, total, error }, children }: {
    pull: PullView;
    /** What can be done with it when it is here. */
    children?: ComponentChildren;
  },
) {
  if (state === "failed") return <Failure error={new Error(`${id}: ${error}`)} />;
  if (state === "done") return <p role="status">{id}: here {children}</p>;
  return (
    <p role="status">
      {id}: {formatSize(arrived)} of {formatSize(total)}{" "}
      <progress max={total ?? 1} value={arrived} aria-label={`${id}, bytes that are here`} />
    </p>
  );
}
