import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import cross_building
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rm, rmdir


class Chatparse(ConanFile):
    name = "chatparse"
    version = "@VERSION@"
    description = "Chat templates of language models: prompts, grammars, and parsers of streamed output"
    license = "MIT"
    package_type = "library"
    languages = "C"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def validate_build(self):
        # CMake would have to be told Rust's name of the system.
        if cross_building(self):
            raise ConanInvalidConfiguration("this recipe builds chatparse for the machine's own system only")

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        # Has all crates: only a Rust compiler is needed.
        get(self, "@URL@", sha256="@SHA256@", strip_root=True)

    def generate(self):
        CMakeToolchain(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        lib = os.path.join(self.package_folder, "lib")
        for text in ("LICENSE", "LICENCES.txt"):
            copy(self, text, self.source_folder, os.path.join(self.package_folder, "licenses"))
        if self.options.shared:
            others = ("libchatparse.a", "chatparse.lib")
        else:
            others = ("libchatparse.so*", "*.dylib", "*.dll.a", "*.dll.lib")
            rmdir(self, os.path.join(self.package_folder, "bin"))
        for other in others:
            rm(self, other, lib)

    def package_info(self):
        # find_package finds the library's own files, with all of their targets.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "chatparse")]
        self.cpp_info.set_property("pkg_config_name", "chatparse")
        self.cpp_info.libs = ["chatparse.dll" if self.options.shared and self.settings.get_safe("compiler") == "msvc" else "chatparse"]
        if not self.options.shared:
            if self.settings.os == "Windows":
                self.cpp_info.system_libs = ["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"]
            elif self.settings.os == "Linux":
                self.cpp_info.system_libs = ["gcc_s", "util", "rt", "pthread", "m", "dl"]
