# Sourced by scripts that build for other systems: which compiler can, and with which linker.

# find_compiler TARGET [source]: sets `rustc`, and `std` to the crates of the standard library that cargo is to build: where the compiler
# has only their source or, with `source`, where it has that at all.
find_compiler() {
  local way ways=(built source)
  [ "${2:-}" != source ] || ways=(source built)
  for way in "${ways[@]}"; do
    for rustc in "$(command -v rustc)" /usr/bin/rustc; do
      std=''
      if [ "$way" = built ]; then
        compgen -G "$("$rustc" --print target-libdir --target "$1" 2>/dev/null)/libstd-*.rlib" >/dev/null && return
      elif [ -e "$("$rustc" --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std" ]; then
        std=std,panic_unwind
        [[ $1 != wasm32-* ]] || std=std,panic_abort # there is no unwinding
        return
      fi
    done
  done
  return 1
}

# Distributions' compilers have no linker of their own. Nothing where there is none: then that of the compiler is taken.
# Finding nothing is no failure, also where scripts end with the first one.
wasm_linker() { { compgen -G "/usr/bin/wasm-ld-*" || true; } | sort -V | tail -n 1; }
