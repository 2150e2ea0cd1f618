//! Matrix products in the three layouts of bench/shapes.json.

use std::error::Error;

use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;

use crate::tensor_file::{read_floats, write_floats};

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Layout {
    /// A [m, k], B [n, k]
    Nt,
    /// A [m, k], B [k, n]
    Nn,
    /// A [k, m], B [k, n]
    Tn,
}

/// C [m, n] = A B, with the paths of both factors and of where C is to be written.
#[derive(Deserialize)]
pub struct ProductRequest {
    layout: Layout,
    m: usize,
    n: usize,
    k: usize,
    a: String,
    b: String,
    result: String,
}

/// A product with its factors on the device.
pub struct Product {
    layout: Layout,
    a: Tensor<2>,
    b: Tensor<2>,
}

impl Product {
    /// Uploads the factors and writes the product.
    pub fn prepare(request: &ProductRequest, device: &Device) -> Result<Self, Box<dyn Error>> {
        let ProductRequest { layout, m, n, k, a, b, result } = request;
        let (a_shape, b_shape) = match layout {
            Layout::Nt => ([*m, *k], [*n, *k]),
            Layout::Nn => ([*m, *k], [*k, *n]),
            Layout::Tn => ([*k, *m], [*k, *n]),
        };
        let factor = |path: &String, shape: [usize; 2]| -> Result<Tensor<2>, Box<dyn Error>> {
            Ok(Tensor::from_data(TensorData::new(read_floats(path)?, shape), device))
        };
        let product = Self { layout: *layout, a: factor(a, a_shape)?, b: factor(b, b_shape)? };
        let values = product.compute().into_data().try_to_vec::<f32>().map_err(|error| format!("{error:?}"))?;
        write_floats(result, &values)?;
        Ok(product)
    }

    /// Computes it.
    pub fn compute(&self) -> Tensor<2> {
        let (a, b) = (self.a.clone(), self.b.clone());
        match self.layout {
            Layout::Nt => a.matmul(b.transpose()),
            Layout::Nn => a.matmul(b),
            Layout::Tn => a.transpose().matmul(b),
        }
    }
}
