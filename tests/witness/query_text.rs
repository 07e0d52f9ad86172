//! What `mstflint query full` printed, field by field.

/// The text of one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryText(String);

impl QueryText {
    pub fn new(stdout: &str) -> Self {
        let lines = stdout
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty() && !line.starts_with("-W- Firmware flash cache"));
        Self(lines.map(|line| format!("{line}\n")).collect())
    }

    /// All of it, warnings and blanks at line ends left out.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Without the line `label:`, which the witness prints for files only.
    pub fn without(self, label: &str) -> Self {
        let start = format!("{label}:");
        let kept = self.0.lines().filter(|line| !line.starts_with(&start));
        Self(kept.map(|line| format!("{line}\n")).collect())
    }

    /// The value of the line `label:`.
    pub fn field(&self, label: &str) -> Option<&str> {
        self.0
            .lines()
            .find_map(|line| line.strip_prefix(label)?.strip_prefix(':'))
            .map(str::trim)
    }

    /// The value of `label:` that must be there.
    pub fn value(&self, label: &str) -> &str {
        self.field(label)
            .unwrap_or_else(|| panic!("no `{label}` in\n{}", self.0))
    }

    /// The text of the board. Another line has the same label: the head of the addresses.
    pub fn description(&self) -> Option<&str> {
        self.field("Description")
            .filter(|text| !text.starts_with("UID") && !text.starts_with("Node"))
    }

    /// `type=PXE version=3.4.752 cpu=AMD64`, each as type and version.
    pub fn roms(&self) -> Vec<(String, String)> {
        let records = self.0.lines().filter_map(|line| line.split_once("type="));
        let mut roms: Vec<_> = records
            .map(|(_, record)| {
                let (kind, rest) = record.split_once(" version=").unwrap();
                let version = rest.split(' ').next().unwrap();
                (kind.to_owned(), version.to_owned())
            })
            .collect();
        roms.sort();
        roms
    }

    /// Value and count of `Base GUID` or `Base MAC`.
    pub fn base(&self, label: &str) -> (&str, u16) {
        let mut words = self.value(label).split_whitespace();
        let value = words.next().unwrap();
        (value, words.next().unwrap().parse().unwrap())
    }

    /// `5.2.2019` as `2019-02-05`.
    pub fn date(&self) -> String {
        let numbers: Vec<u32> = self
            .value("FW Release Date")
            .split('.')
            .map(|number| number.parse().unwrap())
            .collect();
        let [day, month, year] = numbers[..] else {
            panic!("no date in\n{}", self.0)
        };
        format!("{year}-{month:02}-{day:02}")
    }
}
