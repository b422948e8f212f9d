"""Builds the extension, with the C library inside: the static library of an installation, if CHATPARSE_PREFIX names one, else what cargo
makes of the source around this folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The oldest CPython that the wheel is for; src/native/native.h says the same.
ABI = "cp310"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
# What is built on the way lies there, too, and not beside the sources.
BUILD = TARGET / "wheel"
BUILD.mkdir(parents=True, exist_ok=True)


def version() -> str:
    found = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        sys.exit(f"no version in {ROOT / 'Cargo.toml'}")
    return found[1]


def library() -> tuple[Path, Path]:
    """The folder of chatparse.h, and the static library."""
    prefix = os.environ.get("CHATPARSE_PREFIX")
    if prefix:
        return Path(prefix, "include"), Path(prefix, "lib", "libchatparse.a")
    command = ["cargo", "rustc", "--locked", "--release", "--lib", "--features", "capi,conversation,lint", "--crate-type", "staticlib"]
    subprocess.run([*command, "--target-dir", str(TARGET)], cwd=ROOT, check=True)
    return ROOT / "include", TARGET / os.environ.get("CARGO_BUILD_TARGET", "") / "release" / "libchatparse.a"


class Build(build_ext):
    def build_extension(self, extension: Extension) -> None:
        include, archive = library()
        if not archive.is_file():
            sys.exit(f"there is no {archive}")
        extension.include_dirs.append(str(include))
        extension.extra_objects.append(str(archive))
        extension.depends.append(str(archive))
        super().build_extension(extension)


# No symbol of the library shows, so that a process may have another version of it as well.
HIDDEN = (
    ["-Wl,-exported_symbol,_PyInit__native", "-Wl,-dead_strip"]
    if sys.platform == "darwin"
    else [f"-Wl,--version-script={HERE / 'src/native/exports.map'}", "-Wl,--gc-sections", "-Wl,-s"]
)

setup(
    version=version(),
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            "chatparse._native",
            sorted(str(path.relative_to(HERE)) for path in (HERE / "src" / "native").glob("*.c")),
            depends=["src/native/native.h", "src/native/exports.map"],
            extra_compile_args=["-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-cast-function-type"],
            extra_link_args=HIDDEN,
            libraries=[] if sys.platform == "darwin" else ["pthread", "dl", "m"],
            py_limited_api=True,
        )
    ],
    options={
        "bdist_wheel": {"py_limited_api": ABI},
        "build": {"build_base": str(BUILD)},
        "egg_info": {"egg_base": str(BUILD)},
    },
)
