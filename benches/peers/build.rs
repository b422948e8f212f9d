//! Compiles the shim around llama.cpp's chat layer against the sources that its Rust package
//! brings.

fn main() {
    println!("cargo:rerun-if-changed=src/shim.cpp");
    #[cfg(feature = "llama")]
    llama::shim();
}

#[cfg(feature = "llama")]
mod llama {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    pub fn shim() {
        let sources = package().join("llama.cpp");
        let mut build = cc::Build::new();
        for folder in ["common", "include", "ggml/include", "vendor"] {
            build.include(sources.join(folder));
        }
        build
            .cpp(true)
            .std("c++17")
            .opt_level(2)
            .file("src/shim.cpp")
            .warnings(false)
            .compile("chat_peer");
    }

    /// Where cargo keeps the package.
    fn package() -> PathBuf {
        let cargo = std::env::var("CARGO").expect("cargo says where it is");
        let metadata = Command::new(cargo)
            .args(["metadata", "--format-version=1"])
            .output()
            .expect("cargo runs");
        let metadata: serde_json::Value =
            serde_json::from_slice(&metadata.stdout).expect("cargo writes JSON");
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let manifest = packages
            .filter(|package| package["name"] == "llama-cpp-sys-4")
            .find_map(|p| p["manifest_path"].as_str());
        Path::new(manifest.expect("the package is a dependency"))
            .parent()
            .expect("it lies in a folder")
            .to_owned()
    }
}
