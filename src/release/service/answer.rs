//! What the vendor's service sends (mft-compat 5.3), read with the liberties servers take.
//!
//! `Found` comes as a number, a truth value or digits in a string; `Ver` may be missing or null;
//! the array may be wrapped in an object; unknown fields are nobody's business. A wrong type is an
//! error that names the field, never a guess.

use serde_json::{Map, Value};

use crate::release::http::printable;
use crate::release::name::{BadName, FilePath};

/// Fields of one answer are told apart by their place.
type Object = Map<String, Value>;

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// No JSON, or only the beginning of it.
    #[error("not JSON at line {line}, column {column}: {reason} ({size} bytes)")]
    NotJson {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What the parser says.
        reason: String,
        /// Bytes of the answer.
        size: usize,
    },
    /// JSON of another shape.
    #[error("{field} is {found}, expected {expected}")]
    Field {
        /// Where: `[2].Found`.
        field: String,
        /// What belongs there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// One board's part of the answer makes no sense; the others' may.
    #[error("what it says of {psid}: {fault}")]
    Row {
        /// The board.
        psid: String,
        /// What is wrong.
        fault: Box<BadAnswer>,
    },
    /// The server says itself that something is wrong.
    #[error("the server says `{0}`")]
    Refused(String),
}

impl BadAnswer {
    pub(super) fn not_json(error: &serde_json::Error, size: usize) -> Self {
        let full = error.to_string();
        let reason = full.split(" at line ").next().unwrap_or(&full);
        Self::NotJson {
            line: error.line(),
            column: error.column(),
            reason: reason.to_owned(),
            size,
        }
    }
}

/// What is said of one board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// As the server writes it.
    pub psid: String,
    /// The release, if the board is listed; or what makes no sense about it.
    pub found: Result<Option<Found>, BadAnswer>,
}

/// A listed release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Name of the file.
    pub name: String,
    /// Path below the server's root.
    pub url: String,
    /// Part number.
    pub part_number: Option<String>,
    /// Release notes.
    pub notes: Option<String>,
    /// Component and version, firmware first, the others in alphabetical order.
    pub versions: Vec<(String, String)>,
}

impl Found {
    /// The name to keep the file under: the last part of what the server calls it.
    pub(super) fn file_name(&self) -> Result<FilePath, BadName> {
        last_part(&self.name)
    }
}

fn last_part(name: &str) -> Result<FilePath, BadName> {
    FilePath::new(name.rsplit('/').next().unwrap_or(name))
}

/// One file of the service's list of all files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Name of the file.
    pub name: String,
    /// Path below the server's root.
    pub url: String,
    /// Chip family (`ConnectX5`), `all` for tools.
    pub family: String,
    /// `MFA`, `self_extractor`.
    pub kind: String,
    /// One line.
    pub description: String,
    /// Operating system a tool is for; `all` for firmware.
    pub os: String,
    /// Release notes.
    pub notes: Option<String>,
}

impl ListedFile {
    /// It is firmware, and no tool.
    pub(super) fn is_firmware(&self) -> bool {
        self.kind.eq_ignore_ascii_case("MFA")
    }

    /// As [`Found::file_name`].
    pub(super) fn file_name(&self) -> Result<FilePath, BadName> {
        last_part(&self.name)
    }
}

/// Reads an answer about boards (modes 0 and 3). Objects without `Found` say nothing.
pub(super) fn boards(answer: &Value) -> Result<Vec<Board>, BadAnswer> {
    let mut boards = Vec::new();
    for (index, item) in array(answer)?.iter().enumerate() {
        let fields = Fields::new(index, item)?;
        let found = match fields.truth("Found") {
            Ok(None) => continue,
            Ok(Some(false)) => Ok(None),
            Ok(Some(true)) => release(&fields).map(Some),
            Err(fault) => Err(fault),
        };
        // A row whose board nobody knows spoils the answer; any other one only itself.
        let psid = fields.required("PSID")?;
        boards.push(Board { psid, found });
    }
    Ok(boards)
}

fn release(fields: &Fields<'_>) -> Result<Found, BadAnswer> {
    Ok(Found {
        name: fields.required("Name")?,
        url: fields.required("URL")?,
        part_number: fields.text("PN")?,
        notes: fields.text("Release_note")?,
        versions: fields.versions()?,
    })
}

/// Reads the list of all files (mode 2). An empty one is a failure: the service lists its own
/// tools at least.
pub(super) fn files(answer: &Value) -> Result<Vec<ListedFile>, BadAnswer> {
    let items = array(answer)?;
    if items.is_empty() {
        return Err(BadAnswer::Field {
            field: "the list of files".to_owned(),
            expected: "one file at least".to_owned(),
            found: "empty".to_owned(),
        });
    }
    let read = |(index, item)| {
        let fields = Fields::new(index, item)?;
        Ok(ListedFile {
            name: fields.required("Name")?,
            url: fields.required("URL")?,
            family: fields.text("Family")?.unwrap_or_default(),
            kind: fields.text("Type")?.unwrap_or_default(),
            description: fields.text("Descr")?.unwrap_or_default(),
            os: fields.text("OS")?.unwrap_or_default(),
            notes: fields.text("Release_note")?,
        })
    };
    items.iter().enumerate().map(read).collect()
}

/// The array of the answer, alone or as the only array of an object around it.
fn array(answer: &Value) -> Result<&Vec<Value>, BadAnswer> {
    let object = match answer {
        Value::Array(items) => return Ok(items),
        Value::Object(object) => object,
        other => return Err(wrong("the answer", "an array", other)),
    };
    let mut arrays = object.values().filter_map(Value::as_array);
    if let (Some(items), None) = (arrays.next(), arrays.next()) {
        return Ok(items);
    }
    let complaint = ["error", "Error", "message", "Message"]
        .iter()
        .find_map(|key| object.get(*key)?.as_str());
    Err(match complaint {
        Some(complaint) => BadAnswer::Refused(printable(complaint)),
        None => wrong("the answer", "an array", answer),
    })
}

/// The fields of one object.
struct Fields<'a> {
    index: usize,
    object: &'a Object,
}

impl<'a> Fields<'a> {
    fn new(index: usize, item: &'a Value) -> Result<Self, BadAnswer> {
        match item.as_object() {
            Some(object) => Ok(Self { index, object }),
            None => Err(wrong(&format!("[{index}]"), "an object", item)),
        }
    }

    fn path(&self, field: &str) -> String {
        format!("[{}].{field}", self.index)
    }

    /// A text; `None` when it is missing, null or empty.
    fn text(&self, field: &str) -> Result<Option<String>, BadAnswer> {
        match self.object.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => {
                let text = text.trim();
                Ok((!text.is_empty()).then(|| text.to_owned()))
            }
            Some(other) => Err(wrong(&self.path(field), "a text", other)),
        }
    }

    fn required(&self, field: &str) -> Result<String, BadAnswer> {
        self.text(field)?.ok_or_else(|| BadAnswer::Field {
            field: self.path(field),
            expected: "a text".to_owned(),
            found: "missing or empty".to_owned(),
        })
    }

    /// Yes or no, in any of the forms it is sent in; `None` when it is missing or null.
    fn truth(&self, field: &str) -> Result<Option<bool>, BadAnswer> {
        let Some(value) = self.object.get(field) else {
            return Ok(None);
        };
        let number = match value {
            Value::Null => return Ok(None),
            Value::Bool(found) => return Ok(Some(*found)),
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => Ok(Some(number != 0)),
            None => Err(wrong(&self.path(field), "0 or 1", value)),
        }
    }

    fn versions(&self) -> Result<Vec<(String, String)>, BadAnswer> {
        let object = match self.object.get("Ver") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(object)) => object,
            Some(other) => return Err(wrong(&self.path("Ver"), "an object", other)),
        };
        let mut versions = Vec::new();
        for (kind, value) in object {
            match value {
                Value::Null => {}
                Value::String(text) => versions.push((kind.clone(), text.trim().to_owned())),
                other => return Err(wrong(&self.path(&format!("Ver.{kind}")), "a text", other)),
            }
        }
        versions.sort_by_key(|(kind, _)| (kind != "FW", kind.clone()));
        Ok(versions)
    }
}

fn wrong(field: &str, expected: &str, found: &Value) -> BadAnswer {
    const SHOWN: usize = 60;
    let text = found.to_string();
    let found = match found {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        _ => printable(&text).chars().take(SHOWN).collect(),
    };
    BadAnswer::Field {
        field: field.to_owned(),
        expected: expected.to_owned(),
        found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is wrong with the answer, or with the first row that is.
    fn fault(answer: &Value) -> String {
        match boards(answer) {
            Err(fault) => fault.to_string(),
            Ok(boards) => {
                let mut faults = boards.into_iter().filter_map(|board| board.found.err());
                faults.next().unwrap().to_string()
            }
        }
    }

    #[test]
    fn the_example_of_the_protocol_is_read() {
        let answer = json!([
            {"PSID": "MT_0000000010", "Found": 1, "Type": "MFA", "PN": "MCX555A-ECA_Ax",
             "Name": "x.mfa", "URL": "downloads/firmware/mfa/x.mfa",
             "Release_note": "https://docs.example.invalid/5\nSecond line",
             "Ver": {"UEFI": "14.29.0015", "FW": "16.35.4506", "PXE": "3.6.0902"}},
            {"PSID": "MT_0000000359", "Found": 0},
            {"PSID": "MT_1"},
        ]);
        let boards = boards(&answer).unwrap();
        assert_eq!(boards.len(), 2);
        let found = boards[0].found.as_ref().unwrap().as_ref().unwrap();
        let kinds: Vec<&str> = found
            .versions
            .iter()
            .map(|(kind, _)| kind.as_str())
            .collect();
        assert_eq!(kinds, ["FW", "PXE", "UEFI"]);
        assert!(found.notes.as_ref().unwrap().ends_with("\nSecond line"));
        assert_eq!(boards[1].found, Ok(None));
    }

    #[test]
    fn servers_take_liberties() {
        for found in [json!(1), json!(true), json!("1"), json!(" 1 ")] {
            let answer = json!({"result": [{
                "PSID": "MT_1", "Found": found, "Name": "x", "URL": "x", "Ver": null, "PN": null, "New": [1],
            }]});
            let boards = boards(&answer).unwrap();
            assert!(matches!(boards[0].found, Ok(Some(_))), "{answer}");
        }
        for found in [json!(0), json!(false), json!("0")] {
            let answer = json!([{"PSID": "MT_1", "Found": found}]);
            assert_eq!(boards(&answer).unwrap()[0].found, Ok(None), "{answer}");
        }
    }

    #[test]
    fn a_wrong_type_is_named_with_its_place() {
        let answer = json!([{"PSID": "MT_1", "Found": 0}, {"PSID": "MT_2", "Found": "maybe"}]);
        assert_eq!(fault(&answer), "[1].Found is \"maybe\", expected 0 or 1");
        let answer = json!([{"PSID": 5, "Found": 1}]);
        assert_eq!(fault(&answer), "[0].PSID is 5, expected a text");
        let answer = json!([{"PSID": "MT_1", "Found": 1, "Name": "x"}]);
        assert_eq!(
            fault(&answer),
            "[0].URL is missing or empty, expected a text"
        );
        let answer =
            json!([{"PSID": "MT_1", "Found": 1, "Name": "x", "URL": "x", "Ver": {"FW": 16.35}}]);
        assert_eq!(fault(&answer), "[0].Ver.FW is 16.35, expected a text");
        assert_eq!(fault(&json!(["x"])), "[0] is \"x\", expected an object");
        assert_eq!(
            fault(&json!({"PSID": "x"})),
            "the answer is an object, expected an array"
        );
        assert_eq!(
            fault(&json!({"error": "invalid key"})),
            "the server says `invalid key`"
        );
    }

    #[test]
    fn an_empty_list_of_files_is_no_list() {
        assert!(files(&json!([])).is_err());
        let answer = json!([{"Name": "x.mfa", "URL": "f/x.mfa", "Family": "ConnectX5", "Type": "MFA", "OS": "all"}]);
        assert_eq!(files(&answer).unwrap()[0].family, "ConnectX5");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_answer_or_an_error(text in "[\\[\\]{}:,\"a-zA-Z0-9 ]{0,200}") {
            if let Ok(answer) = serde_json::from_str(&text) {
                let _ = boards(&answer);
                let _ = files(&answer);
            }
        }
    }
}
