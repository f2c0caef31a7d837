//! Creates the folder in which TensorRT stores the engine of a graph. An engine is the compiled form of a graph for
//! one type of GPU.

use std::path::{Path, PathBuf};

use super::warning::FlowWarning;

/// Everything that determines an engine of TensorRT, i.e. the compiled form of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EngineKey<'a> {
    /// SHA-256 hash of the graph, as hexadecimal text.
    pub(super) graph: &'a str,
    /// Version of TensorRT, for example `10.13.3`.
    pub(super) tensorrt: &'a str,
    /// Compute capability of the GPU, for example (9, 0).
    pub(super) architecture: (u32, u32),
}

impl EngineKey<'_> {
    /// Returns the name of the folder for this engine.
    pub(super) fn name(&self) -> String {
        let (major, minor) = self.architecture;
        format!("{}-trt{}-sm{major}{minor}", self.graph, self.tensorrt)
    }
}

/// Creates the folder for an engine inside `root`, and checks that files can be written to it. Returns `None` if
/// `root` is `None`, which means that there is no cache.
///
/// # Errors
/// [`FlowWarning::NoCache`] if the folder cannot be used.
pub(super) fn folder(root: Option<&Path>, key: &EngineKey<'_>) -> Result<Option<PathBuf>, FlowWarning> {
    let Some(root) = root else { return Ok(None) };
    let path = root.join(key.name());
    let usable = |path: &Path| {
        // ONNX Runtime reads the path as text. The text ends at the first zero byte.
        if path.to_str().is_none_or(|text| text.contains('\0')) {
            return Err("the path is no text".to_owned());
        }
        std::fs::create_dir_all(path).map_err(|error| error.to_string())?;
        let probe = path.join(format!(".probe-{}", std::process::id()));
        std::fs::write(&probe, []).map_err(|error| error.to_string())?;
        std::fs::remove_file(&probe).map_err(|error| error.to_string())
    };
    match usable(&path) {
        Ok(()) => Ok(Some(path)),
        Err(cause) => Err(FlowWarning::NoCache { path, cause }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: EngineKey<'_> = EngineKey { graph: "ab12", tensorrt: "10.13.3", architecture: (9, 0) };

    #[test]
    fn each_part_of_the_key_changes_the_folder() {
        assert_eq!(KEY.name(), "ab12-trt10.13.3-sm90");
        let others = [
            EngineKey { graph: "ab13", ..KEY },
            EngineKey { tensorrt: "10.14.0", ..KEY },
            EngineKey { architecture: (8, 9), ..KEY },
        ];
        for other in others {
            assert_ne!(other.name(), KEY.name());
        }
    }

    #[test]
    fn without_a_path_there_is_no_cache() {
        assert_eq!(folder(None, &KEY), Ok(None));
    }

    #[test]
    fn the_folder_is_made() {
        let root = tempfile::tempdir().unwrap();
        let made = folder(Some(&root.path().join("a/b")), &KEY).unwrap().unwrap();
        assert!(made.is_dir() && made.ends_with("a/b/ab12-trt10.13.3-sm90"));
        assert_eq!(std::fs::read_dir(&made).unwrap().count(), 0);
        // The folder may exist already.
        assert_eq!(folder(Some(&root.path().join("a/b")), &KEY), Ok(Some(made)));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_a_warning() {
        // A file has the name of the folder. Not even the administrator can write into it.
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        let warning = folder(Some(&file), &KEY).unwrap_err();
        let message = format!("{warning}. {}", warning.remedy());
        assert!(
            matches!(&warning, FlowWarning::NoCache { path, .. } if path.starts_with(&file)),
            "{message}"
        );
        assert!(message.contains("engine_cache_path") && message.contains("anew in each run"), "{message}");
        let warning = folder(Some(Path::new("a\0b")), &KEY).unwrap_err();
        assert!(warning.to_string().contains("the path is no text"));
    }
}
