import { formatBytes } from "../../base/format_bytes.ts";
import { readAccess } from "../../hub/access.ts";
import { HubClient } from "../../hub/hub_client.ts";
import { HubRepository } from "../../hub/hub_repository.ts";
import type { WantedFile } from "../../hub/listing.ts";
import { pull, type PullPlan, type PullRequest, sumOf } from "../../hub/pull.ts";
import type { Repository } from "../../hub/repository.ts";
import { pauseByClock } from "../../hub/retry.ts";
import { Interrupt } from "../interrupt.ts";
import { standardError } from "../progress/progress_line.ts";
import { PullProgress } from "./pull_progress.ts";

/**
 * Fetches a repository, and says how it goes.
 *
 * @returns null when it was stopped, which is said too, and is the exit code
 */
export async function pullRepository(
  repository: Repository,
  request: Omit<PullRequest, "signal">,
): Promise<PullPlan | null> {
  const controller = new AbortController();
  const { signal } = controller;
  using interrupt = new Interrupt((by) => controller.abort(new Error(`stopped by ${by}`)));
  let progress: PullProgress | null = null;
  const note = (text: string) => progress === null ? console.error(text) : progress.note(text);
  const hub = new HubRepository(repository, new HubClient(readAccess(), signal), {
    pause: (seconds) => pauseByClock(seconds, signal),
    onRetry: note,
  });
  try {
    const plan = await pull(hub, { ...request, signal }, {
      onPlan(plan) {
        console.log(describePlan(repository, plan));
        progress = new PullProgress(sumOf(plan.missing), standardError());
      },
      onProgress: (file, arrived) => progress?.update(file, arrived),
    });
    closeProgress(progress);
    console.log(describeResult(plan, request.folder));
    return plan;
  } catch (error) {
    closeProgress(progress);
    if (!signal.aborted) throw error;
    console.log("Stopped. The same command goes on where it was.");
    Deno.exitCode = interrupt.exitCode;
    return null;
  }
}

/** Its own function, because the compiler does not see that a callback has set the variable. */
function closeProgress(progress: PullProgress | null): void {
  progress?.close();
}

function describePlan({ id }: Repository, { commit, files, missing }: PullPlan): string {
  const here = files.length - missing.length;
  return `${id}, commit ${commit}: ${describeFiles(files)}` +
    (here > 0 ? `, ${here} of them here already` : "");
}

function describeResult({ files, missing }: PullPlan, folder: string): string {
  return missing.length === 0
    ? `Nothing to fetch: ${describeFiles(files)} in ${folder} are complete.`
    : `Fetched ${describeFiles(missing)} → ${folder}`;
}

function describeFiles(files: readonly WantedFile[]): string {
  return `${files.length} ${files.length === 1 ? "file" : "files"}, ${formatBytes(sumOf(files))}`;
}
