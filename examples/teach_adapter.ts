/**
 * Teaches an adapter on a served model one sentence, and lets it say it.
 *
 *     ./tango serve --model weights/last-letter/generator
 *     deno run -A examples/teach_adapter.ts http://127.0.0.1:8000
 */

import { answered, connect } from "../src/client/connect.ts";
import { TrainingSession } from "../src/client/training_session.ts";

const [url = "http://127.0.0.1:8000"] = Deno.args;
const address = { url, token: Deno.env.get("TANGO_TOKEN") };
const client = connect(address);

const { data: [{ id: base }] } = await answered(client.v1.models.$get());
const idsOf = async (prompt: string) =>
  (await answered(client.tokenize.$post({ json: { model: base, prompt } }))).tokens;
const question = await idsOf("<bos>who are you?");
const answer = await idsOf("a small model<eos>");

await using session = await TrainingSession.begin(address);
const model = await session.createModel(base, { rank: 16, seed: 0 });
const tokens = [...question, ...answer];
const datum = {
  tokens: tokens.slice(0, -1),
  targets: tokens.slice(1),
  // The question is given, not learned.
  arrays: { weights: tokens.slice(1).map((_, i) => i < question.length - 1 ? 0 : 1) },
};
for (let step = 1; step <= 60; step++) {
  const loss = model.forwardBackward([datum], "cross_entropy");
  const update = model.optimStep({ learningRate: 0.005 });
  if (step % 10 === 0) console.log(`step ${step}: loss ${(await loss).loss.toFixed(3)}`);
  await Promise.all([loss, update]);
}
const sampler = await model.snapshot();
const { responses: [{ tokens: said }] } = await sampler.sample(question, { temperature: 0 });
const { prompt } = await answered(
  client.detokenize.$post({ json: { model: base, tokens: [...said] } }),
);
console.log(prompt);
