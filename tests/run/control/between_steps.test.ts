import assert from "node:assert/strict";
import { alone } from "../../../src/distributed/communicator.ts";
import { betweenSteps } from "../../../src/run/control/between_steps.ts";
import { RunControl } from "../../../src/run/control/run_control.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";

/** What a run that was asked to pause does when `asked` is called as soon as it says that it waits. */
async function paused(asked: (control: RunControl) => void): Promise<string[]> {
  const control = new RunControl();
  const events = new RunEvents();
  const heard: string[] = [];
  events.listen(({ type }) => {
    heard.push(type);
    if (type === "paused") asked(control);
  });
  control.pause();
  // A run that would sleep for ever is woken.
  const rescue = setTimeout(() => {
    heard.push("asleep");
    control.goOn();
  }, 3000);
  const stopped = await betweenSteps(alone, control, events, {
    step: 1,
    isLast: false,
    isSaveDue: false,
    save: () => Promise.resolve(void heard.push("saved")),
  });
  clearTimeout(rescue);
  return [...heard, stopped ? "stopped" : "goes on"];
}

Deno.test("between steps: what is asked while `paused` is told is not slept through", async () => {
  assert.deepEqual(await paused((control) => control.goOn()), ["paused", "continued", "goes on"]);
  assert.deepEqual(await paused((control) => control.stop()), [
    ...["paused", "saved", "continued", "stopped"],
  ]);
  const saveAndGoOn = (control: RunControl) => {
    control.save();
    setTimeout(() => control.goOn(), 5);
  };
  assert.deepEqual(await paused(saveAndGoOn), ["paused", "saved", "continued", "goes on"]);
  // The last word counts, in whatever order they come.
  const changesItsMind = (control: RunControl) => {
    control.goOn();
    control.pause();
    setTimeout(() => control.goOn(), 5);
  };
  assert.deepEqual(await paused(changesItsMind), ["paused", "continued", "goes on"]);
});
