//! What is in the folder now: files that are as they were keep their rows, the others are
//! examined.

use std::path::Path;

use super::before::Before;
use super::inventory::Inventory;
use super::{MirrorError, Problem, examine, extra, walk};
use crate::release::index::document::Row;
use crate::release::name::FilePath;

/// What is in the folder now.
#[derive(Debug, Default)]
pub struct Contents {
    pub inventory: Inventory,
    pub rows: Vec<Row>,
    pub releases: usize,
    pub files: usize,
    pub examined: Vec<FilePath>,
    pub passed_over: usize,
    pub problems: Vec<Problem>,
}

impl Contents {
    pub fn read(
        folder: &Path,
        before: &Before,
        examining: &mut dyn FnMut(&FilePath),
    ) -> Result<Self, MirrorError> {
        let found = walk::walk(folder)?;
        let mut contents = Self {
            problems: found.problems,
            ..Self::default()
        };
        for (name, stamp) in found.files {
            let problems = contents.problems.len();
            let (sha256, rows) = if let Some(known) = before.rows(&name, stamp) {
                known
            } else {
                examining(&name);
                let examined = examine::examine(folder, &name, stamp.size, &mut contents.problems);
                let Some(examined) = examined else {
                    contents.passed_over += usize::from(contents.problems.len() == problems);
                    continue;
                };
                contents.examined.push(name.clone());
                (examined.sha256, examined.rows)
            };
            let Some(rows) = extra::apply(folder, &name, rows, &mut contents.problems) else {
                continue;
            };
            // A file that has problems is examined, and told of, in each run.
            if contents.problems.len() == problems {
                contents.inventory.note(&name, stamp, sha256);
            }
            contents.files += usize::from(!rows.is_empty());
            contents.releases += rows.len();
            contents.rows.extend(rows);
        }
        Ok(contents)
    }
}
