//! Numbers in files, as the other side of the benchmark writes and reads them.

use std::fs;
use std::io::Result;

/// Reads f32 numbers.
pub fn read_floats(path: &str) -> Result<Vec<f32>> {
    Ok(fs::read(path)?.chunks_exact(4).map(|bytes| f32::from_le_bytes(four(bytes))).collect())
}

/// Reads u32 numbers, of which none is beyond i32.
pub fn read_integers(path: &str) -> Result<Vec<i32>> {
    Ok(fs::read(path)?.chunks_exact(4).map(|bytes| i32::from_le_bytes(four(bytes))).collect())
}

/// Writes f32 numbers.
pub fn write_floats(path: &str, values: &[f32]) -> Result<()> {
    fs::write(path, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

fn four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}
