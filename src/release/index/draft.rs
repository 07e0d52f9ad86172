//! A row as it is written, before it is known to make sense.

use super::document::Row;
use super::family;
use crate::identity::Psid;
use crate::release::digest::Digest;
use crate::release::name::FilePath;
use crate::release::record::component_version;

/// The texts of one `<release>`.
#[derive(Debug, Default)]
pub struct Draft {
    /// `psid`.
    pub psid: String,
    /// `device`.
    pub device: Option<String>,
    /// `branch`.
    pub branch: Option<String>,
    /// `date`.
    pub date: Option<String>,
    /// `minimum`.
    pub minimum: Option<String>,
    /// `component` of the `<version>` that is being read.
    pub component: String,
    /// Component and version.
    pub versions: Vec<(String, String)>,
    /// `<part-number>`.
    pub part_numbers: Vec<String>,
    /// `<description>`.
    pub description: Option<String>,
    /// `<notes>`.
    pub notes: Option<String>,
    /// `name` of the `<file>`.
    pub file: Option<String>,
    /// Its `size`.
    pub size: Option<String>,
    /// Its `sha256`.
    pub sha256: Option<String>,
    /// Its `image-sha256`.
    pub image_sha256: Option<String>,
}

impl Draft {
    /// The row, if everything in it makes sense. What does not is never left out alone: a row that
    /// is half understood is not offered.
    pub fn row(self) -> Result<Row, String> {
        let psid: Psid = self
            .psid
            .trim()
            .parse()
            .map_err(|error| format!("{error}"))?;
        let file = FilePath::new(&self.file.ok_or("it has no file")?)
            .map_err(|error| error.to_string())?;
        let mut versions: Vec<_> = self
            .versions
            .iter()
            .map(|(component, text)| component_version(component, text))
            .collect();
        versions.sort_by_key(|version| version.kind != "FW");
        let firmware = versions.first().filter(|version| version.kind == "FW");
        let firmware = firmware.ok_or("it has no FW version")?;
        if let (Some(device), Some(version)) = (&self.device, firmware.firmware) {
            family::check(device, version)?;
        }
        let size = self.size.ok_or("the file has no size")?;
        let sha256: Digest = parsed(&self.sha256.ok_or("the file has no sha256")?)?;
        let image_sha256 = self.image_sha256.as_deref().map(parsed).transpose()?;
        Ok(Row {
            psid,
            part_numbers: self.part_numbers,
            device: self.device,
            description: self.description,
            versions,
            branch: self.branch,
            date: self.date.as_deref().map(parsed).transpose()?,
            minimum: self.minimum.as_deref().map(parsed).transpose()?,
            file,
            size: size
                .trim()
                .parse()
                .map_err(|_| format!("size `{size}` is no number"))?,
            sha256,
            image_sha256,
            notes: self.notes,
        })
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.trim()
        .parse()
        .map_err(|error: T::Err| error.to_string())
}
