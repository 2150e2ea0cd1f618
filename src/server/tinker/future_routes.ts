/** Results that clients come for. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { newApi } from "../routes/api.ts";
import { name, post, type Tinker } from "./api.ts";

/** An answer is held for so long, in milliseconds; a client asks again at once. */
const HELD_MS = 25_000;

const asksResult = z.looseObject({ request_id: name });

/** The routes. */
export function futureRoutes({ futures }: Tinker, heldMs = HELD_MS): OpenAPIHono {
  const api = newApi();
  post(
    api,
    "retrieve_future",
    "The result of a request, held until it is there",
    asksResult,
    async (asked) => {
      const { request_id } = asked;
      const result = await futures.wait(request_id, heldMs);
      if (result === null) return { type: "try_again", request_id, queue_state: "active" };
      if ("json" in result) return result.json;
      return new Response(Uint8Array.from(result.protobuf), {
        headers: { "content-type": "application/x-protobuf" },
      });
    },
  );
  return api;
}
