/** What happens in a run, as it happens. */

import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { MOST_WATCHERS, tooMany } from "../http/limits.ts";
import { problems } from "../http/problem.ts";
import { numberBeforeLast } from "../index/read_events.ts";
import { EventMessages } from "../index/event_messages.ts";
import { readTimeline } from "../runs/read_timeline.ts";
import type { RunList } from "../runs/run_list.ts";
import { json, MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

/** Events that a watcher without Last-Event-ID is told first. */
const FIRST_EVENTS = 1000;
/** A comment after so long, so that a broken connection is noticed. */
const HEARTBEAT_MS = 15_000;

const events = createRoute({
  method: "get",
  path: "/api/runs/{id}/events",
  summary: "Events as they happen (server-sent), after Last-Event-ID or the last thousand",
  request: {
    params: runParameter,
    headers: z.object({
      "last-event-id": z.string().regex(/^\d{1,15}$/).optional().describe(
        "The last event's number.",
      ),
    }),
  },
  responses: {
    200: {
      description: "Each message is a line of events.jsonl, its id the event's number.",
      content: { "text/event-stream": { schema: z.string() } },
    },
    ...problems(404, 422, 429),
  },
});

const stepNumber = numberParameter(0, MOST_STEPS).optional();

const timeline = createRoute({
  method: "get",
  path: "/api/runs/{id}/timeline",
  summary: "What each rank did when: phases of steps, waiting for others, communicating",
  request: { params: runParameter, query: z.object({ from: stepNumber, to: stepNumber }) },
  responses: {
    200: json(
      "By rank. Spans ascend and do not overlap; times are seconds since the run began. Of many steps, the last ones.",
      z.object({
        ranks: z.array(z.object({
          rank: z.int(),
          spans: z.array(
            z.object({
              name: z.string().describe(
                "`rollout`, `verification`, `forward-backward`, `optimizer`, `update` (its rest), `evaluation`, `checkpoint`; `idle`, `communicate`.",
              ),
              step: z.int(),
              begin: z.number(),
              end: z.number(),
            }),
          ),
        })),
      }),
    ),
    ...problems(404, 422, 429),
  },
});

/** Routes of events. */
export function eventsRoutes(runs: RunList): OpenAPIHono {
  const api = newApi();
  const messages = new EventMessages(runs.index.database);
  let watchers = 0;
  api.openapi(events, (context) => {
    const { name, indexed } = requireRun(runs, context.req.valid("param").id);
    if (watchers >= MOST_WATCHERS) return tooMany("event streams") as never;
    const { database } = runs.index;
    const last = context.req.valid("header")["last-event-id"];
    const after = last === undefined
      ? numberBeforeLast(database, indexed.id, FIRST_EVENTS)
      : Number(last);
    watchers++;
    const stream = followEvents(runs, messages, name, after, () => void watchers--);
    return context.body(stream, 200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
    });
  });
  api.openapi(timeline, (context) => {
    const { indexed, folder } = requireRun(runs, context.req.valid("param").id);
    const { from = 0, to = MOST_STEPS } = context.req.valid("query");
    const started = Date.parse(indexed.progress.startedAt ?? "") || 0;
    const ranks = readTimeline(folder.timeline, { from, to }, started);
    return context.json(
      { ranks: ranks.map(({ rank, spans }) => ({ rank, spans: [...spans] })) },
      200,
    );
  });
  return api;
}

/** A stream that ends when the run is deleted, or who reads it goes away. */
function followEvents(
  runs: RunList,
  messages: EventMessages,
  name: string,
  after: number,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const ending = new AbortController();
  const encoder = new TextEncoder();
  let last = after;
  ending.signal.addEventListener("abort", onEnd, { once: true });
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(": here\n\n"));
    },
    async pull(controller) {
      const run = runs.find(name);
      if (run === null) {
        ending.abort();
        return controller.close();
      }
      const found = messages.after(run.indexed.id, last);
      if (found === null) {
        await runs.feed.next(name, HEARTBEAT_MS, ending.signal);
        // A comment: whoever is gone is noticed by it.
        if (!ending.signal.aborted) controller.enqueue(encoder.encode(":\n\n"));
        return;
      }
      last = found.last;
      controller.enqueue(found.bytes.slice());
    },
    cancel() {
      ending.abort();
    },
  });
}
