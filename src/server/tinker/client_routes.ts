/** What a client asks of the server itself, and its sessions. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { newApi } from "../routes/api.ts";
import { at, inPath, name, post, type Tinker } from "./api.ts";

/** Seconds between two questions of a client for its settings. */
const REFRESH_SECONDS = 300;
/** Said to who begins, where the API promises what is not there. */
const BESIDE =
  "Adapters here change attention and MLP; the output matrix stays as it is, whatever train_unembed says.";

/** The routes. */
export function clientRoutes({ served, sessions }: Tinker): OpenAPIHono {
  const api = newApi();
  const anything = z.looseObject({});
  post(api, "client/config", "A client's settings", anything, () => ({
    // Plain HTTP, and the pieces of a batch one after another.
    use_pyqwest_transport: false,
    parallel_fwdbwd_chunks: false,
  }));
  post(api, "client/dynamic_config", "Settings that may change", anything, () => ({
    refresh_interval_sec: REFRESH_SECONDS,
    sample_cancel_enabled: false,
    sample_cancel_max_batch_size: 64,
  }));
  post(api, "telemetry", "Takes what a client tells of itself, and forgets it", anything, () => ({
    status: "accepted",
  }));
  at(api, "get", "healthz", "Whether the server answers", {}, () => ({ status: "ok" }));
  at(api, "get", "get_server_capabilities", "The models that can be trained", {}, () => {
    const supported_models = served.all.map(({ name: model_name, info, adapter }) => {
      const isBase = info.adaptable && adapter === null;
      return {
        model_name,
        max_context_length: info.maximumTokens,
        trainable: isBase,
        sampleable: true,
      };
    });
    return { supported_models };
  });

  post(api, "create_session", "Begins a session", anything, () => {
    const { id } = sessions.begin();
    return { type: "create_session", session_id: id, info_message: BESIDE };
  });
  const session = z.looseObject({ session_id: name });
  post(api, "session_heartbeat", "Says that a client is still there", session, (asked) => {
    sessions.get(asked.session_id);
    return { type: "session_heartbeat" };
  });
  const one = z.object({ id: inPath("id") });
  post(
    api,
    "sessions/{id}/finish",
    "Ends a session and all that it has but checkpoints",
    anything,
    async (_, { id }) => {
      await sessions.end(id);
      return {};
    },
    one,
  );
  return api;
}
