//! The burn side of the benchmark: matrix products and the default model's training step in burn, with its wgpu backend
//! on Vulkan, for `./tango bench --burn`. It is asked in lines of JSON and answers each with one; numbers lie in
//! files beside them, little-endian.
//!
//! First it says what it runs on: {"adapter", "driver", "burn"}. Then
//!
//! - {"do": "product", ...}: prepares a product and writes it once, into `result`; answers {}. See `product.rs`.
//! - {"do": "training_step", ...}: prepares the step and takes it twice; answers {"losses", "gradient_norms"}, of both.
//!   See `training_step.rs`.
//! - {"do": "run", "times": n}: does what was prepared last n times over; answers {"seconds"}, of all.

mod decoder;
mod product;
mod tensor_file;
mod training_step;

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use burn::tensor::wgpu::WgpuBackend;
use burn::tensor::{Device, DeviceKind};
use serde::Deserialize;
use serde_json::{Value, json};

use product::{Product, ProductRequest};
use training_step::{TrainingStep, TrainingStepRequest};

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    Product(ProductRequest),
    TrainingStep(Box<TrainingStepRequest>),
    Run { times: usize },
}

/// What was prepared last.
enum Work {
    Product(Product),
    TrainingStep(Box<TrainingStep>),
}

fn main() -> Result<(), Box<dyn Error>> {
    let on_cpu = std::env::args().any(|argument| argument == "--cpu");
    let kind = if on_cpu { DeviceKind::Cpu } else { DeviceKind::DefaultDevice };
    let options = Device::wgpu_options().device_kind(kind).graphics_api(WgpuBackend::Vulkan);
    let (device, setup) = options.init_with_setup()?;
    let adapter = setup.adapter.get_info();
    let driver = format!("{} {}", adapter.driver, adapter.driver_info);
    say(&json!({"adapter": adapter.name, "driver": driver, "burn": "0.22.1"}))?;
    let mut work = None;
    for line in stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?)? {
            Request::Product(request) => {
                let product = Product::prepare(&request, &device)?;
                work = Some(Work::Product(product));
                json!({})
            }
            Request::TrainingStep(request) => {
                let mut step = TrainingStep::prepare(&request, &device)?;
                let taken = [step.take(), step.take()];
                work = Some(Work::TrainingStep(Box::new(step)));
                json!({
                    "losses": taken.map(|one| one.loss),
                    "gradient_norms": taken.map(|one| one.gradient_norm),
                })
            }
            Request::Run { times } => seconds_of(work.as_mut().ok_or("nothing is prepared")?, times, &device)?,
        };
        say(&answer)?;
    }
    Ok(())
}

fn seconds_of(work: &mut Work, times: usize, device: &Device) -> Result<Value, Box<dyn Error>> {
    device.sync().map_err(|error| format!("{error:?}"))?;
    let start = Instant::now();
    for _ in 0..times {
        match work {
            Work::Product(product) => drop(product.compute()),
            Work::TrainingStep(step) => drop(step.take()),
        }
    }
    device.sync().map_err(|error| format!("{error:?}"))?;
    Ok(json!({"seconds": start.elapsed().as_secs_f64()}))
}

fn say(answer: &Value) -> std::io::Result<()> {
    let mut output = stdout().lock();
    writeln!(output, "{answer}")?;
    output.flush()
}
