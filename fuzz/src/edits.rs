//! A fuzzer's bytes as a list of edits of a whole image: what is small enough to be mutated well
//! changes something big enough to be an image.

/// Edits of eight bytes each: what (1), where (3), value (4).
#[derive(Debug, Clone, Copy)]
pub struct Edits<'a>(pub &'a [u8]);

/// Dwords from an anchor that an edit of a structure may reach.
const REACH: usize = 0x40;

impl Edits<'_> {
    /// Makes the edits. `anchors` are offsets of structures: most edits go there.
    pub fn apply(self, image: &mut Vec<u8>, anchors: &[usize]) {
        let (edits, _) = self.0.as_chunks::<8>();
        for &[what, high, middle, low, value @ ..] in edits {
            let place = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
            let anchor = anchors.get(place / REACH % anchors.len().max(1));
            match what % 8 {
                0 => write(image, place, &value),
                1 => write(image, place, value.get(..1).unwrap_or_default()),
                2 => image.truncate(place & !3),
                3 => copy(image, place, value),
                _ => {
                    let at = anchor.map_or(place, |anchor| anchor + place % REACH * 4);
                    write(image, at, &value);
                }
            }
        }
    }
}

fn write(image: &mut [u8], at: usize, value: &[u8]) {
    if let Some(to) = image.get_mut(at..at + value.len()) {
        to.copy_from_slice(value);
    }
}

/// Copies up to 255 dwords to `at`.
fn copy(image: &mut [u8], at: usize, value: [u8; 4]) {
    let [length, from @ ..] = value;
    let [high, middle, low] = from.map(usize::from);
    let (from, length) = (high << 16 | middle << 8 | low, usize::from(length) * 4);
    if from + length <= image.len() && at + length <= image.len() {
        image.copy_within(from..from + length, at);
    }
}
