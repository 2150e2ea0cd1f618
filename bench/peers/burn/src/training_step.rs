//! One policy update: forward, clipped policy loss with entropy bonus, backward, clipping by the norm of all gradients,
//! and AdamW.

use std::collections::BTreeMap;
use std::error::Error;

use burn::optim::{AdamW, AdamWConfig, AdamWState, Optimizer};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::Deserialize;

use crate::decoder::{ModelShape, Parameters, RopeTables, logits};
use crate::tensor_file::{read_floats, read_integers};

#[derive(Deserialize)]
struct WeightFile {
    name: String,
    rows: usize,
    columns: usize,
    path: String,
}

/// The model, a batch and what to do with it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrainingStepRequest {
    model: ModelShape,
    weights: Vec<WeightFile>,
    sequences: usize,
    /// Of each sequence; the last one is only predicted.
    tokens: usize,
    /// Path of [N, T] tokens.
    tokens_file: String,
    /// Path of [N, T - 1] log-probs of all tokens but the first, when they were sampled.
    old_log_probs_file: String,
    clip_low: f32,
    clip_high: f32,
    entropy_coefficient: f32,
    learning_rate: f64,
    epsilon: f32,
    weight_decay: f32,
    max_gradient_norm: f32,
}

/// What a step was measured by, before its update.
#[derive(Clone, Copy)]
pub struct Taken {
    pub loss: f32,
    pub gradient_norm: f32,
}

/// A step that can be taken again and again.
pub struct TrainingStep {
    model: ModelShape,
    rope: RopeTables,
    parameters: Parameters,
    optimizer: AdamW,
    states: BTreeMap<String, AdamWState<2>>,
    inputs: Tensor<1, Int>,
    /// [N (T - 1), 1]
    targets: Tensor<2, Int>,
    /// [N (T - 1), 1]
    old_log_probs: Tensor<2>,
    length: usize,
    clip: (f32, f32),
    entropy_coefficient: f32,
    learning_rate: f64,
    max_gradient_norm: f32,
}

impl TrainingStep {
    /// Uploads the weights and the batch.
    pub fn prepare(request: &TrainingStepRequest, device: &Device) -> Result<Self, Box<dyn Error>> {
        let device = &device.clone().autodiff();
        let length = request.tokens - 1;
        let predicted = request.sequences * length;
        let mut parameters = Parameters::new();
        for WeightFile { name, rows, columns, path } in &request.weights {
            let data = TensorData::new(read_floats(path)?, [*rows, *columns]);
            parameters.insert(name.clone(), Tensor::from_data(data, device).require_grad());
        }
        let all = read_integers(&request.tokens_file)?;
        let part = |first: usize| -> Vec<i32> {
            all.chunks_exact(request.tokens).flat_map(|row| row[first..first + length].to_vec()).collect()
        };
        let old = TensorData::new(read_floats(&request.old_log_probs_file)?, [predicted, 1]);
        let optimizer = AdamWConfig::new().with_epsilon(request.epsilon).with_weight_decay(request.weight_decay).build();
        Ok(Self {
            model: request.model.clone(),
            rope: RopeTables::new(&request.model, length, device),
            parameters,
            optimizer,
            states: BTreeMap::new(),
            inputs: Tensor::from_data(TensorData::new(part(0), [predicted]), device),
            targets: Tensor::from_data(TensorData::new(part(1), [predicted, 1]), device),
            old_log_probs: Tensor::from_data(old, device),
            length,
            clip: (1.0 - request.clip_low, 1.0 + request.clip_high),
            entropy_coefficient: request.entropy_coefficient,
            learning_rate: request.learning_rate,
            max_gradient_norm: request.max_gradient_norm,
        })
    }

    /// Takes it; all advantages are 1.
    pub fn take(&mut self) -> Taken {
        let loss = self.loss();
        let gradients = loss.backward();
        let gradients: Vec<(String, Tensor<2>)> = self
            .parameters
            .iter()
            .map(|(name, parameter)| {
                let gradient = parameter.grad(&gradients);
                (name.clone(), gradient.unwrap_or_else(|| panic!("{name} has no gradient")))
            })
            .collect();
        let squares = gradients.iter().map(|(_, gradient)| gradient.clone().square().sum());
        let norm = Tensor::cat(squares.collect(), 0).sum().sqrt();
        let scale = ((norm.clone() + 1e-6).recip() * self.max_gradient_norm).clamp_max(1.0).unsqueeze::<2>();
        for (name, gradient) in gradients {
            let parameter = self.parameters[&name].clone().inner();
            let state = self.states.remove(&name);
            let (parameter, state) = self.optimizer.step(self.learning_rate, parameter, gradient * scale.clone(), state);
            self.parameters.insert(name.clone(), Tensor::from_inner(parameter).require_grad());
            self.states.insert(name, state.expect("AdamW keeps moments"));
        }
        Taken { loss: loss.into_scalar::<f32>(), gradient_norm: norm.into_scalar::<f32>() }
    }

    fn loss(&self) -> Tensor<1> {
        let scores = logits(&self.model, &self.parameters, &self.rope, self.inputs.clone(), self.length);
        let all = log_softmax(scores, 1);
        let log_probs = all.clone().gather(1, self.targets.clone());
        let entropy = (all.clone().exp() * all).sum_dim(1).neg();
        let ratio = (log_probs - self.old_log_probs.clone()).exp();
        let clipped = ratio.clone().clamp(self.clip.0, self.clip.1);
        (ratio.min_pair(clipped) + entropy * self.entropy_coefficient).mean().neg()
    }
}
