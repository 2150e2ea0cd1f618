/** Gradients and steps of a client's models. */

import { fromBinary } from "@bufbuild/protobuf";
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { UserError } from "../../base/user_error.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import { problems, RequestProblem } from "../http/problem.ts";
import { newApi } from "../routes/api.ts";
import { post, type Tinker } from "./api.ts";
import { encoded } from "./loss_output.ts";
import { askedLoss, lossOf } from "./losses.ts";
import { numbering, takeNumbered } from "./numbered.ts";
import { BINARY_BODY, FORWARD_BACKWARD } from "./paths.ts";
import type { SessionModel } from "./sessions.ts";
import { type ForwardBackwardRequest, ForwardBackwardRequestSchema } from "./wire/tinker_pb.ts";

const asksStep = z.looseObject({
  ...numbering,
  adam_params: z.looseObject({
    learning_rate: z.number().nullish(),
    beta1: z.number().nullish(),
    beta2: z.number().nullish(),
    eps: z.number().nullish(),
    weight_decay: z.number().nullish(),
    grad_clip_norm: z.number().nullish(),
  }).nullish(),
  optimizer_params: z.looseObject({ type: z.string() }).nullish(),
});

/** The routes. */
export function trainingRoutes(tinker: Tinker): OpenAPIHono {
  const api = newApi();
  const gone = z.looseObject({});
  post(api, "forward", "Is gone: forward_backward with forward_only does it", gone, () => {
    throw new RequestProblem(410, `This route is gone. ${BINARY_BODY.advice}`);
  });

  const forwardBackward = createRoute({
    method: "post",
    path: FORWARD_BACKWARD,
    tags: ["Tinker"],
    summary: "Adds the gradient of a loss, or computes log-probs alone",
    request: {
      body: { required: true, content: { "application/x-protobuf": { schema: z.string() } } },
    },
    responses: {
      200: {
        description: "It is queued",
        content: { "application/json": { schema: z.object({ request_id: z.string() }) } },
      },
      ...problems(400, 404, 409, 413, 415, 422, 429, 503),
    },
  });
  api.openapi(forwardBackward, async (context) => {
    const bytes = new Uint8Array(await context.req.arrayBuffer());
    const request = decoded(bytes);
    const numbering = { model_id: request.modelId, seq_id: request.seqId };
    const taken = takeNumbered(tinker, numbering, bytes, async (model) => {
      return { protobuf: await computed(model, request) };
    });
    return context.json(taken, 200);
  });
  post(
    api,
    "optim_step",
    "Applies the gradients",
    asksStep,
    (asked) =>
      takeNumbered(tinker, asked, asked, async ({ id, served: { model } }) => {
        const numbers = adamwNumbers(asked);
        const answer = await model.call<"optimStep">({ kind: "optimStep", adapter: id, numbers });
        const { gradientNorm, nonFinite, step } = answer;
        if (nonFinite > 0) {
          throw new UserError(
            `${nonFinite} elements of the gradient are not finite, so nothing was updated; the gradients are gone.`,
          );
        }
        const metrics = { "gradient_norm:mean": gradientNorm, "optimizer_step:max": step };
        return { json: { metrics } };
      }),
  );

  return api;
}

function decoded(bytes: Uint8Array): ForwardBackwardRequest {
  try {
    return fromBinary(ForwardBackwardRequestSchema, bytes);
  } catch (error) {
    throw new RequestProblem(
      400,
      `The body is no ForwardBackwardRequest (${(error as Error).message}). ${BINARY_BODY.advice}`,
    );
  }
}

/** All calls are sent before the first is waited for, so that nothing comes between them. */
async function computed(
  { id: adapter, served: { model, info } }: SessionModel,
  request: ForwardBackwardRequest,
): Promise<Uint8Array> {
  const asked = askedLoss(request, info.maximumExample);
  const { loss, sequences } = asked;
  const isPartial = sequences.some(({ first }) => first > 0);
  const whole = sequences.map(({ tokens }, d) => ({ tokens, targets: asked.targets[d], first: 0 }));
  const forward = request.forwardOnly || isPartial
    ? model.call<"forward">({ kind: "forward", adapter, sequences: whole })
    : null;
  const trained = request.forwardOnly
    ? null
    : model.call<"forwardBackward">({ kind: "forwardBackward", adapter, loss, sequences });
  const [before, found] = await Promise.all([forward, trained]);
  const logProbs = (before ?? found)?.logProbs ?? [];
  return encoded(logProbs, found ? found.loss : lossOf(asked, logProbs));
}

/** @throws UserError when one of them is out of range */
function adamwNumbers({ adam_params, optimizer_params }: z.output<typeof asksStep>): AdamwNumbers {
  if (optimizer_params != null && optimizer_params.type !== "adamw") {
    const type = JSON.stringify(optimizer_params.type);
    throw new UserError(`optimizer_params: ${type} is not built; take AdamParams.`);
  }
  const { learning_rate, beta1, beta2, eps, weight_decay, grad_clip_norm } = adam_params ?? {};
  const numbers = {
    learningRate: learning_rate ?? 1e-4,
    betas: [beta1 ?? 0.9, beta2 ?? 0.95] as const,
    epsilon: eps ?? 1e-12,
    weightDecay: weight_decay ?? 0,
    maxGradientNorm: grad_clip_norm || Infinity,
  };
  const { betas: [first, second], maxGradientNorm: _, ...others } = numbers;
  const isWrong = [first, second].some((beta) => !(beta >= 0 && beta < 1)) ||
    Object.values(others).some((value) => value < 0) || numbers.maxGradientNorm < 0;
  if (!isWrong) return numbers;
  throw new UserError("adam_params: betas are from 0 to below 1, and nothing is below 0.");
}
