/** Replies of a conversation that are judged before one is said. */

import assert from "node:assert/strict";
import { Conversation, type JudgedReply, type ReplyChoice } from "../../src/engine/conversation.ts";
import { ChatTemplate } from "../../src/model/tokenizer/chat_template.ts";
import { type LoadedModel, loadModelFolder } from "../../src/model/weights/model_folder.ts";
import { streams } from "../../src/random/philox.ts";
import { chattingRun } from "../cli/chatting_run.ts";
import { gpuOf, testedEngines } from "../kernels/harness.ts";

const LENGTH = 40;

/** What is said, and which replies were judged. */
async function say(
  loaded: LoadedModel,
  folder: string,
  judgments: readonly JudgedReply[][],
  rewrites: number,
) {
  const left = [...judgments];
  const judged: string[][] = [];
  const choice: ReplyChoice = {
    count: judgments[0].length,
    rewrites,
    judge: (_, replies) => {
      judged.push(replies.map(({ text, tokenTexts, logProbs }) => {
        assert.equal(tokenTexts.join(""), text);
        assert.equal(logProbs.length, tokenTexts.length);
        return text;
      }));
      return Promise.resolve(left.shift() ?? []);
    },
  };
  const conversation = new Conversation(
    loaded,
    new ChatTemplate(loaded.tokenizer, folder),
    null,
    {
      sampling: { temperature: 1.3, topK: 0, topP: 1, minP: 0, seed: 3, stream: streams.served },
      ...{ choice, maximumReply: LENGTH, context: 256 },
    },
  );
  try {
    const reply = await conversation.say("harbor quiet lemon", () => {});
    assert.equal(left.length, 0, "a judgment was not asked for");
    return { reply, judged };
  } finally {
    conversation.close();
  }
}

for (const engine of testedEngines) {
  Deno.test({
    name: `Conversation: the best reply is begun again where it is found wrong [${engine}]`,
    // A device keeps timers.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const folder = Deno.makeTempDirSync();
      const { generator } = chattingRun(folder);
      const loaded = await loadModelFolder(await gpuOf(engine), generator, { trained: false });
      try {
        const right = { score: 0.1, rightTokens: null }, best = { score: 0.4, rightTokens: 9 };
        const worse = { score: 0.3, rightTokens: 4 };
        const better = { score: 0.8, rightTokens: null };
        // Characters are tokens, so that a reply's first characters are its first tokens.
        const { reply, judged } = await say(
          loaded,
          generator,
          [[right, best], [worse], [better]],
          5,
        );
        const [drawn, second, third] = judged;
        assert.notEqual(drawn[0], drawn[1]);
        assert.equal(second[0].slice(0, 9), drawn[1].slice(0, 9));
        assert.notEqual(second[0], drawn[1]);
        assert.equal(third[0].slice(0, 4), second[0].slice(0, 4));
        assert.notEqual(third[0], second[0]);
        assert.ok(reply.tokens <= LENGTH);
        const { text, score, rewritten } = reply;
        assert.deepEqual({ text, score, rewritten }, { text: third[0], score: 0.8, rewritten: 2 });

        const once = await say(loaded, generator, [[right, best], [worse]], 1);
        assert.deepEqual(once.judged, judged.slice(0, 2));
        // What was written again is thought worse than what was there.
        assert.equal(once.reply.text, drawn[1]);
        assert.equal(once.reply.rewritten, 0);
        const never = await say(loaded, generator, [[right, best]], 0);
        assert.equal(never.reply.text, drawn[1]);
      } finally {
        loaded.model.release();
        Deno.removeSync(folder, { recursive: true });
      }
    },
  });
}
