"""Cargo with a build script, which generates a source file in a folder that Cargo names by a hash."""

from tests.projects.project import FEW, MOVED, Project, grow_by, workload

TOOLS = ("cargo", "rustc")
FILES = {
    "Cargo.toml": """[package]
name = "program"
version = "1.0.0"
edition = "2021"
build = "build.rs"
""",
    "build.rs": """use std::{env, fs, path::Path};
fn main() {
    println!("cargo:rerun-if-changed=pages.txt");
    let pages = fs::read_to_string("pages.txt").unwrap();
    let place = Path::new(&env::var("OUT_DIR").unwrap()).join("pages.rs");
    fs::write(place, format!("pub const PAGES: usize = {};", pages.trim())).unwrap();
}
""",
    "src/main.rs": """include!(concat!(env!("OUT_DIR"), "/pages.rs"));
fn main() {
    let mut memory: Vec<u8> = Vec::with_capacity(PAGES * 4096 + (1 << 20));
    for page in 0..PAGES {
        unsafe { memory.as_mut_ptr().add(page * 4096).write_volatile(1) };
    }
}
""",
    "workload.toml": workload("cargo build --release --offline", "target/release/program"),
}


def grow(project: Project) -> None:
    """Change a file that only the build script reads."""
    grow_by(project, FILES, "pages.txt", f"{FEW}\n", f"{FEW + MOVED}\n")
