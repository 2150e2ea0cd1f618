import assert from "node:assert/strict";
import { Template } from "@huggingface/jinja";
import { Tokenizer } from "@huggingface/tokenizers";
import { chainsTask } from "../../src/data/chains.ts";
import { lastLetterTask } from "../../src/data/last_letter.ts";
import { correctSolution, renderCritique, renderSolution } from "../../src/data/solution_text.ts";
import {
  characterTokenizer,
  characterTokenizerConfig,
  vocabularyTokens,
} from "../../src/data/vocabulary.ts";
import { RandomStream, streams } from "../../src/random/philox.ts";

const tokenizer = new Tokenizer(characterTokenizer(), characterTokenizerConfig());

Deno.test("ids are dense, <pad> is 0, and every token is its own", () => {
  assert.equal(vocabularyTokens.length, 64);
  assert.equal(new Set(vocabularyTokens).size, 64);
  vocabularyTokens.forEach((token, id) => {
    assert.deepEqual(tokenizer.encode(token).ids, [id], token);
    assert.equal(tokenizer.decode([id]), token);
  });
  assert.equal(vocabularyTokens[0], "<pad>");
});

Deno.test("tags and judgments are single tokens, the longest first", () => {
  assert.deepEqual(tokenizer.tokenize("\\boxed{INCORRECT}CORRECT"), [
    "\\boxed{",
    "INCORRECT",
    "}",
    "CORRECT",
  ]);
  assert.deepEqual(tokenizer.tokenize("<step>a  b\n</step>"), [
    "<step>",
    "a",
    " ",
    " ",
    "b",
    "\n",
    "</step>",
  ]);
  assert.deepEqual(tokenizer.tokenize("Aé"), ["<unk>", "<unk>"]);
});

Deno.test("the texts of a task and the prompts go through without loss or unknown characters", () => {
  const readTemplate = (name: string) =>
    new Template(
      Deno.readTextFileSync(new URL(`../../configs/prompts/${name}.txt`, import.meta.url)),
    );
  const generatorPrompt = readTemplate("generator"), verifierPrompt = readTemplate("verifier");
  for (let i = 0; i < 20; i++) {
    const stream = new RandomStream(1, streams.problems, 0, i);
    const uniform = () => stream.uniform();
    const problem = lastLetterTask.makeProblem(uniform, { minimumSteps: 2, maximumSteps: 12 });
    const { question } = problem;
    const solution = renderSolution(correctSolution(problem));
    const critique = renderCritique(
      lastLetterTask.writeCritique(problem, lastLetterTask.corruptSolution(problem, uniform)),
    );
    const steps = problem.goldSteps.length;
    const prompts = [
      generatorPrompt.render({ question }),
      verifierPrompt.render({ question, solution, steps }),
    ];
    assert.deepEqual(prompts, [
      `<bos>${question}?`,
      `<bos>${question}?\n${solution}\n${steps}?`,
    ]);
    for (const text of [...prompts, solution + "<eos>", critique + "<eos>"]) {
      const { ids } = tokenizer.encode(text);
      assert.ok(!ids.includes(vocabularyTokens.indexOf("<unk>")), text);
      assert.equal(tokenizer.decode(ids), text);
    }
  }
});

Deno.test("decoding without special tokens keeps the tags", () => {
  const { ids } = tokenizer.encode("<bos><think></think><eos><pad>");
  assert.equal(tokenizer.decode(ids, { skip_special_tokens: true }), "<think></think>");
});

Deno.test("a task's words are single tokens after the characters, and change no other token", () => {
  const words = chainsTask.words ?? [];
  const definition = characterTokenizer(words);
  const all = [...vocabularyTokens, ...words];
  assert.deepEqual(definition.model.vocab, Object.fromEntries(all.map((token, id) => [token, id])));
  assert.equal(Object.keys(definition.model.vocab).length, vocabularyTokens.length + words.length);
  const wide = new Tokenizer(definition, characterTokenizerConfig());
  assert.deepEqual(wide.tokenize("ann has 7 pens. ann's pal bob has 13 more. how many has bob?"), [
    ...["ann", " has ", "7", " pens. ", "ann's pal ", "bob", " has ", "13", " more. "],
    ...["how many has ", "bob", "?"],
  ]);
  for (let i = 0; i < 20; i++) {
    const stream = new RandomStream(1, streams.problems, 0, i);
    const uniform = () => stream.uniform();
    const problem = chainsTask.makeProblem(uniform, { minimumSteps: 2, maximumSteps: 7 });
    const wrong = chainsTask.corruptSolution(problem, uniform);
    const critique = renderCritique(chainsTask.writeCritique(problem, wrong));
    const text = `<bos>${problem.question}?\n${renderSolution(wrong)}\n${critique}<eos>`;
    const { ids } = wide.encode(text);
    assert.ok(!ids.includes(vocabularyTokens.indexOf("<unk>")), text);
    assert.equal(wide.decode(ids), text);
    // No sentence takes more than five tokens, its end included.
    const sentences = problem.question.split(". ").length;
    assert.ok(wide.encode(problem.question).ids.length <= 5 * sentences, problem.question);
  }
});
