//! The house is built in floors: a room uses only rooms below it (`docs/design.md`).

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the sources has failed"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The floor of every room, 0 the lowest. Leaves share the lowest floor.
type Floors = BTreeMap<String, usize>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads the table below `## Floors`: lines of four blanks, a room and what it is for; the last
/// one lists the leaves.
fn floors(design: &str) -> Floors {
    let table: Vec<&str> = design
        .lines()
        .skip_while(|line| *line != "## Floors")
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("    "))
        .collect();
    let mut floors = Floors::new();
    for (floor, line) in table.iter().rev().enumerate() {
        let (room, purpose) = line.split_once(' ').unwrap();
        if room == "leaves" {
            floors.extend(
                purpose
                    .split(',')
                    .map(|leaf| (leaf.trim().to_owned(), floor)),
            );
        } else {
            floors.insert(room_name(room).to_owned(), floor);
        }
    }
    floors
}

/// `plan` for `plan.rs` as for `plan/`.
fn room_name(name: &str) -> &str {
    name.trim_end_matches('/').trim_end_matches(".rs")
}

/// Rust sources below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The rooms that a source names behind `crate::`, each with its line, comments left out. Tests
/// inside a room are held to the rule too.
fn uses(source: &str) -> Vec<(usize, String)> {
    let code: String = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut found = Vec::new();
    for (at, prefix) in code.match_indices("crate::") {
        let line = code[..at].lines().count().max(1);
        let rest = &code[at + prefix.len()..];
        let names = match rest.strip_prefix('{') {
            Some(group) => heads(group),
            None => vec![identifier(rest)],
        };
        found.extend(names.into_iter().map(|name| (line, name)));
    }
    found
}

/// First names of the paths in a `{...}` group, whose opening brace is gone.
fn heads(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut expected = true;
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expected = true,
            _ if expected && !character.is_whitespace() => {
                names.push(identifier(&group[at..]));
                expected = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// The room a source belongs to; `lib.rs`, which names all rooms, belongs to none.
fn room_of(source: &Path) -> Option<String> {
    let inside = source.strip_prefix(root().join("src")).unwrap();
    let first = inside.iter().next().unwrap().to_str().unwrap();
    (first != "lib.rs").then(|| room_name(first).to_owned())
}

/// What is wrong with one use, if anything.
fn objection(floors: &Floors, room: &str, used: &str) -> Option<String> {
    let Some(own) = floors.get(room) else {
        return Some(format!("`{room}` is on no floor of docs/design.md"));
    };
    let Some(other) = floors.get(used) else {
        return Some(format!("`{used}` is on no floor of docs/design.md"));
    };
    let leaves = *own == 0 && *other == 0;
    (room != used && !leaves && other >= own)
        .then(|| format!("`{room}` uses `{used}`, which is above it"))
}

#[test]
fn no_room_uses_a_room_above_it() {
    let design = fs::read_to_string(root().join("docs/design.md")).unwrap();
    let floors = floors(&design);
    let mut objections = Vec::new();
    for path in sources(&root().join("src")) {
        let Some(room) = room_of(&path) else { continue };
        for (line, used) in uses(&fs::read_to_string(&path).unwrap()) {
            if let Some(objection) = objection(&floors, &room, &used) {
                objections.push(format!("{}:{line}: {objection}", path.display()));
            }
        }
    }
    assert!(objections.is_empty(), "\n{}", objections.join("\n"));
}

#[test]
fn every_room_of_the_house_is_on_a_floor_and_every_floor_is_a_room() {
    let design = fs::read_to_string(root().join("docs/design.md")).unwrap();
    let named: BTreeSet<String> = floors(&design).into_keys().collect();
    let built: BTreeSet<String> = sources(&root().join("src"))
        .iter()
        .filter_map(|path| room_of(path))
        .collect();
    assert_eq!(named, built);
}

#[test]
fn the_lab_answers_without_the_rooms_that_ask_it() {
    for path in sources(&root().join("src/lab")) {
        for (line, used) in uses(&fs::read_to_string(&path).unwrap()) {
            assert_ne!(used, "access", "{}:{line}", path.display());
        }
    }
}

#[test]
fn an_upward_use_is_found_in_every_spelling() {
    let floors = floors(
        "## Floors\n\n    cli/   one\n    plan.rs two\n    pci/ three\n    leaves bytes, sys\n\n## Words\n",
    );
    assert_eq!(floors.len(), 5);
    let source = "//! See [`crate::cli`].\n\
        use crate::bytes::{be32, bits};\n\
        use crate::{\n    plan::{Offer, Policy},\n    sys::Roots,\n};\n\
        fn f() { crate::cli::run(); } // crate::cli\n";
    let used = uses(source);
    let names: Vec<&str> = used.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["bytes", "plan", "sys", "cli"]);
    assert_eq!(used[3].0, 7);
    let objections: Vec<String> = used
        .iter()
        .filter_map(|(_, name)| objection(&floors, "pci", name))
        .collect();
    assert_eq!(
        objections,
        [
            "`pci` uses `plan`, which is above it",
            "`pci` uses `cli`, which is above it"
        ]
    );
    assert_eq!(objection(&floors, "bytes", "sys"), None);
    assert!(objection(&floors, "bytes", "pci").is_some());
    assert!(objection(&floors, "attic", "sys").is_some());
}
