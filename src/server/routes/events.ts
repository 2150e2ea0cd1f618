/** What happens in a run, as it happens. */

import { z } from "@hono/zod-openapi";
import { MOST_WATCHERS, tooMany } from "../http/limits.ts";
import { json, route } from "../http/route.ts";
import { EventMessages } from "../index/event_messages.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import { rankTimelineSchema, readTimeline } from "../runs/read_timeline.ts";
import type { RunList } from "../runs/run_list.ts";
import { MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

/** Events that a watcher without Last-Event-ID is told first. */
const FIRST_EVENTS = 1000;
/** A comment after so long, so that a broken connection is noticed. */
const HEARTBEAT_MS = 15_000;

const events = route("get", "/api/runs/{id}/events", {
  summary: "Events as they happen (server-sent), after Last-Event-ID or the last thousand",
  params: runParameter,
  headers: z.object({
    "last-event-id": z.string().regex(/^\d{1,15}$/).optional().describe(
      "The last event's number.",
    ),
  }),
  200: {
    description: "Each message's data is a line of events.jsonl, its id the event's number.",
    content: {
      "text/event-stream": { schema: z.object({ id: z.string(), data: z.string() }) },
    },
  },
  refuses: [404, 409],
});

const stepNumber = numberParameter(0, MOST_STEPS).optional();

const timeline = route("get", "/api/runs/{id}/timeline", {
  summary: "What each rank did when: phases of steps, waiting for others, communicating",
  params: runParameter,
  query: z.object({ from: stepNumber, to: stepNumber }),
  200: json(
    "By rank. Spans ascend and do not overlap; times are seconds since the run began. Of many steps, the last ones.",
    z.object({ ranks: z.array(rankTimelineSchema) }),
  ),
  refuses: [404, 409],
});

/** Routes of events. */
export function eventsRoutes(runs: AllRuns) {
  const { list } = runs;
  const messages = new EventMessages(list.index);
  let watchers = 0;
  return newApi()
    .openapi(events, (context) => {
      const { name, indexed } = requireRun(runs, context.req.valid("param").id);
      if (watchers >= MOST_WATCHERS) return tooMany("event streams") as never;
      const last = context.req.valid("header")["last-event-id"];
      const after = last === undefined
        ? Math.max(0, list.index.lastEvent(indexed.id) - FIRST_EVENTS)
        : Number(last);
      const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
      // Nobody would read the stream, nor end it.
      if (context.req.method === "HEAD") return context.body(null, 200, headers) as never;
      watchers++;
      const stream = followEvents(list, messages, name, after, () => void watchers--);
      return context.body(stream, 200, headers) as never; // the library knows no streams of events
    })
    .openapi(timeline, (context) => {
      const { indexed, folder } = requireRun(runs, context.req.valid("param").id);
      const { from = 0, to = MOST_STEPS } = context.req.valid("query");
      const started = Date.parse(indexed.progress.startedAt ?? "") || 0;
      const ranks = readTimeline(folder.timeline, { from, to }, started);
      return context.json(
        { ranks: ranks.map(({ rank, spans }) => ({ rank, spans: [...spans] })) },
        200,
      );
    });
}

/** A stream that ends when the run is deleted, the server ends, or who reads it goes away. */
function followEvents(
  runs: RunList,
  messages: EventMessages,
  name: string,
  after: number,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let last = after;
  const following = new DisposableStack();
  following.defer(onEnd);
  const sendRest = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const run = runs.find(name);
    if (run === null || runs.isClosed) {
      following.dispose();
      return controller.close();
    }
    // Who reads slowly asks for the rest when it has read this.
    while ((controller.desiredSize ?? 0) > 0) {
      const found = messages.after(run.indexed.id, last);
      if (found === null) return;
      last = found.last;
      controller.enqueue(found.bytes);
    }
  };
  const send = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      sendRest(controller);
    } catch (error) {
      console.error(error);
      following.dispose();
      controller.error(error); // whoever reads asks again, from the last event on
    }
  };
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(": here\n\n"));
      following.defer(runs.feed.follow(name, () => send(controller)));
      // Whoever is gone is noticed by it.
      const heart = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(":\n\n"));
      }, HEARTBEAT_MS);
      following.defer(() => clearInterval(heart));
    },
    pull: send,
    cancel() {
      following.dispose();
    },
  });
}
