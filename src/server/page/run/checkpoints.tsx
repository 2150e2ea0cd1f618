import { formatSize, formatTime } from "../format.ts";
import { runPath } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import type { ListedCheckpoint } from "../../routes/folders.ts";
import type { RunView } from "../../runs/run_view.ts";

/** The checkpoints on the disk, to take away. */
export function Checkpoints({ run, version }: { run: RunView; version: string }) {
  const { answer, error } = useLoaded<{ checkpoints: ListedCheckpoint[] }>(
    runPath(run.id, "checkpoints"),
    version,
  );
  const checkpoints = (answer?.checkpoints ?? []).toReversed();
  if (answer !== null && checkpoints.length === 0) {
    return (
      <p class="quiet">
        No checkpoint yet. The button Checkpoint saves one after the present step.
      </p>
    );
  }
  return (
    <>
      <Failure error={error} />
      {checkpoints.map(({ step, bytes, createdAt, files }) => (
        <section class="checkpoint" key={step}>
          <h2>Step {step}</h2>
          <p class="quiet">
            {formatSize(bytes)}, {formatTime(createdAt)}{" "}
            {run.kind === "train" && (
              <Link to={{ screen: "verify", runs: [run.id], step }}>
                Ask it something <span class="unseen">as it was after step {step}</span>
              </Link>
            )}
          </p>
          <ul>
            {files.map((file) => (
              <li key={file.path}>
                <a
                  href={`${runPath(run.id, `checkpoints/${step}/files/`)}${
                    file.path.split("/").map(encodeURIComponent).join("/")
                  }`}
                  download={file.path.split("/").at(-1)}
                >
                  {file.path}
                </a>{" "}
                {formatSize(file.bytes)}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
