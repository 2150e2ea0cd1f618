import { Fragment, h } from "../vendor.js";
import { formatSize, formatTime } from "../format.js";
import { runPath } from "../live/api.js";
import { addressOf, follow } from "../live/route.js";
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
  const checkpoints = (answer?.checkpoints ?? []).toReversed();
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
        h(
          "p",
          { class: "quiet" },
          `${formatSize(bytes)}, ${formatTime(createdAt)} `,
          run.kind === "train" ? h(Ask, { run, step }) : null,
        ),
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

/**
 * The way to its policies.
 *
 * @param {{ run: Run, step: number }} props
 */
function Ask({ run, step }) {
  const target = { screen: "verify", runs: [run.id], step };
  return h(
    "a",
    {
      href: addressOf(target),
      onClick: (/** @type {MouseEvent} */ event) => follow(event, target),
    },
    `Ask it something`,
    h("span", { class: "unseen" }, ` as it was after step ${step}`),
  );
}
