//! Text from devices and files on its way to a terminal.

/// `text` with every control character and every mark that changes the direction of writing
/// replaced by its escape (`\u{1b}`): a part number must not move the cursor.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_direction_mark(character) {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

const fn is_direction_mark(character: char) -> bool {
    matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_everything_else_is_data() {
        assert_eq!(printable("a\x1b[31mb\n"), "a\\u{1b}[31mb\\u{a}");
        assert_eq!(printable("\u{202e}cba"), "\\u{202e}cba");
        let harmless = "Zürich `$(id)` \"x\" & 'y'; \\z";
        assert_eq!(printable(harmless), harmless);
    }
}
