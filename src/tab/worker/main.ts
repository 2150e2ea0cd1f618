/** The worker that trains and talks, so that the page stays smooth. */

import "./younger_language.ts";
import { Failure } from "../../base/failure.ts";
import { UserError } from "../../base/user_error.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import { findKept, forget, readKept } from "./kept_run.ts";
import type { Asked, Told } from "./messages.ts";
import { Talking } from "./talking.ts";
import { FOLDER, Training } from "./training.ts";

/** What of a worker's global object is used here. */
interface WorkerScope {
  postMessage(message: Told, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<Asked>) => void) | null;
}

const scope = self as unknown as WorkerScope;
const tell = (told: Told) => scope.postMessage(told);
const training = new Training(tell);
const talking = new Talking(tell);

/** What a run or a conversation ends with when it fails; others leave what goes on as it is. */
const ENDING: readonly Asked["type"][] = ["start", "resume", "open", "say", "teach"];

scope.onmessage = ({ data }) => {
  void obey(data).catch((error) => {
    const isUsers = error instanceof UserError || error instanceof Failure;
    if (!isUsers) console.error(error);
    const said = error instanceof Error ? error.message : `${error}`;
    const message = isUsers ? said : `The program failed: ${said}`;
    tell({ type: ENDING.includes(data.type) ? "failed" : "warning", message });
  });
};

async function obey(asked: Asked): Promise<void> {
  switch (asked.type) {
    case "look":
      return tell({ type: "kept", run: await findKept() });
    case "forget":
      await forget();
      return tell({ type: "kept", run: null });
    case "start":
      return await training.start(asked.preset, asked.settings);
    case "resume":
      return await training.resume();
    case "open":
      return await talking.open(asked.files);
    case "say":
      return await talking.say(asked.text);
    case "clear":
      return talking.clear();
    case "teach":
      return await talking.teach(asked);
    case "endLesson":
      return talking.endLesson();
    case "downloadAdapter": {
      const { name, bytes } = talking.adapterFile();
      return scope.postMessage({ type: "file", name, bytes }, [bytes.buffer]);
    }
    case "pause":
      return training.control.pause();
    case "continue":
      return training.control.goOn();
    case "stop":
      training.control.goOn();
      return training.control.stop();
    case "download": {
      const bytes = RunFolder.at(FOLDER).isUsed ? training.archive() : await readKept();
      return scope.postMessage({ type: "file", name: "tango-run.tar", bytes }, [bytes.buffer]);
    }
  }
}
