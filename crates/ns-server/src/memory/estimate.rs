//! An upper estimate of the memory of JSON before it is read.

/// Memory of a JSON value in a list that grows by copies of doubled size, of a list with few items, and of an object with
/// few keys, in bytes.
const VALUE: u64 = 80;
const LIST: u64 = 192;
const OBJECT: u64 = 640;

/// Returns an upper estimate of the memory that a JSON text needs as a tree of values, in bytes. The text may be hostile:
/// a list of empty objects needs a hundred times the memory of its text.
pub(crate) fn of_json(text: &[u8]) -> u64 {
    let (mut values, mut lists, mut objects) = (1_u64, 0_u64, 0_u64);
    // Characters within strings also count. The estimate is then too large, which nobody gains from.
    for byte in text {
        match byte {
            b',' | b':' => values += 1,
            b'[' => lists += 1,
            b'{' => objects += 1,
            _ => {}
        }
    }
    // Long text may be there twice, as text and as the bytes that it encodes.
    2 * text.len() as u64 + VALUE * values + LIST * lists + OBJECT * objects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::of_thread;

    #[test]
    fn the_estimate_is_above_the_memory_of_hostile_json() -> serde_json::Result<()> {
        let list = |item: &str| format!("[{}]", vec![item; 10_000].join(","));
        let long = format!("\"{}\"", "x".repeat(1000));
        let wide = format!("{{{}}}", (0..10_000).map(|i| format!("\"{i}\":0")).collect::<Vec<_>>().join(","));
        for text in [list("0"), list("{}"), list("{\"\":0}"), list("[]"), list("[0]"), list(&long), wide] {
            let before = of_thread();
            let tree: serde_json::Value = serde_json::from_str(&text)?;
            let made = of_thread() - before;
            let estimate = of_json(text.as_bytes()).cast_signed();
            assert!(made <= estimate, "{made} of {estimate}: {:.60}", text);
            drop(tree);
        }
        Ok(())
    }
}
