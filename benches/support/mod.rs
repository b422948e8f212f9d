//! What benches of templates share.

use std::path::{Path, PathBuf};

/// The templates of the folders and files that the command line names, or of `../shared/templates`:
/// name and source.
pub fn files() -> Vec<(String, String)> {
    let named: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .map(PathBuf::from)
        .collect();
    let named = if named.is_empty() {
        vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/templates")]
    } else {
        named
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in named {
        match std::fs::read_dir(&path) {
            Ok(entries) => paths.extend(entries.filter_map(|entry| Some(entry.ok()?.path()))),
            Err(_) => paths.push(path),
        }
    }
    paths.sort();
    let name = |path: &Path| Some(path.file_stem()?.to_str()?.to_owned());
    paths
        .iter()
        .filter_map(|path| Some((name(path)?, std::fs::read_to_string(path).ok()?)))
        .collect()
}

pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
