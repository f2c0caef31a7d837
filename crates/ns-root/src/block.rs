//! Compressed objects: a sequence of blocks, each with the letters of its compression and its sizes.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use lzma_rust2::XzReader;
use twox_hash::XxHash64;

use crate::cursor::Cursor;
use crate::error::Malformed;

/// Memory of the dictionary of lzma in KiB. Blocks have at most 16 MiB, so no writer needs more.
const LZMA_MEMORY: u32 = 128 * 1024;

/// Decompresses an object of `size` bytes.
///
/// Memory grows with what the blocks contain, not with what the file claims.
pub(crate) fn unpacked(bytes: &[u8], size: usize) -> Result<Vec<u8>, Malformed> {
    let mut c = Cursor::new(bytes, 0);
    let mut out = Vec::new();
    while out.len() < size {
        let at = c.position();
        let [a, b, _method] = c.array("the letters of a compression")?;
        let packed = little(c.array("the compressed size of a block")?);
        let length = little(c.array("the size of a block")?);
        if length == 0 || length > size - out.len() {
            return Err(Malformed::Value {
                at,
                what: "the size of a block",
                found: length as i64,
                expected: "between 1 and the bytes that the object still lacks",
            });
        }
        let block = c.take(packed, "a compressed block")?;
        let before = out.len();
        let (method, result) = match &[a, b] {
            b"ZL" => ("zlib", drained(ZlibDecoder::new(block), length, &mut out)),
            b"CS" => ("deflate", drained(DeflateDecoder::new(block), length, &mut out)),
            b"XZ" => ("lzma", drained(XzReader::new_mem_limit(block, false, LZMA_MEMORY), length, &mut out)),
            b"ZS" => ("zstd", zstd(block, length, &mut out)),
            b"L4" => ("lz4", lz4(block, length, &mut out)),
            other => {
                return Err(Malformed::Name {
                    at,
                    what: "the compression of a block",
                    found: String::from_utf8_lossy(other.as_slice()).escape_debug().to_string(),
                    expected: "ZL, ZS, L4, XZ or CS",
                });
            }
        };
        result.map_err(|reason| Malformed::Block { at, method, reason })?;
        if out.len() - before != length {
            let reason = format!("{} bytes instead of {length}", out.len() - before);
            return Err(Malformed::Block { at, method, reason });
        }
    }
    Ok(out)
}

fn little([a, b, c]: [u8; 3]) -> usize {
    u32::from_le_bytes([a, b, c, 0]) as usize
}

/// Reads one byte more than it should be, so that a longer block is noticed.
fn drained(reader: impl Read, length: usize, out: &mut Vec<u8>) -> Result<(), String> {
    reader.take(length as u64 + 1).read_to_end(out).map(drop).map_err(|e| e.to_string())
}

fn zstd(block: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let reader = zstd::Decoder::with_buffer(block).map_err(|e| e.to_string())?;
    drained(reader, length, out)
}

fn lz4(block: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let Some((checksum, block)) = block.split_first_chunk::<8>() else {
        return Err("no checksum".to_owned());
    };
    if XxHash64::oneshot(0, block) != u64::from_be_bytes(*checksum) {
        return Err("the checksum is wrong".to_owned());
    }
    let block = lz4_flex::block::decompress(block, length).map_err(|e| e.to_string())?;
    out.extend_from_slice(&block);
    Ok(())
}
