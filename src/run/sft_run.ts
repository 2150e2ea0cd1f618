import { renderSolution } from "../data/solution_text.ts";
import { characterTokenizer, characterTokenizerConfig } from "../data/vocabulary.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { RandomStream, streams } from "../kernels/philox.ts";
import type { ModelConfig } from "../model/config.ts";
import { initialise } from "../model/initialise.ts";
import { Model, type ParameterCount } from "../model/model.ts";
import { type LoadedModel, loadModelFolder } from "../model/model_folder.ts";
import { Optimizer } from "../model/optimizer.ts";
import { stopTokensOf } from "../model/stop_tokens.ts";
import { Tokenizer } from "../model/tokenizer.ts";
import { evaluateGenerator, evaluateVerifier } from "../rl/evaluation.ts";
import { learningRateAt } from "../rl/learning_rate.ts";
import { parseSolution } from "../rl/parse_solution.ts";
import type { Policy, Sampling } from "../rl/policy.ts";
import { generatorTemplate, verifierTemplate } from "../rl/prompt_template.ts";
import type { Solution } from "../rl/responses.ts";
import { updateSupervised } from "../rl/supervised_update.ts";
import type { Problem } from "../data/task.ts";
import { frozenStorage } from "./frozen_storage.ts";
import { METRIC } from "./metric_names.ts";
import { Problems } from "./problems.ts";
import type { SftConfig } from "./sft_config_schema.ts";
import { judgingMetrics, type Metrics } from "./step_metrics.ts";
import { Supervision } from "./supervision.ts";
import { writeModelFolder } from "./weights_folder.ts";

/** What an evaluation during supervised fine-tuning found. */
export interface SftEvaluation {
  readonly step: number;
  /** The generator's greedy accuracy, or the verifier's balanced accuracy. */
  readonly accuracy: number;
  readonly metrics: Metrics;
}

/** Numbers of tokens. */
export interface LengthRange {
  readonly shortest: number;
  readonly longest: number;
}

/** Examples among which the longest is looked for. */
const examplesLookedAt = 512;

/** Supervised fine-tuning of one policy from random or given weights. */
export class SftRun {
  readonly optimizer: Optimizer;
  readonly #loaded: LoadedModel;
  readonly #problems: Problems;
  readonly #supervision: Supervision;

  /**
   * Loads or makes the model.
   *
   * @throws UserError when a file the configuration names is missing or unsound
   */
  static async open(gpu: Gpu, config: SftConfig): Promise<SftRun> {
    const loaded = config.initial_model === null
      ? newModel(gpu, config)
      : await loadModelFolder(gpu, config.initial_model, {
        trained: true,
        lora: config.lora,
        seed: config.seed,
        storage: frozenStorage(config.frozen_dtype),
      });
    return new SftRun(config, loaded);
  }

  private constructor(private readonly config: SftConfig, loaded: LoadedModel) {
    this.#problems = new Problems(config.task, config.seed);
    this.#loaded = loaded;
    const { betas, epsilon, weight_decay, max_gradient_norm } = config.optimizer;
    this.optimizer = new Optimizer(this.#loaded.model, {
      beta1: betas[0],
      beta2: betas[1],
      epsilon,
      weightDecay: weight_decay,
      maxGradientNorm: max_gradient_norm,
    });
    this.#supervision = new Supervision(this.#problems, this.#loaded.tokenizer, {
      seed: config.seed,
      policy: config.policy,
      generatorTemplate: generatorTemplate(config.generator_prompt_template),
      verifierTemplate: verifierTemplate(config.verifier_prompt_template),
      correctShare: config.correct_share,
      judgmentWeight: config.judgment_weight,
    });
  }

  /**
   * Trains until the accuracy is reached or the steps are done.
   *
   * @param onStep is told of every update
   * @param onEvaluation is told of every evaluation
   * @returns the last evaluation
   */
  async train(
    onStep: (step: number, metrics: Metrics) => void,
    onEvaluation: (evaluation: SftEvaluation) => void,
  ): Promise<SftEvaluation> {
    const { steps, optimizer, batch_size, evaluate_every } = this.config;
    let evaluation: SftEvaluation = { step: 0, accuracy: 0, metrics: {} };
    for (let step = 1; step <= steps; step++) {
      const learningRate = learningRateAt({
        peak: optimizer.learning_rate,
        warmupSteps: optimizer.warmup_steps,
        schedule: optimizer.schedule,
        totalSteps: steps,
      }, step - 1);
      const { loss, gradientNorm, tokens } = await updateSupervised(
        this.#loaded.model,
        this.optimizer,
        this.#supervision.batch(step, batch_size),
        learningRate,
        {
          microBatchTokens: this.config.micro_batch_tokens,
          gradientCheckpointing: this.config.gradient_checkpointing,
        },
      );
      onStep(step, {
        [METRIC.supervisedLoss]: loss,
        "sft/grad_norm": gradientNorm,
        "sft/learning_rate": learningRate,
        "sft/tokens": tokens,
      });
      if (step % evaluate_every !== 0 && step !== steps) continue;
      evaluation = await this.evaluate(step);
      onEvaluation(evaluation);
      if (evaluation.accuracy >= this.config.stop_at_accuracy) break;
    }
    return evaluation;
  }

  /** Writes a model folder that `transformers` opens. */
  async save(folder: string): Promise<void> {
    await writeModelFolder(folder, this.#loaded);
  }

  get model(): Model {
    return this.#loaded.model;
  }

  /** Tokens of prompts and responses. */
  get exampleLengths(): { readonly prompt: LengthRange; readonly response: LengthRange } {
    const examples = this.#supervision.batch(1, examplesLookedAt);
    const range = (lengths: readonly number[]) => ({
      shortest: Math.min(...lengths),
      longest: Math.max(...lengths),
    });
    return {
      prompt: range(examples.map(({ prompt }) => prompt.length)),
      response: range(examples.map(({ response }) => response.length)),
    };
  }

  /** Number of the model's parameters. */
  get parameterCount(): ParameterCount {
    return this.#loaded.model.parameterCount;
  }

  /** Returns the GPU memory. */
  close(): void {
    this.optimizer.release();
    this.#loaded.model.release();
  }

  #policy<Template>(template: Template): Policy<Template> {
    const { model, tokenizer, stopTokens } = this.#loaded;
    return {
      model,
      tokenizer,
      template,
      stopTokens,
      maximumResponse: this.config.evaluation.max_response_length,
      slots: 256,
      stepsBetweenReadbacks: 16,
      optimizer: null,
      reference: null,
    };
  }

  /** Measures the policy on held-out problems. */
  async evaluate(step: number): Promise<SftEvaluation> {
    const { evaluation, policy } = this.config;
    const { source } = this.#problems;
    const problems = this.#problems.heldOut(evaluation.seed, evaluation.problems);
    const greedy: Sampling = {
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      seed: evaluation.seed,
      stream: streams.evaluation,
      step,
    };
    if (policy === "generator") {
      const generator = this.#policy(generatorTemplate(this.config.generator_prompt_template));
      const evaluate = (sampling: Sampling) =>
        evaluateGenerator(generator, source, problems, 1, 0, sampling);
      const { accuracy, wellFormedShare } = await evaluate(greedy);
      const sampled = await evaluate({ ...greedy, temperature: 1 });
      const metrics = {
        [METRIC.generatorAccuracy]: accuracy,
        "eval/generator/sampled_accuracy": sampled.accuracy,
        "eval/generator/well_formed": wellFormedShare,
      };
      return { step, accuracy, metrics };
    }
    const verifier = this.#policy(verifierTemplate(this.config.verifier_prompt_template));
    const solutions = problems.map((problem, i) => {
      const random = new RandomStream(evaluation.seed, streams.supervision, 0, i);
      const parts = this.#supervision.solutionToJudge(problem, () => random.uniform());
      return this.#written(problem, renderSolution(parts));
    });
    const { metrics } = await evaluateVerifier(verifier, source, solutions, 1, greedy);
    return {
      step,
      accuracy: metrics.balancedAccuracy,
      metrics: judgingMetrics("eval/verifier", metrics),
    };
  }

  /** A solution that was written, not sampled. */
  #written(problem: Problem, text: string): Solution<Problem> {
    const parsed = parseSolution(text);
    return {
      problem,
      prompt: new Uint32Array(),
      rollout: {
        sequenceId: 0,
        tokens: new Uint32Array(),
        logProbs: new Float32Array(),
        finished: true,
      },
      text,
      tokenTexts: [],
      parsed,
      correct: this.#problems.source.isCorrect(problem, parsed.answer),
      formatScore: 1,
    };
  }
}

/** A model of random weights with the embedded tasks' character vocabulary. */
function newModel(gpu: Gpu, { architecture, seed }: SftConfig): LoadedModel {
  const definition = characterTokenizer();
  const tokenizer = Tokenizer.fromJson(
    { ...definition },
    { ...characterTokenizerConfig() },
    "the character vocabulary",
  );
  const config: ModelConfig = {
    architecture: "llama",
    vocabularySize: Object.keys(definition.model.vocab).length,
    hiddenSize: architecture.hidden_size,
    intermediateSize: architecture.intermediate_size,
    layers: architecture.layers,
    heads: architecture.attention_heads,
    kvHeads: architecture.key_value_heads,
    headDim: architecture.hidden_size / architecture.attention_heads,
    normEpsilon: 1e-6,
    ropeTheta: architecture.rope_theta,
    ropeScaling: null,
    tiedEmbeddings: true,
    qkvBias: false,
    qkNorm: false,
    maxPositions: architecture.max_position_embeddings,
  };
  const model = Model.create(gpu, config, { trained: true });
  if (!gpu.isRehearsal) initialise(model, seed, architecture.initial_deviation);
  return { model, tokenizer, stopTokens: stopTokensOf(tokenizer, [], "the new model") };
}
