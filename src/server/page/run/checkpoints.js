import { Fragment, h } from "../vendor.js";
import { formatSize } from "../format.js";
import { runPath } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";

/**
 * @import { CheckpointEntry, Run } from "../contract.ts"
 */

/**
 * The checkpoints on the disk, to take away.
 *
 * @param {{ run: Run, version: string }} props
 */
export function Checkpoints({ run, version }) {
  /** @type {{ answer: { checkpoints: CheckpointEntry[] } | null, error: Error | null }} */
  const { answer, error } = useLoaded(runPath(run.id, "checkpoints"), version);
  const checkpoints = answer?.checkpoints ?? [];
  if (answer !== null && checkpoints.length === 0) {
    return h(
      "p",
      { class: "quiet" },
      "No checkpoint yet. The button Checkpoint saves one after the present step.",
    );
  }
  return h(
    Fragment,
    null,
    h(Failure, { error }),
    checkpoints.map(({ step, bytes, createdAt, files }) =>
      h(
        "section",
        { class: "checkpoint", key: step },
        h("h2", null, `Step ${step}`),
        h("p", { class: "quiet" }, `${formatSize(bytes)}, ${new Date(createdAt).toLocaleString()}`),
        h(
          "ul",
          null,
          files.map((file) =>
            h(
              "li",
              { key: file.path },
              h("a", {
                href: runPath(
                  run.id,
                  `checkpoints/${step}/files/${
                    file.path.split("/").map(encodeURIComponent).join("/")
                  }`,
                ),
                download: file.path.split("/").at(-1),
              }, file.path),
              ` ${formatSize(file.bytes)}`,
            )
          ),
        ),
      )
    ),
  );
}
